"""The few calls of libxcb that a preview window needs, on a connection of our own.

xcb reports X errors as events or replies and never ends the process (Xlib's default handler does), so a window that
is destroyed under us is an answer, not a crash.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final, NamedTuple

from cffi import FFI  # type: ignore[import-untyped]  # cffi ships no types

from app.core.errors import SinkError

_DECLARATIONS: Final = """
typedef struct xcb_connection_t xcb_connection_t;
typedef struct { unsigned int sequence; } xcb_void_cookie_t;
typedef struct { uint8_t response_type; uint8_t pad0; uint16_t sequence; uint32_t pad[7]; uint32_t full_sequence; }
    xcb_generic_event_t;
typedef struct { uint8_t response_type; uint8_t error_code; uint16_t sequence; uint32_t resource_id;
    uint16_t minor_code; uint8_t major_code; uint8_t pad0; uint32_t pad[5]; uint32_t full_sequence; }
    xcb_generic_error_t;
typedef struct { uint8_t response_type; uint8_t pad0; uint16_t sequence; uint32_t event; uint32_t window;
    uint32_t above_sibling; int16_t x; int16_t y; uint16_t width; uint16_t height; uint16_t border_width;
    uint8_t override_redirect; uint8_t pad1; } xcb_configure_notify_event_t;
typedef struct { uint8_t response_type; uint8_t pad0; uint16_t sequence; uint32_t event; uint32_t window; }
    xcb_destroy_notify_event_t;
typedef struct { uint8_t response_type; uint8_t format; uint16_t sequence; uint32_t window; uint32_t type;
    uint32_t data32[5]; } xcb_client_message_event_t;
typedef struct { uint8_t response_type; uint8_t depth; uint16_t sequence; uint32_t length; uint32_t root;
    int16_t x; int16_t y; uint16_t width; uint16_t height; uint16_t border_width; uint8_t pad0[2]; }
    xcb_get_geometry_reply_t;
typedef struct { uint8_t response_type; uint8_t pad0; uint16_t sequence; uint32_t length; uint32_t atom; }
    xcb_intern_atom_reply_t;
typedef struct { uint32_t root; uint32_t default_colormap; uint32_t white_pixel; uint32_t black_pixel;
    uint32_t current_input_masks; uint16_t width_in_pixels; uint16_t height_in_pixels;
    uint16_t width_in_millimeters; uint16_t height_in_millimeters; uint16_t min_installed_maps;
    uint16_t max_installed_maps; uint32_t root_visual; uint8_t backing_stores; uint8_t save_unders;
    uint8_t root_depth; uint8_t allowed_depths_len; } xcb_screen_t;
typedef struct { xcb_screen_t *data; int rem; int index; } xcb_screen_iterator_t;

xcb_connection_t *xcb_connect(const char *displayname, int *screenp);
void xcb_disconnect(xcb_connection_t *c);
int xcb_connection_has_error(xcb_connection_t *c);
int xcb_flush(xcb_connection_t *c);
uint32_t xcb_generate_id(xcb_connection_t *c);
const void *xcb_get_setup(xcb_connection_t *c);
xcb_screen_iterator_t xcb_setup_roots_iterator(const void *setup);
void xcb_screen_next(xcb_screen_iterator_t *i);
xcb_generic_event_t *xcb_poll_for_event(xcb_connection_t *c);
xcb_generic_error_t *xcb_request_check(xcb_connection_t *c, xcb_void_cookie_t cookie);
xcb_void_cookie_t xcb_create_window_checked(xcb_connection_t *c, uint8_t depth, uint32_t wid, uint32_t parent,
    int16_t x, int16_t y, uint16_t width, uint16_t height, uint16_t border_width, uint16_t klass, uint32_t visual,
    uint32_t value_mask, const void *value_list);
xcb_void_cookie_t xcb_map_window(xcb_connection_t *c, uint32_t window);
xcb_void_cookie_t xcb_change_window_attributes_checked(xcb_connection_t *c, uint32_t window, uint32_t value_mask,
    const void *value_list);
