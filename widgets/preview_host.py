"""Where the engine presents: a native window of ours that we never paint into while a preview runs.

The engine is another process and draws through its own swapchain; anything painted over it here would flicker and
would change how a compositor presents it. So words stand beside the preview or in its place, never on top of it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from enum import StrEnum
from typing import Final

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QBackingStore, QColor, QExposeEvent, QMouseEvent, QPainter, QResizeEvent, QWindow
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QStackedLayout, QVBoxLayout, QWidget

LETTERBOX = QColor(0, 0, 0)


class PreviewState(StrEnum):
    """What the preview is doing."""

    EMPTY = "empty"
    STARTING = "starting"
    LIVE = "live"
    PAUSED = "paused"
    FINISHED = "finished"
    FAILED = "failed"
    REFUSED = "refused"

    @property
    def shows_picture(self) -> bool:
        """Tell whether the engine owns the surface."""
        return self in {PreviewState.STARTING, PreviewState.LIVE, PreviewState.PAUSED}


class PreviewSurface(QWindow):
    """The bare window. It takes no input, so keys and clicks stay with the main window.

    Signals:
        resized(width, height): new size in device pixels; several changes in one turn of the event loop give one.
        exposed(visible): the window system shows it, or no longer.
    """

    resized = Signal(int, int)
    exposed = Signal(bool)

    def __init__(self) -> None:
        super().__init__()
        self.setFlag(Qt.WindowType.WindowTransparentForInput)
        self.setSurfaceType(QWindow.SurfaceType.RasterSurface)
        self._engine_draws = False
        self._sent = QSize()
        self._report = QTimer(self)
        self._report.setSingleShot(True)
        self._report.timeout.connect(self._send_size)

    def device_size(self) -> QSize:
        """Return the size in device pixels."""
        ratio = self.devicePixelRatio()
        return QSize(round(self.width() * ratio), round(self.height() * ratio))

    def set_engine_draws(self, engine_draws: bool) -> None:
        """Hand the surface to the engine, or take it back and blacken it."""
        self._engine_draws = engine_draws
        if not engine_draws:
            self._blacken()

    def resizeEvent(self, _event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Tell the new size after this turn of the event loop."""
        self._report.start(0)

    def exposeEvent(self, _event: QExposeEvent) -> None:  # noqa: N802 - Qt's name
        """Tell the change; the letterbox is painted only while no engine draws."""
        if self.isExposed() and not self._engine_draws:
            self._blacken()
        self._report.start(0)
        self.exposed.emit(self.isExposed())

    def _send_size(self) -> None:
        size = self.device_size()
        if size != self._sent:
            self._sent = size
            self.resized.emit(size.width(), size.height())

    def _blacken(self) -> None:
        if not self.isExposed():
            return
        # Made for this one painting: a store that outlives its window (Qt deletes the window with its container) frees
        # memory that is gone, which showed as a crash at exit in one run of three.
        store = QBackingStore(self)
        area = QRect(QPoint(0, 0), self.size())
        store.resize(self.size())
        store.beginPaint(area)
        painter = QPainter(store.paintDevice())
        painter.fillRect(area, LETTERBOX)
        painter.end()
        store.endPaint()
        store.flush(area)


class PreviewHost(QWidget):
    """The preview's place in the window: the surface, or words where nothing plays.

    Signals:
        resized(width, height): device pixels of the surface.
        occluded(hidden): nothing of the preview can be seen (minimised, hidden tab), or it can again.
        action_requested(name): a button of the words was pressed (`sample`, `open`, `restart`, `folder`).
        activated(): double click; the full-screen gesture.
    """

    resized = Signal(int, int)
    occluded = Signal(bool)
    action_requested = Signal(str)
    activated = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.surface = PreviewSurface()
        self.container = QWidget.createWindowContainer(self.surface, self)
        self.container.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMinimumSize(240, 90)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # a click on the preview ends typing in the search or a number
        self.setAccessibleName("Preview")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self._state = PreviewState.EMPTY
        self._occluded = False
        self._elsewhere = ""
        self._words = PreviewWords()
        self._words.pressed.connect(self.action_requested)
        self._stack = QStackedLayout(self)
        self._stack.addWidget(self._words)
        self._stack.addWidget(self.container)
        self.surface.resized.connect(self._tell_size)
        self.surface.exposed.connect(lambda _exposed: self._update_occlusion())
        self._watched: QWidget | None = None
        self.show_state(PreviewState.EMPTY)

    @property
    def state(self) -> PreviewState:
        """What the preview is doing."""
        return self._state

    def window_id(self) -> int:
        """Return the native id of the surface, made if need be; it stays the same when the preview is moved."""
        return int(self.surface.winId())

    @property
    def presents_elsewhere(self) -> bool:
        """Tell whether the picture is in a window of the engine's own, and words stand here in its place."""
        return bool(self._elsewhere)

    def present_elsewhere(self, words: str) -> None:
        """Show these words where the picture would be: the engine presents into a window of its own."""
        self._elsewhere = words
        self.show_state(self._state)

    def device_size(self) -> QSize:
        """Return the size of the surface in device pixels: it fills this widget, also while words are shown instead."""
        ratio = self.devicePixelRatioF()
        return QSize(round(self.width() * ratio), round(self.height() * ratio))

    def show_state(self, state: PreviewState, text: str = "", *, omit: Collection[str] = ()) -> None:
        """Show the picture, or the words of a state.

        Args:
            text: what happened. omit: buttons that would do nothing, by name.
        """
        self._state = state
        draws_here = state.shows_picture and not self._elsewhere
        self.surface.set_engine_draws(draws_here)
        if draws_here:
            self._keep_focus()
            self._stack.setCurrentWidget(self.container)
        else:
            self._words.show_state(state, self._elsewhere if state.shows_picture else text, omit)
            self._stack.setCurrentWidget(self._words)
        self._update_occlusion()

    def event(self, event: QEvent) -> bool:
        """Follow the window this host lies in; moving it to another window changes which one."""
        if event.type() in {QEvent.Type.Show, QEvent.Type.ParentChange}:
            self._watch(self.window())
        return super().event(event)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Notice when the window is minimised, hidden or shown again."""
        if event.type() in {QEvent.Type.WindowStateChange, QEvent.Type.Show, QEvent.Type.Hide}:
            self._update_occlusion()
        return super().eventFilter(watched, event)

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Ask for full screen."""
        self.activated.emit()
        event.accept()

    def _tell_size(self, width: int, height: int) -> None:
        if not self._elsewhere:
            self.resized.emit(width, height)

    def _keep_focus(self) -> None:
        """Take the focus from a button that is about to vanish.

        Otherwise the layout gives it to the container, which passes it on to the native window, and that hears no key:
        every shortcut would be dead until the next click.
        """
        focused: QWidget | None = self.window().focusWidget()
        if focused is not None and self._words.isAncestorOf(focused):
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _watch(self, window: QWidget) -> None:
        if window is self._watched:
            return
        if self._watched is not None:
            self._watched.removeEventFilter(self)
        self._watched = window
        window.installEventFilter(self)
        self._update_occlusion()

    def _update_occlusion(self) -> None:
        draws_here = self._state.shows_picture and not self._elsewhere
        hidden = draws_here and (not self.isVisible() or self.window().isMinimized())
        if hidden != self._occluded:
            self._occluded = hidden
            self.occluded.emit(hidden)


