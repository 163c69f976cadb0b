"""Window geometry and dock layout: saved, restored, and kept on screens that exist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QByteArray, QRect, QSize
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMainWindow

from app.gui.settings import GuiSettings

PREFERRED: Final = QSize(1600, 1000)
LAYOUT_VERSION: Final = 1
_TITLE_BAR_PX: Final = 32


def clamp_to_screens(wanted: QRect, screens: Sequence[QRect]) -> QRect:
    """Return a rectangle that lies wholly on one of the screens: the one it overlaps most, else the first.

    Args:
        wanted: geometry of a window, in the coordinates of the screens.
        screens: usable areas; at least one.
    """
    home = max(screens, key=lambda screen: _overlap(screen, wanted))
    size = wanted.size().boundedTo(home.size())
    left = min(max(wanted.left(), home.left()), home.left() + home.width() - size.width())
    top = min(max(wanted.top(), home.top()), home.top() + home.height() - size.height())
    return QRect(left, top, size.width(), size.height())


def first_geometry(screen: QRect) -> QRect:
    """Return where a window without a memory opens: the preferred size as far as it fits, in the middle."""
    size = PREFERRED.boundedTo(QSize(screen.width(), screen.height() - _TITLE_BAR_PX))
    left = screen.left() + (screen.width() - size.width()) // 2
    top = screen.top() + (screen.height() - size.height()) // 2
    return QRect(left, top, size.width(), size.height())


def save_layout(window: QMainWindow, settings: GuiSettings) -> None:
    """Write geometry and docks."""
    normal = window.normalGeometry() if window.isMaximized() or window.isFullScreen() else window.geometry()
    settings.store.setValue("window/geometry", normal)
    settings.set("window/maximised", window.isMaximized())
    settings.store.setValue("window/docks", window.saveState(LAYOUT_VERSION))
    settings.store.sync()


def restore_layout(window: QMainWindow, settings: GuiSettings) -> None:
    """Bring geometry and docks back, clamped to the screens of today."""
    screens = [screen.availableGeometry() for screen in QGuiApplication.screens()]
    geometry = settings.store.value("window/geometry")
    wanted = geometry if isinstance(geometry, QRect) and geometry.isValid() else first_geometry(screens[0])
    window.setGeometry(clamp_to_screens(wanted, screens))
    docks = settings.store.value("window/docks")
    if isinstance(docks, QByteArray):
        window.restoreState(docks, LAYOUT_VERSION)
    if settings.flag("window/maximised", default=False):
        window.showMaximized()


def _overlap(screen: QRect, wanted: QRect) -> int:
    common = screen.intersected(wanted)
    return common.width() * common.height() if common.isValid() else 0
