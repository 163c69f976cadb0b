"""A connection to a Wayland compositor: its globals, requests and listeners, and the one thread that reads events.

The thread is blocked in C (`wl_display_dispatch_queue`, which lets go of the GIL) and runs every listener. So a
listener must be set before the event it waits for can come: globals are bound inside the listener that announces them,
and windows send nothing before their first commit. Nobody else dispatches this queue; Mesa has queues of its own on
the same connection, which libwayland keeps apart.
"""

from __future__ import annotations

import errno
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final

from app.core.errors import SinkError
from app.engine.wayland.library import Library, Proxy, open_library
from app.engine.wayland.protocol import InterfaceTables, argument_letters

ANSWER_LIMIT_S: Final = 5.0
"""How long a compositor may take to answer while a window is opened."""

_GOODBYE_LIMIT_S: Final = 1.0
_LOOK_S: Final = 0.05
_DEFAULT_DISPLAY: Final = "wayland-0"
_OTHER_SINKS: Final = "use --sink x11, headless or virtual:60"
_WANTED: Final = {
    "wl_compositor": 4,
    "xdg_wm_base": 6,
    "wp_presentation": 2,
    "zxdg_decoration_manager_v1": 1,
}
"""Globals that are bound where the compositor has them, with the newest version that this client understands."""

_FIFO_MANAGER: Final = "wp_fifo_manager_v1"
_DESTROYS: Final = 1
"""`WL_MARSHAL_FLAG_DESTROY`."""

_EVENT_TYPES: Final = {
    "i": "int32_t", "u": "uint32_t", "f": "int32_t", "s": "const char *", "o": "struct wl_proxy *",
    "a": "struct wl_array *", "h": "int32_t",
}  # fmt: skip

Listener = Callable[..., None]
"""Takes user data, proxy and the event's arguments, all as cffi gives them. Runs on the reader thread."""

Listeners = Mapping[str, Listener]
"""Event name → listener."""


