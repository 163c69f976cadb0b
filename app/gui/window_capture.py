"""Pictures of the window as the screen shows it, the preview's own pixels included.

`QWidget.grab` asks the widgets to paint themselves; the preview is painted by another process, so only the window
system has its pixels.
"""

from __future__ import annotations

from pathlib import Path

from PySide6.QtGui import QPixmap
from PySide6.QtWidgets import QWidget

from app.core.errors import VeoTunerError


class CaptureError(VeoTunerError):
    """A picture could not be taken or written."""


def grab_window(window: QWidget) -> QPixmap:
    """Return what the screen shows where the window is, without its frame.

    Whatever lies over the window is in the picture too: it is what a person sees.

    Raises:
        CaptureError: the window is on no screen, or the window system gives no pixels (a Wayland session).
    """
    screen = window.screen()
    area = window.geometry()
    origin = screen.geometry().topLeft()
    picture = screen.grabWindow(0, area.x() - origin.x(), area.y() - origin.y(), area.width(), area.height())
    if picture.isNull():
        raise CaptureError(
            "the window system gives no picture of the screen; use its own screenshot tool, "
            "or start VeoTuner on X11 (QT_QPA_PLATFORM=xcb)"
        )
    return picture


def save_picture(picture: QPixmap, path: Path) -> None:
    """Write a picture as PNG.

    Raises:
        CaptureError: it cannot be written.
    """
    if not path.parent.is_dir():
        raise CaptureError(f"{path.parent} is no folder; make it, or choose another place for the picture")
    if not picture.save(str(path), "PNG"):
        raise CaptureError(f"{path} cannot be written; choose a folder you may write to")
