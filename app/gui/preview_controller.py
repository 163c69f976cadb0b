"""Full screen and detached preview; the native window stays the same one, so the engine goes on presenting."""

from __future__ import annotations

from PySide6.QtCore import QByteArray, QObject, Qt
from PySide6.QtWidgets import QWidget

from app.gui.main_window import TOP_MARGINS, MainWindow
from widgets.preview_host import DetachedPreview


class PreviewController(QObject):
    """Moves the preview between main window, a window of its own, and full screen."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._detached: DetachedPreview | None = None
        self._hidden: list[QWidget] = []
        self._filling: QWidget | None = None  # our own knowledge: without a window manager Qt's forgets
        self._normal = window.geometry()
        self._was_maximised = False
        self._docks = QByteArray()
        self._split_sizes: list[int] = []
        actions = window.actions_by_name
        actions["fullscreen"].toggled.connect(self.set_fullscreen)
        actions["detach"].toggled.connect(self.set_detached)
        window.host.activated.connect(actions["fullscreen"].toggle)

    @property
    def is_fullscreen(self) -> bool:
        """Tell whether the preview fills a screen."""
        return self._filling is not None

    @property
    def detached(self) -> DetachedPreview | None:
        """The preview's own window, while it has one."""
        return self._detached

    def set_fullscreen(self, on: bool) -> None:
        """Show nothing but the preview, on the screen where it is, or go back."""
        if on and self._filling is None:
            self._filling = self._window.host.window()
            self._enter(self._filling)
        elif not on and self._filling is not None:
            self._leave(self._filling)
            self._filling = None

    def set_detached(self, on: bool) -> None:
        """Give the preview a window of its own, or take it back."""
        if on == (self._detached is not None):
            return
        self._window.actions_by_name["fullscreen"].setChecked(False)
        if on:
            self._detached = DetachedPreview(self._window.host)
            self._detached.addActions(self._window.actions())
            self._detached.closed.connect(lambda: self._window.actions_by_name["detach"].setChecked(False))
            self._detached.show()
            self._split_sizes = self._window.split.sizes()
            self._window.split.setSizes([0, sum(self._split_sizes)])  # the graphs take the room that is left
        else:
            self._take_back()
            self._window.split.setSizes(self._split_sizes)

    def _take_back(self) -> None:
        detached, self._detached = self._detached, None
        self._window.top.insertWidget(0, self._window.host, 1)
        self._window.host.show()
        self._window.host.setFocus()
        if detached is not None:
            detached.hide()
            detached.deleteLater()

    def _enter(self, target: QWidget) -> None:
        self._normal, self._was_maximised = target.geometry(), target.isMaximized()
        if target is self._window:
            self._docks = self._window.saveState()
            self._hidden = [widget for widget in self._surroundings() if widget.isVisible()]
            for widget in self._hidden:
                widget.hide()
            self._window.top.setContentsMargins(0, 0, 0, 0)
        target.showFullScreen()
        if target.geometry() != target.screen().geometry():
            target.setGeometry(target.screen().geometry())  # an X server without a window manager leaves the size alone

    def _leave(self, target: QWidget) -> None:
        for widget in self._hidden:
            widget.show()
        self._window.top.setContentsMargins(*TOP_MARGINS)
        target.setWindowState(Qt.WindowState.WindowMaximized if self._was_maximised else Qt.WindowState.WindowNoState)
        if not self._was_maximised:
            target.setGeometry(self._normal)
        if self._hidden:
            self._hidden = []
            self._window.restoreState(self._docks)  # sizes, and which of the tabs is in front

    def _surroundings(self) -> list[QWidget]:
        window = self._window
        return [
            window.menuBar(),
            window.toolbar,
            window.status,
            window.tile_row,
            window.graphs,
            *window.docks.values(),
        ]
