"""The engine's own top-level window on Wayland (xdg-shell)."""

from __future__ import annotations

import threading
from typing import Any, Final, NamedTuple

from app.core.errors import SinkError
from app.engine.wayland.client import Connection, Listeners
from app.engine.wayland.library import Proxy

_SUSPENDED: Final = 9
"""`xdg_toplevel.state`: nothing of the window is being shown (xdg-shell 6)."""

_ARRANGED: Final = frozenset((1, 2, 5, 6, 7, 8))
"""`xdg_toplevel.state`: maximised, full screen, tiled to a side. Sizes given in them are not the window's own."""

_SERVER_SIDE: Final = 2
"""`zxdg_toplevel_decoration_v1.mode`: the compositor draws the title bar."""


class Configure(NamedTuple):
    """What the compositor last asked of the window; sizes in pixels, `serial` names it in the answer."""

    serial: int
    width: int
    height: int
    suspended: bool


class WaylandWindow:
    """A top-level window without content: a swapchain on its surface gives it some.

    Buffers are taken as they are, one pixel a unit of the compositor's: on a scaled output it enlarges them.
    `follow` and `close` belong to the present thread.

    Attributes:
        surface: the `wl_surface *`.
        close_requested: the user asked the compositor to close it.
    """

    def __init__(self, connection: Connection, width: int, height: int, title: str, app_id: str) -> None:
        """Open the window and wait until it may be drawn to.

        Args:
            width, height: size in pixels, where the compositor leaves it to us.
            title: shown by the compositor. app_id: name of the program's desktop entry.

        Raises:
            SinkError: the compositor ended or does not answer.
        """
        self._connection = connection
        self.close_requested = False
        self._own_size = (width, height)
        self._asked = (width, height, False)
        self._configure = Configure(0, width, height, suspended=False)
        self._answered = self._configure
        self._configured = threading.Event()
        self.surface: Proxy = connection.send(
            connection.bound("wl_compositor"), "wl_compositor", "create_surface", creates="wl_surface"
        )
        self._open(title, app_id)
        try:
            connection.wait(self._configured, "open a window")
            self.follow()
        except SinkError:
            self.close()
            raise

    @property
    def address(self) -> int:
        """Return the address of the `wl_surface`, for another FFI."""
        return int(self._connection.ffi.cast("uintptr_t", self.surface))

    @property
    def suspended(self) -> bool:
        """Tell whether the compositor says that nothing of the window is being shown."""
        return self._configure.suspended

    def follow(self) -> tuple[int, int]:
        """Return the size that the next picture must have, in pixels, and promise it to the compositor.

        The promise is made here, on the thread that presents, and not where the size arrives: a compositor may end the
        connection when a picture of the old size follows the promise of a new one.

        Raises:
            SinkError: the compositor is gone.
        """
        self._connection.check()
        configure = self._configure
        if configure is not self._answered:
            self._answered = configure
            self._connection.send(self._shell_surface, "xdg_surface", "ack_configure", configure.serial)
        return configure.width, configure.height

    def close(self) -> None:
        """Take the window away; the Vulkan surface on it must be gone."""
        connection = self._connection
        if self._decoration is not None:
            connection.send(self._decoration, "zxdg_toplevel_decoration_v1", "destroy")
        connection.send(self._toplevel, "xdg_toplevel", "destroy")
        connection.send(self._shell_surface, "xdg_surface", "destroy")
        connection.send(self.surface, "wl_surface", "destroy")
        connection.flush()

    def _open(self, title: str, app_id: str) -> None:
        connection = self._connection
        shell = connection.bound("xdg_wm_base")
        self._shell_surface: Proxy = connection.send(
            shell, "xdg_wm_base", "get_xdg_surface", self.surface, creates="xdg_surface"
        )
        connection.listen(self._shell_surface, "xdg_surface", {"configure": self._on_configure})
        self._toplevel: Proxy = connection.send(
            self._shell_surface, "xdg_surface", "get_toplevel", creates="xdg_toplevel"
        )
        listeners: Listeners = {"configure": self._on_toplevel_configure, "close": self._on_close}
        connection.listen(self._toplevel, "xdg_toplevel", listeners)
        connection.send(self._toplevel, "xdg_toplevel", "set_title", title)
        connection.send(self._toplevel, "xdg_toplevel", "set_app_id", app_id)
        self._decoration = self._ask_for_title_bar()
        # The first commit has no picture: it asks the compositor for the first configure.
        connection.send(self.surface, "wl_surface", "commit")

    def _ask_for_title_bar(self) -> Proxy | None:
        manager = self._connection.bound("zxdg_decoration_manager_v1")
        if manager is None:
            return None
        decoration = self._connection.send(
            manager,
            "zxdg_decoration_manager_v1",
            "get_toplevel_decoration",
            self._toplevel,
            creates="zxdg_toplevel_decoration_v1",
        )
        self._connection.listen(decoration, "zxdg_toplevel_decoration_v1", {})
        self._connection.send(decoration, "zxdg_toplevel_decoration_v1", "set_mode", _SERVER_SIDE)
        return decoration

    # The listeners below run on the reader thread. They hand over one object, which is replaced whole.

    def _on_toplevel_configure(self, _data: Any, _toplevel: Proxy, width: int, height: int, states: Any) -> None:
        # Zero leaves the size to us: then it is what it was before the window was maximised or tiled.
        now = frozenset(self._numbers(states))
        size = (width or self._own_size[0], height or self._own_size[1])
        if not now & _ARRANGED:
            self._own_size = size
        self._asked = (*size, _SUSPENDED in now)

    def _on_configure(self, _data: Any, _shell_surface: Proxy, serial: int) -> None:
        self._configure = Configure(serial, *self._asked)
        self._configured.set()

    def _on_close(self, _data: Any, _toplevel: Proxy) -> None:
        self.close_requested = True

    def _numbers(self, array: Any) -> list[int]:
        ffi = self._connection.ffi
        count = array.size // ffi.sizeof("uint32_t")
        return list(ffi.unpack(ffi.cast("uint32_t *", array.data), count)) if count else []
