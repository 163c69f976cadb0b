"""What the owner of an X11 window and a window manager do to it, and the app itself never does."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from cffi import FFI  # type: ignore[import-untyped]  # cffi ships no types

from app.engine.vulkan.xcb import XConnection

_DECLARATIONS: Final = """
typedef struct { unsigned int sequence; } xcb_void_cookie_t;
typedef struct { uint8_t response_type; uint8_t format; uint16_t sequence; uint32_t window; uint32_t type;
    uint32_t data32[5]; } xcb_client_message_event_t;
xcb_void_cookie_t xcb_configure_window(void *c, uint32_t window, uint16_t value_mask, const void *value_list);
xcb_void_cookie_t xcb_destroy_window(void *c, uint32_t window);
xcb_void_cookie_t xcb_send_event(void *c, uint8_t propagate, uint32_t destination, uint32_t event_mask,
    const char *event);
"""

_CONFIG_WIDTH_HEIGHT: Final = 4 | 8
_EVENT_CLIENT_MESSAGE: Final = 33


class WindowOwner(XConnection):
    """Another client of the X server; each call returns when the server has done what was asked."""

    def resize_window(self, window: int, width: int, height: int) -> None:
        """Set the size of a window."""
        ffi, xcb = _open_library()
        values = ffi.new("uint32_t[]", [width, height])
        xcb.xcb_configure_window(ffi.cast("void *", self.address), window, _CONFIG_WIDTH_HEIGHT, values)
        assert self.window_size(window) == (width, height)

    def destroy_window(self, window: int) -> None:
        """Destroy a window."""
        ffi, xcb = _open_library()
        xcb.xcb_destroy_window(ffi.cast("void *", self.address), window)
        assert self.window_size(window) is None

    def ask_to_close(self, window: int) -> None:
        """Ask a window's owner to close it, as a window manager does when its button is pressed."""
        ffi, xcb = _open_library()
        message = ffi.new("xcb_client_message_event_t *")
        message.response_type, message.format, message.window = _EVENT_CLIENT_MESSAGE, 32, window
        message.type = self.atom("WM_PROTOCOLS")
        message.data32[0] = self.atom("WM_DELETE_WINDOW")
        xcb.xcb_send_event(ffi.cast("void *", self.address), 0, window, 0, ffi.cast("char *", message))
        assert self.window_size(window) is not None


@lru_cache(maxsize=1)
def _open_library() -> tuple[Any, Any]:
    ffi = FFI()
    ffi.cdef(_DECLARATIONS)
    return ffi, ffi.dlopen("libxcb.so.1")
