"""Surfaces the preview is presented to: a headless one, an X11 window (ours or not), or a Wayland window of ours."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Final, Protocol

from app.config.sink_text import HeadlessSpec, SurfaceSpec, WaylandSpec, X11Spec
from app.core.errors import SinkError
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.instance import Instance
from app.engine.vulkan.results import check
from app.engine.vulkan.xcb import WindowState, XConnection
from app.engine.wayland.client import Connection
from app.engine.wayland.feedback import PresentationFeedback
from app.engine.wayland.frame_callbacks import FrameCallbacks
from app.engine.wayland.window import WaylandWindow

_WINDOW_TITLE: Final = "VeoTuner preview"
_APP_ID: Final = "veotuner"


class WindowClosedError(SinkError):
    """The window was closed or destroyed: nobody looks at the preview any more."""


class Surface(Protocol):
    """Something a swapchain can be made for.

    Attributes:
        kind: `headless`, `x11` or `wayland`. handle: `VkSurfaceKHR`.
    """

    kind: str
    handle: Handle

    @property
    def feedback(self) -> PresentationFeedback | None:
        """Return the compositor's word on when each picture was shown, None on a surface that has no such thing."""
        ...

    @property
    def frame_callbacks(self) -> FrameCallbacks | None:
        """Return what tells when a FIFO present will return at once; None where it always does in the end."""
        ...

    @property
    def window_id(self) -> int | None:
        """Return the id of the window it lies on, None for a surface without one."""
        ...

    def follow(self) -> tuple[int, int]:
        """Return the present size in pixels, as far as it has been told; cheap enough to be called every frame.

        Raises:
            WindowClosedError: the window is gone.
        """
        ...

    def resize(self, width: int, height: int) -> None:
        """Take note of a size the user of the window reports; a real window's own word counts more."""
        ...

    def close(self) -> None:
        """Destroy the surface and what belongs to it; the swapchain must be gone."""
        ...


class HeadlessSurface:
    """A surface that shows nothing (VK_EXT_headless_surface): presents complete at once and nothing is paced."""

    kind = "headless"
    feedback = None
    frame_callbacks = None

    def __init__(self, instance: Instance, width: int, height: int) -> None:
        self._instance = instance
        self._size = (width, height)
        info = api.struct("VkHeadlessSurfaceCreateInfoEXT")
        self.handle = _create_surface(instance, "VK_EXT_headless_surface", "vkCreateHeadlessSurfaceEXT", info)

    @property
    def window_id(self) -> int | None:
        """Return None: there is no window."""
        return None

    def follow(self) -> tuple[int, int]:
        """Return the size last asked for."""
        return self._size

    def resize(self, width: int, height: int) -> None:
        """Take this size."""
        self._size = (width, height)

    def close(self) -> None:
        """Destroy the surface."""
        _destroy_surface(self._instance, self.handle)


class X11Surface:
    """A surface on an X11 window, through xcb on a connection of its own."""

    kind = "x11"
    feedback = None
    frame_callbacks = None

    def __init__(self, instance: Instance, spec: X11Spec) -> None:
        self._instance = instance
        self._connection = XConnection()
        try:
            self._window, self._state = self._open_window(spec)
            self.handle = self._create()
        except SinkError:
            self._connection.close()
            raise
        self._hidden = False

    @property
    def window_id(self) -> int | None:
        """Return the X11 window id."""
        return self._window

    def follow(self) -> tuple[int, int]:
        """Return the window's size by the events that arrived.

        Raises:
            WindowClosedError: it is gone, or somebody asked for its end.
        """
        self._state = self._connection.poll_window(self._window, self._state)
        if not self._state.alive:
            raise WindowClosedError("The preview window is gone; open the preview again.")
        if self._state.close_requested:
            raise WindowClosedError("The preview window was closed.")
        return (0, 0) if self._hidden else (self._state.width, self._state.height)

    def resize(self, width: int, height: int) -> None:
        """Zero in either direction hides the window; any other size only shows it, the server knows the real one."""
        self._hidden = width <= 0 or height <= 0

    def close(self) -> None:
        """Destroy the surface, then the connection and with it a window of ours."""
        _destroy_surface(self._instance, self.handle)
        self._connection.close()

    def _open_window(self, spec: X11Spec) -> tuple[int, WindowState]:
        if spec.window_id is None:
            window = self._connection.create_window(spec.width, spec.height, _WINDOW_TITLE)
            return window, WindowState(spec.width, spec.height, alive=True, close_requested=False)
        self._connection.watch_window(spec.window_id)
        size = self._connection.window_size(spec.window_id)
        if size is None:
            raise SinkError(f"There is no X11 window {spec.window_id:#x}; give the id of a window that exists.")
        return spec.window_id, WindowState(*size, alive=True, close_requested=False)

    def _create(self) -> Handle:
        info = api.struct(
            "VkXcbSurfaceCreateInfoKHR",
            connection=ffi.cast("xcb_connection_t *", self._connection.address),
            window=self._window,
        )
        return _create_surface(self._instance, "VK_KHR_xcb_surface", "vkCreateXcbSurfaceKHR", info)