_OWN_WINDOW = "The preview has a window of its own"
_HEADINGS = {
    PreviewState.STARTING: _OWN_WINDOW,
    PreviewState.LIVE: _OWN_WINDOW,
    PreviewState.PAUSED: f"{_OWN_WINDOW}, paused",
    PreviewState.EMPTY: "Nothing is playing",
    PreviewState.FINISHED: "The run has ended",
    PreviewState.FAILED: "The engine stopped",
    PreviewState.REFUSED: "The run could not start",
}
_EXPLANATIONS = {
    PreviewState.EMPTY: "Open a video file, make a synthetic source, or try the ten-second sample. "
    "The engine plays it here, in a process of its own, and every frame is measured.",
}
_BUTTONS: Final[dict[PreviewState, tuple[tuple[str, str], ...]]] = {
    PreviewState.EMPTY: (("sample", "Play the &sample"), ("open", "Open a &file…"), ("synthetic", "S&ynthetic…")),
    PreviewState.FINISHED: (("restart", "Run a&gain"), ("folder", "Open run &folder"), ("open", "Open a &file…")),
    PreviewState.FAILED: (
        ("restart", "&Restart the engine"),
        ("folder", "Open run &folder"),
        ("open", "Open a &file…"),
    ),
    PreviewState.REFUSED: (("restart", "Try a&gain"), ("open", "Open a &file…"), ("sample", "Play the &sample")),
}


class PreviewWords(QWidget):
    """A heading, what happened, and what can be done about it.

    Signals:
        pressed(name): one of the buttons.
    """

    pressed = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._heading = QLabel()
        font = self._heading.font()
        font.setPointSizeF(font.pointSizeF() * 1.4)
        self._heading.setFont(font)
        self._text = QLabel()
        self._text.setWordWrap(True)
        self._text.setMaximumWidth(680)
        self._text.setMinimumWidth(200)
        self._text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        for label in (self._heading, self._text):
            label.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self._row = QHBoxLayout()
        self.buttons: dict[str, QPushButton] = {}
        layout = QVBoxLayout(self)
        layout.addStretch(2)
        layout.addWidget(self._heading, 0, Qt.AlignmentFlag.AlignHCenter)
        layout.addLayout(_centred(self._text))
        layout.addLayout(self._row)
        layout.addStretch(3)
        layout.setSpacing(10)

    def show_state(self, state: PreviewState, text: str, omit: Collection[str]) -> None:
        """Write the words of a state; `text` says what happened, `omit` names buttons that are left out."""
        self._heading.setText(_HEADINGS[state])
        self._text.setText(text or _EXPLANATIONS.get(state, ""))
        self._replace_buttons([button for button in _BUTTONS.get(state, ()) if button[0] not in omit])

    def _replace_buttons(self, wanted: Iterable[tuple[str, str]]) -> None:
        while (item := self._row.takeAt(0)) is not None:
            if (widget := item.widget()) is not None:
                widget.deleteLater()
        self.buttons = {}
        self._row.addStretch(1)
        for name, text in wanted:
            button = QPushButton(text)
            button.setDefault(not self.buttons)
            button.clicked.connect(lambda _checked=False, name=name: self.pressed.emit(name))
            self.buttons[name] = button
            self._row.addWidget(button)
        self._row.addStretch(1)
        if self.buttons:
            self.setFocusProxy(next(iter(self.buttons.values())))


def _centred(label: QLabel) -> QHBoxLayout:
    """Return a row with the label in its middle, as wide as it may be, so that its text finds its height."""
    row = QHBoxLayout()
    row.addStretch(1)
    row.addWidget(label, 8)
    row.addStretch(1)
    return row


class DetachedPreview(QWidget):
    """A window of its own for the preview.

    Signals:
        closed(): the user closed it; the preview belongs back into the main window.
    """

    closed = Signal()

    def __init__(self, host: PreviewHost) -> None:
        super().__init__(None, Qt.WindowType.Window)
        self.setWindowTitle("VeoTuner – preview")
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(host)
        host.show()
        self.resize(960, 540)

    def closeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Give the preview back before the window goes."""
        self.closed.emit()
        event.accept()