class Connection:
    """A connection to the compositor that WAYLAND_DISPLAY and XDG_RUNTIME_DIR name.

    Requests may be sent from any thread.

    Attributes:
        ffi, functions: libwayland. display: the `wl_display *`. tables: the interfaces.
        clock_id: what `wp_presentation` stamps in, None where the compositor has no such global.
    """

    def __init__(self) -> None:
        """Connect, bind the globals and start the reader thread.

        Raises:
            SinkError: no libwayland, no compositor, or one that does not answer or has no desktop windows.
        """
        library = open_library()
        self.ffi, self.functions = library
        self.display = _connect(library)
        self.tables = InterfaceTables(library)
        self.clock_id: int | None = None
        self._offered: dict[str, int] = {}
        self._globals: dict[str, Proxy] = {}
        self._listeners: list[Any] = []
        self._ready = threading.Event()
        self._ended = threading.Event()
        self._closing = False
        self._closed = False
        self._queue = self.functions.wl_display_create_queue(self.display)
        # Whatever is made through the wrapper, and from that on, has its events on our queue.
        self._wrapper = self.functions.wl_proxy_create_wrapper(self.display)
        self.functions.wl_proxy_set_queue(self._wrapper, self._queue)
        self._registry = self.send(self._wrapper, "wl_display", "get_registry", creates="wl_registry")
        self.listen(self._registry, "wl_registry", {"global": self._on_global})
        self._sync(self._on_globals_known)
        self._thread = threading.Thread(target=self._read, name="wayland-reader", daemon=True)
        self._thread.start()
        try:
            self.wait(self._ready, "answer")
            self._require_globals()
        except SinkError:
            self.close()
            raise

    @property
    def address(self) -> int:
        """Return the address of the `wl_display`, for another FFI."""
        return int(self.ffi.cast("uintptr_t", self.display))

    @property
    def has_fifo(self) -> bool:
        """Tell whether the compositor has wp_fifo_manager_v1.

        Without it, Mesa's FIFO waits inside vkQueuePresentKHR for the frame callback of the last commit, with no limit:
        a window that is hidden then never lets it return.
        """
        return _FIFO_MANAGER in self._offered

    def bound(self, interface: str) -> Proxy | None:
        """Return a global, None where the compositor does not have it."""
        return self._globals.get(interface)

    def check(self) -> None:
        """Return while the connection lives; cheap enough to be called every frame, from any thread.

        Raises:
            SinkError: the compositor ended, or cut us off.
        """
        code = self.functions.wl_display_get_error(self.display)
        if code or (self._ended.is_set() and not self._closing):
            raise self._fault(code)

    def wait(self, event: threading.Event, what: str) -> None:
        """Wait for a listener to set an event, `ANSWER_LIMIT_S` at most.

        Args:
            what: what the compositor is to do, for the error: `answer`.

        Raises:
            SinkError: the connection broke, or the time is over.
        """
        self.flush()
        deadline_s = time.monotonic() + ANSWER_LIMIT_S
        while not event.wait(_LOOK_S) and not self._ended.is_set() and time.monotonic() < deadline_s:
            pass
        self.check()
        if not event.is_set():
            raise SinkError(
                f"The Wayland compositor does not {what} within {ANSWER_LIMIT_S:.0f} seconds; see whether it hangs, "
                f"or {_OTHER_SINKS}."
            )

    def flush(self) -> None:
        """Send what is buffered; a broken connection shows in `check`."""
        self.functions.wl_display_flush(self.display)

    def send(
        self, proxy: Proxy, interface: str, request: str, *arguments: Any, creates: str = "", version: int = 0
    ) -> Proxy:
        """Put a request into the buffer and return the object it makes, if it makes one.

        Args:
            arguments: without the new object. creates: interface of the new object.
            version: of the new object; 0 for that of the object that makes it.
        """
        opcode, signature = self.tables.request(interface, request)
        packed, kept = self._pack(signature, arguments)
        version = version or self.functions.wl_proxy_get_version(proxy)
        flags = _DESTROYS if request == "destroy" else 0
        new = self.tables[creates] if creates else self.ffi.NULL
        result = self.functions.wl_proxy_marshal_array_flags(proxy, opcode, new, version, flags, packed)
        del kept
        return result

    def listen(self, proxy: Proxy, interface: str, listeners: Listeners) -> None:
        """Set the listeners of an object; events without one are passed over."""
        self.functions.wl_proxy_add_listener(proxy, self.listener_table(interface, listeners), self.ffi.NULL)

    def listener_table(self, interface: str, listeners: Listeners) -> Any:
        """Return the C table of an interface's listeners, which lives as long as the connection."""
        callbacks = [
            self.ffi.callback(_event_type(signature), listeners.get(name, _pass_over))
            for name, signature in self.tables.events(interface)
        ]
        table = self.ffi.new("void (*[])(void)", [self.ffi.cast("void (*)(void)", each) for each in callbacks])
        self._listeners += [*callbacks, table]
        return table

    def close(self) -> None:
        """Let the compositor finish what was asked, end the thread and the connection. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        farewell = self._end_thread()
        functions = self.functions
        for proxy in (*self._globals.values(), self._registry, farewell):
            functions.wl_proxy_destroy(proxy)
        functions.wl_proxy_wrapper_destroy(self._wrapper)
        functions.wl_event_queue_destroy(self._queue)
        functions.wl_display_disconnect(self.display)

    def _read(self) -> None:
        # One C call a batch of events: between two batches the thread holds the GIL for a microsecond.
        dispatch, display, queue = self.functions.wl_display_dispatch_queue, self.display, self._queue
        while dispatch(display, queue) >= 0 and not self._closing:
            pass
        self._ended.set()

    def _end_thread(self) -> Proxy:
        self._closing = True
        # The answer to a sync comes after all events that earlier requests cause, and wakes the thread.
        farewell = self.send(self._wrapper, "wl_display", "sync", creates="wl_callback")
        self.flush()
        self._thread.join(_GOODBYE_LIMIT_S)
        if self._thread.is_alive():
            # A compositor that hangs answers nothing; the end of the socket ends the wait.
            with socket.socket(fileno=os.dup(self.functions.wl_display_get_fd(self.display))) as line:
                line.shutdown(socket.SHUT_RDWR)
            self._thread.join()
        return farewell

    def _sync(self, then: Callable[[], None]) -> None:
        """Call `then` on the reader thread when the compositor has answered everything asked so far."""

        def on_done(_data: Any, callback: Proxy, _serial: int) -> None:
            self.functions.wl_proxy_destroy(callback)
            then()

        callback = self.send(self._wrapper, "wl_display", "sync", creates="wl_callback")
        self.listen(callback, "wl_callback", {"done": on_done})

    def _on_global(self, _data: Any, registry: Proxy, name: int, interface: Any, version: int) -> None:
        text = self.ffi.string(interface).decode()
        self._offered[text] = version
        if text in _WANTED and text not in self._globals:
            version = min(version, _WANTED[text])
            self._globals[text] = self.send(
                registry, "wl_registry", "bind", name, text, version, creates=text, version=version
            )
            self._listen_to_global(text)

    def _listen_to_global(self, interface: str) -> None:
        if interface == "xdg_wm_base":
            self.listen(self._globals[interface], interface, {"ping": self._on_ping})
        elif interface == "wp_presentation":
            self.listen(self._globals[interface], interface, {"clock_id": self._on_clock_id})

    def _on_globals_known(self) -> None:
        # What the globals say of themselves (the clock) comes before the answer to a second sync.
        self._sync(self._ready.set)
        self.flush()

    def _on_ping(self, _data: Any, shell: Proxy, serial: int) -> None:
        self.send(shell, "xdg_wm_base", "pong", serial)
        self.flush()

    def _on_clock_id(self, _data: Any, _presentation: Proxy, clock_id: int) -> None:
        self.clock_id = clock_id

    def _require_globals(self) -> None:
        missing = [name for name in ("wl_compositor", "xdg_wm_base") if name not in self._globals]
        if missing:
            raise SinkError(f"The Wayland compositor has no {missing[0]}, so no window can be opened; {_OTHER_SINKS}.")

    def _pack(self, signature: str, arguments: tuple[Any, ...]) -> tuple[Any, list[Any]]:
        """Return the `union wl_argument[]` of a request, and what must live until it is sent."""
        letters = argument_letters(signature)
        packed = self.ffi.new("union wl_argument[]", max(1, len(letters)))
        kept: list[Any] = []
        values = iter(arguments)
        for position, letter in enumerate(letters):
            if letter == "n":
                packed[position].o = self.ffi.NULL
                continue
            value = next(values)
            if letter == "s":
                value = self.ffi.new("char[]", value.encode())
                kept.append(value)
            setattr(packed[position], letter, value)
        return packed, kept

    def _fault(self, code: int) -> SinkError:
        if code == errno.EPROTO:
            interface, identity = self.ffi.new("const struct wl_interface **"), self.ffi.new("uint32_t *")
            number = self.functions.wl_display_get_protocol_error(self.display, interface, identity)
            known = interface[0] != self.ffi.NULL
            name = self.ffi.string(interface[0].name).decode() if known else "an object that is gone"
            return SinkError(f"The Wayland compositor cut the preview off: error {number} of {name}; report this.")
        return SinkError(
            "The Wayland compositor ended, and the preview's window with it; start it and open the preview again, "
            f"or {_OTHER_SINKS}."
        )


def _connect(library: Library) -> Any:
    """Return the `wl_display *`.

    Raises:
        SinkError: nobody answers there.
    """
    display, folder = os.environ.get("WAYLAND_DISPLAY") or _DEFAULT_DISPLAY, os.environ.get("XDG_RUNTIME_DIR")
    # libwayland itself prints to stderr when it lacks the folder.
    by_path = "WAYLAND_SOCKET" in os.environ or display.startswith("/")
    if not folder and not by_path:
        raise SinkError(
            f"XDG_RUNTIME_DIR is not set, so no Wayland compositor can be found; set it, or {_OTHER_SINKS}."
        )
    connection = library.functions.wl_display_connect(library.ffi.NULL)
    if connection == library.ffi.NULL:
        where = display if by_path else f"{folder}/{display}"
        raise SinkError(
            f"No Wayland compositor answers at {where} (WAYLAND_DISPLAY={display}); start one, or {_OTHER_SINKS}."
        )
    return connection


def _event_type(signature: str) -> str:
    arguments = [_EVENT_TYPES[letter] for letter in argument_letters(signature)]
    return f"void({', '.join(['void *', 'struct wl_proxy *', *arguments])})"


def _pass_over(*_arguments: object) -> None:
    """Take an event that nobody asked for; libwayland ends the process for one without a listener."""
