"""Frame callbacks: when the compositor wants the next picture of a window.

Without wp_fifo_v1, Mesa's FIFO waits inside vkQueuePresentKHR for the frame callback of the picture before, with no
limit, and a window that nobody sees gets none. Whoever waits here first, with a limit, finds that the present returns
at once. Measured on headless Weston at a refresh of 17.4 ms: the same rate, and pictures reach the display 33 ms after
they were begun instead of 51 ms. (Waiting for presentation feedback instead gives 17 ms, but comes so late in the
refresh that every tenth picture takes 1 ms more.)
"""

from __future__ import annotations

import threading
import time
from typing import Any

from app.core.clock import NS_PER_S
from app.engine.wayland.client import Connection
from app.engine.wayland.library import Proxy
from app.engine.wayland.window import WaylandWindow


class FrameCallbacks:
    """The frame callbacks of a window. `request` and `wait` belong to the present thread."""

    def __init__(self, connection: Connection, window: WaylandWindow) -> None:
        ffi = connection.ffi
        self._marshal = connection.functions.wl_proxy_marshal_array_flags
        self._add_listener = connection.functions.wl_proxy_add_listener
        self._destroy = connection.functions.wl_proxy_destroy
        self._cast = ffi.cast
        opcode, _ = connection.tables.request("wl_surface", "frame")
        version = connection.functions.wl_proxy_get_version(window.surface)
        arguments = ffi.new("union wl_argument[1]")
        self._call = (window.surface, opcode, connection.tables["wl_callback"], version, 0, arguments)
        self._listener = connection.listener_table("wl_callback", {"done": self._on_done})
        self._news = threading.Event()
        self._requested = 0
        self._awaited = 0
        self._done = 0

    def request(self) -> None:
        """Ask to be told when the picture that the next vkQueuePresentKHR gives may be followed by another."""
        self._requested += 1
        self._awaited = self._requested
        self._add_listener(self._marshal(*self._call), self._listener, self._cast("void *", self._requested))

    def withdraw(self) -> None:
        """Wait for nothing: the present failed, so that its callback comes with the next picture's."""
        self._awaited = 0

    def wait(self, deadline_ns: int) -> bool:
        """Wait until the compositor wants a picture; False at `deadline_ns` (CLOCK_MONOTONIC)."""
        while self._done < self._awaited:
            self._news.clear()
            if self._done < self._awaited:  # it may have come before the flag was cleared
                remaining_s = (deadline_ns - time.monotonic_ns()) / NS_PER_S
                if remaining_s <= 0 or not self._news.wait(remaining_s):
                    return self._done >= self._awaited
        return True

    def _on_done(self, data: Any, callback: Proxy, _time_ms: int) -> None:
        # Runs on the reader thread.
        self._destroy(callback)
        self._done = max(self._done, int(self._cast("uintptr_t", data)))
        self._news.set()
