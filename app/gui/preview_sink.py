"""Where the engine presents: into the window's own surface, or into a window of its own where that cannot be."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QSize
from PySide6.QtGui import QGuiApplication

from app.config.sink_text import WaylandSpec, X11Spec, sink_text
from widgets.preview_host import PreviewHost

OWN_WINDOW_WORDS: Final = (
    "On Wayland no program may draw into the window of another one. Start VeoTuner with QT_QPA_PLATFORM=xcb for an "
    "embedded preview, where there is an X server or XWayland."
)


def presents_in_own_window() -> bool:
    """Tell whether the engine has to open a window itself: Wayland gives no process a surface of another."""
    return QGuiApplication.platformName().startswith("wayland")


def preview_sink(host: PreviewHost) -> str:
    """Return the sink text of the preview, with its size in device pixels."""
    size = host.device_size().expandedTo(QSize(1, 1))
    if presents_in_own_window():
        return sink_text(WaylandSpec(size.width(), size.height()))
    return sink_text(X11Spec(host.window_id(), size.width(), size.height()))