xcb_void_cookie_t xcb_change_property(xcb_connection_t *c, uint8_t mode, uint32_t window, uint32_t property,
    uint32_t type, uint8_t format, uint32_t data_len, const void *data);
xcb_void_cookie_t xcb_intern_atom(xcb_connection_t *c, uint8_t only_if_exists, uint16_t name_len, const char *name);
xcb_intern_atom_reply_t *xcb_intern_atom_reply(xcb_connection_t *c, xcb_void_cookie_t cookie,
    xcb_generic_error_t **e);
xcb_void_cookie_t xcb_get_geometry(xcb_connection_t *c, uint32_t drawable);
xcb_get_geometry_reply_t *xcb_get_geometry_reply(xcb_connection_t *c, xcb_void_cookie_t cookie,
    xcb_generic_error_t **e);
void free(void *p);
"""

_EVENT_DESTROY_NOTIFY: Final = 17
_EVENT_CONFIGURE_NOTIFY: Final = 22
_EVENT_CLIENT_MESSAGE: Final = 33
_CW_BACK_PIXEL: Final = 2
_CW_EVENT_MASK: Final = 2048
_STRUCTURE_NOTIFY: Final = 131072
_ATOM_ATOM: Final = 4
_ATOM_STRING: Final = 31
_ATOM_WM_NAME: Final = 39


class WindowState(NamedTuple):
    """What the X server said about a window. `width`, `height` in pixels; `alive` False once it is destroyed."""

    width: int
    height: int
    alive: bool
    close_requested: bool


class XConnection:
    """A connection to an X server.

    Attributes:
        pointer: `xcb_connection_t *` of this module's FFI; `address` is the same as an integer.
    """

    def __init__(self, display: str = "") -> None:
        """Connect to `display` (`:1`), or to the one `DISPLAY` names.

        Raises:
            SinkError: no X server answers.
        """
        self._ffi, self._xcb = _open_library()
        screen_index = self._ffi.new("int *")
        name = self._ffi.NULL if not display else display.encode()
        self.pointer: Any = self._xcb.xcb_connect(name, screen_index)
        if self._xcb.xcb_connection_has_error(self.pointer):
            self._xcb.xcb_disconnect(self.pointer)
            raise SinkError(
                f"No X server answers on {display or 'the display that DISPLAY names'}; set DISPLAY, or use "
                "--sink headless or --sink virtual:60."
            )
        iterator = self._ffi.new(
            "xcb_screen_iterator_t *", self._xcb.xcb_setup_roots_iterator(self._xcb.xcb_get_setup(self.pointer))
        )
        for _ in range(screen_index[0]):
            self._xcb.xcb_screen_next(iterator)
        self._screen = iterator.data
        self._closed = False

    @property
    def address(self) -> int:
        """Return the address of the `xcb_connection_t`, for another FFI."""
        return int(self._ffi.cast("uintptr_t", self.pointer))

    @property
    def broken(self) -> bool:
        """Tell whether the X server is gone."""
        return bool(self._xcb.xcb_connection_has_error(self.pointer))

    def create_window(self, width: int, height: int, title: str) -> int:
        """Map a new top-level window and return its id. Closing it by the window manager is reported, not done."""
        window = int(self._xcb.xcb_generate_id(self.pointer))
        values = self._ffi.new("uint32_t[]", [self._screen.black_pixel, _STRUCTURE_NOTIFY])
        cookie = self._xcb.xcb_create_window_checked(
            self.pointer, 0, window, self._screen.root, 0, 0, width, height, 0, 1, 0,
            _CW_BACK_PIXEL | _CW_EVENT_MASK, values,
        )  # fmt: skip
        self._require(cookie, f"The X server refused a window of {width}×{height}; ask for a smaller one.")
        name = title.encode()
        self._xcb.xcb_change_property(self.pointer, 0, window, _ATOM_WM_NAME, _ATOM_STRING, 8, len(name), name)
        protocols = self._ffi.new("uint32_t[]", [self.atom("WM_DELETE_WINDOW")])
        self._xcb.xcb_change_property(self.pointer, 0, window, self.atom("WM_PROTOCOLS"), _ATOM_ATOM, 32, 1, protocols)
        self._xcb.xcb_map_window(self.pointer, window)
        self._xcb.xcb_flush(self.pointer)
        return window

    def watch_window(self, window: int) -> None:
        """Ask for the size changes and the end of another client's window.

        Raises:
            SinkError: there is no such window.
        """
        values = self._ffi.new("uint32_t[]", [_STRUCTURE_NOTIFY])
        cookie = self._xcb.xcb_change_window_attributes_checked(self.pointer, window, _CW_EVENT_MASK, values)
        self._require(cookie, f"There is no X11 window {window:#x}; give the id of a window that exists.")

    def window_size(self, window: int) -> tuple[int, int] | None:
        """Return width and height in pixels, or None when the window is gone."""
        fault = self._ffi.new("xcb_generic_error_t **")
        reply = self._xcb.xcb_get_geometry_reply(self.pointer, self._xcb.xcb_get_geometry(self.pointer, window), fault)
        if fault[0] != self._ffi.NULL:
            self._xcb.free(fault[0])
        if reply == self._ffi.NULL:
            return None
        size = int(reply.width), int(reply.height)
        self._xcb.free(reply)
        return size

    def poll_window(self, window: int, state: WindowState) -> WindowState:
        """Return `state` brought up to date by the events that have arrived; never blocks."""
        while True:
            event = self._xcb.xcb_poll_for_event(self.pointer)
            if event == self._ffi.NULL:
                return state._replace(alive=False) if self.broken else state
            state = self._after_event(event, window, state)
            self._xcb.free(event)

    def atom(self, name: str) -> int:
        """Return the X atom of a name.

        Raises:
            SinkError: the X server is gone.
        """
        cookie = self._xcb.xcb_intern_atom(self.pointer, 0, len(name), name.encode())
        reply = self._xcb.xcb_intern_atom_reply(self.pointer, cookie, self._ffi.NULL)
        if reply == self._ffi.NULL:
            raise SinkError("The X server is gone; start it and open the preview again.")
        atom = int(reply.atom)
        self._xcb.free(reply)
        return atom

    def close(self) -> None:
        """End the connection; windows made on it go with it. A second call does nothing."""
        if not self._closed:
            self._closed = True
            self._xcb.xcb_disconnect(self.pointer)

    def _after_event(self, event: Any, window: int, state: WindowState) -> WindowState:
        kind = event.response_type & 0x7F
        if kind == _EVENT_CONFIGURE_NOTIFY:
            configure = self._ffi.cast("xcb_configure_notify_event_t *", event)
            if configure.window == window:
                return state._replace(width=int(configure.width), height=int(configure.height))
        destroyed = self._ffi.cast("xcb_destroy_notify_event_t *", event)
        if kind == _EVENT_DESTROY_NOTIFY and destroyed.window == window:
            return state._replace(alive=False)
        message = self._ffi.cast("xcb_client_message_event_t *", event)
        # The only client message a window of ours asks for is WM_DELETE_WINDOW.
        if kind == _EVENT_CLIENT_MESSAGE and message.window == window:
            return state._replace(close_requested=True)
        return state

    def _require(self, cookie: Any, sentence: str) -> None:
        if self._free_reply(self._xcb.xcb_request_check(self.pointer, cookie)):
            raise SinkError(sentence)

    def _free_reply(self, reply: Any) -> bool:
        if reply == self._ffi.NULL:
            return False
        self._xcb.free(reply)
        return True


@lru_cache(maxsize=1)
def _open_library() -> tuple[Any, Any]:
    ffi = FFI()
    ffi.cdef(_DECLARATIONS)
    try:
        return ffi, ffi.dlopen("libxcb.so.1")
    except OSError as error:
        raise SinkError(f"libxcb is missing ({error}); install the package libxcb1, or use --sink headless.") from error
