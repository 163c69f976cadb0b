"""Notices when the preview is on another screen, or its screen refreshes at another rate."""

from __future__ import annotations

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QScreen, QWindow


class ScreenWatch(QObject):
    """Follows a native window.

    Signals:
        changed(name, nominal_hz): what the window system calls the screen, and its refresh rate (Hz; 0 for unknown).
    """

    changed = Signal(str, float)

    def __init__(self, window: QWindow, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._screen: QScreen | None = None
        self._told = _facts(window.screen())  # where it is at first is no change
        window.screenChanged.connect(self._follow)
        self._follow(window.screen())

    def _follow(self, screen: QScreen | None) -> None:
        if screen is self._screen:
            return
        if self._screen is not None:
            self._screen.refreshRateChanged.disconnect(self._tell)
            self._screen.destroyed.disconnect(self._forget)
        self._screen = screen
        if screen is not None:
            screen.refreshRateChanged.connect(self._tell)
            screen.destroyed.connect(self._forget)
            self._tell()

    def _forget(self) -> None:
        self._screen = None

    def _tell(self) -> None:
        facts = _facts(self._screen)
        if facts != self._told:
            self._told = facts
            self.changed.emit(*facts)


def _facts(screen: QScreen | None) -> tuple[str, float]:
    return ("", 0.0) if screen is None else (screen.name(), screen.refreshRate())