class WaylandSurface:
    """A surface on a Wayland window of our own, on a connection of its own.

    Attributes:
        feedback: the compositor's word on when each picture was shown; it says itself where there is none.
    """

    kind = "wayland"

    def __init__(self, instance: Instance, spec: WaylandSpec) -> None:
        self._instance = instance
        with ExitStack() as stack:
            self._connection = Connection()
            stack.callback(self._connection.close)
            self._window = WaylandWindow(self._connection, spec.width, spec.height, _WINDOW_TITLE, _APP_ID)
            stack.callback(self._window.close)
            self.feedback = PresentationFeedback(self._connection, self._window)
            self._frame_callbacks = FrameCallbacks(self._connection, self._window)
            self.handle = self._create()
            stack.callback(_destroy_surface, instance, self.handle)
            self._parts = stack.pop_all()
        self._hidden = False

    @property
    def window_id(self) -> int | None:
        """Return None: a Wayland window has no id that another process could use."""
        return None

    @property
    def frame_callbacks(self) -> FrameCallbacks | None:
        """Return the window's frame callbacks where Mesa's FIFO waits for them, too."""
        return None if self._connection.has_fifo else self._frame_callbacks

    def follow(self) -> tuple[int, int]:
        """Return the window's size by the events that arrived; zero while nothing of it is being shown.

        Raises:
            WindowClosedError: somebody asked for its end.
        """
        size = self._window.follow()
        if self._window.close_requested:
            raise WindowClosedError("The preview window was closed.")
        # A window may count as suspended until its first picture is there, which would then never come.
        suspended = self._window.suspended and self.feedback.shown > 0
        return (0, 0) if self._hidden or suspended else size

    def resize(self, width: int, height: int) -> None:
        """Zero in either direction hides the window; any other size only shows it, the compositor knows the real."""
        self._hidden = width <= 0 or height <= 0

    def close(self) -> None:
        """Destroy the surface, then the window and the connection."""
        self._parts.close()

    def _create(self) -> Handle:
        info = api.struct(
            "VkWaylandSurfaceCreateInfoKHR",
            display=ffi.cast("struct wl_display *", self._connection.address),
            surface=ffi.cast("struct wl_surface *", self._window.address),
        )
        return _create_surface(self._instance, "VK_KHR_wayland_surface", "vkCreateWaylandSurfaceKHR", info)


def open_surface(instance: Instance, spec: SurfaceSpec) -> Surface:
    """Return the surface a sink text asks for.

    Raises:
        SinkError: the driver has no such surface, no X server or Wayland compositor answers, or the window does not
            exist.
    """
    if isinstance(spec, HeadlessSpec):
        return HeadlessSurface(instance, spec.width, spec.height)
    if isinstance(spec, WaylandSpec):
        return WaylandSurface(instance, spec)
    return X11Surface(instance, spec)


def _create_surface(instance: Instance, extension: str, function: str, info: Struct) -> Handle:
    if extension not in instance.extensions:
        raise SinkError(
            f"The Vulkan driver has no {extension}; update it (Mesa 25 from backports on Debian 12), "
            "or use another sink."
        )
    handle = ffi.new("VkSurfaceKHR *")
    check(getattr(instance.functions, function)(instance.handle, info, ffi.NULL, handle), function)
    instance.census.born("SurfaceKHR")
    return handle[0]


def _destroy_surface(instance: Instance, handle: Handle) -> None:
    instance.functions.vkDestroySurfaceKHR(instance.handle, handle, ffi.NULL)
    instance.census.died("SurfaceKHR")
