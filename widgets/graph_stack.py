"""The graphs, one above the other, over one time axis, one zoom and one cursor, redrawn as their cost allows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QLabel, QSplitter, QToolButton, QVBoxLayout, QWidget

from widgets.graph_panel import GraphPanel, GraphSpec
from widgets.graph_source import FrameSample, GraphSource
from widgets.redraw_budget import RedrawBudget, after_redraw
from widgets.time_ruler import TimeRuler
from widgets.time_window import SPANS_S, TimeWindow, follow, pan, zoom

_TEXT_INTERVAL_S: Final = 0.5
_HIDDEN_INTERVAL_MS: Final = 500
_KEY_PAN_RATIO: Final = 0.25


class GraphStack(QWidget):
    """Pulls a `GraphSource` on a timer of its own and draws the visible graphs.

    Signals:
        pinned(FrameSample | None): the frame that was clicked, or None when the pin was taken away.
        graph_toggled(id, visible): a graph was shown or hidden by its button.
        following_changed(following): the newest data is followed, or no longer.
    """

    pinned = Signal(object)
    graph_toggled = Signal(str, bool)
    following_changed = Signal(bool)

    def __init__(self, specs: Sequence[GraphSpec], source: GraphSource, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._window = TimeWindow()
        self._cursor_s: float | None = None
        self._pin: FrameSample | None = None
        self._dirty = True
        self._texts_due_s = 0.0
        self._budget = RedrawBudget()
        self._cpu_s = time.thread_time()
        self.panels = {spec.id: GraphPanel(spec) for spec in specs}
        self.toggles = {spec.id: self._make_toggle(spec) for spec in specs}
        self.follow_button = self._make_follow_button()
        self.span_box = self._make_span_box()
        self._ruler = TimeRuler()
        self._strip = QHBoxLayout()
        self._span_label = QLabel("Last")
        self._splitter = QSplitter(Qt.Orientation.Vertical)
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # a click on a graph ends typing in the search or a number
        self._lay_out()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(0)

    @property
    def window_shown(self) -> TimeWindow:
        """The visible stretch of time."""
        return self._window

    @property
    def redraw_interval_s(self) -> float:
        """Time between two redraws, as their cost allows."""
        return self._budget.interval_s

    @property
    def pin(self) -> FrameSample | None:
        """The pinned frame."""
        return self._pin

    def set_following(self, following: bool) -> None:
        """Follow the newest data, or stay where the view is."""
        newest_s = self._source.newest_s
        if following:
            self._show_window(follow(self._window, newest_s))
        else:
            self._show_window(TimeWindow(self._window.end_s, self._window.span_s, following=False))

    def set_span(self, span_s: float) -> None:
        """Show this many seconds."""
        self._zoom(span_s / self._window.span_s, self._window.end_s)

    def pan_by(self, by_s: float) -> None:
        """Move the view; towards the past it stops following."""
        self._show_window(pan(self._window, by_s, self._source.newest_s))

    def step_back(self) -> None:
        """Move a quarter of the view towards the past."""
        self.pan_by(-self._window.span_s * _KEY_PAN_RATIO)

    def step_forward(self) -> None:
        """Move a quarter of the view towards the present."""
        self.pan_by(self._window.span_s * _KEY_PAN_RATIO)

    def zoom_in(self) -> None:
        """Show less time."""
        self._zoom(0.5, self._window.end_s)

    def zoom_out(self) -> None:
        """Show more time."""
        self._zoom(2.0, self._window.end_s)

    def set_graph_visible(self, graph_id: str, visible: bool) -> None:
        """Show or hide a graph; a hidden one is not drawn."""
        self.panels[graph_id].setVisible(visible)
        self.toggles[graph_id].setChecked(visible)
        self._dirty = True

    def pin_at(self, time_s: float) -> None:
        """Pin the frame nearest to a time; pinning the pinned one again takes the pin away."""
        sample = self._source.sample_at(time_s)
        same = sample is not None and self._pin is not None and sample.frame_id == self._pin.frame_id
        self.set_pin(None if same else sample)

    def set_pin(self, sample: FrameSample | None) -> None:
        """Pin a frame, or nothing."""
        self._pin = sample
        for panel in self.panels.values():
            panel.plot.overlay.pinned_s = sample.time_s if sample else float("nan")
        self._touch()
        self.pinned.emit(sample)

    def add_to_strip(self, widget: QWidget) -> None:
        """Put a control that concerns all graphs into the strip above them, at the left of the time it shows."""
        self._strip.insertWidget(self._strip.indexOf(self._span_label), widget)

    def refresh(self) -> None:
        """Draw anew: the source shows other data. A pinned frame is none of it."""
        self.set_pin(None)
        self._touch()

    def restart(self) -> None:
        """Begin anew with a new run: follow, no pin."""
        self._window = TimeWindow(span_s=self._window.span_s, end_s=self._window.span_s)
        self.follow_button.setChecked(True)
        self.set_pin(None)

    def _tick(self) -> None:
        drawn = self._pull_and_draw()
        cpu_s = time.thread_time()
        if drawn:
            self._budget = after_redraw(self._budget, cpu_s - self._cpu_s)
        self._cpu_s = cpu_s
        interval_ms = round(self._budget.interval_s * 1000) if self.isVisible() else _HIDDEN_INTERVAL_MS
        self._timer.start(interval_ms)

    def _pull_and_draw(self) -> bool:
        changed = self._source.pull()
        if self._window.following and changed:
            self._window = follow(self._window, self._source.newest_s)
            self._dirty = True
        if not (self._dirty or changed) or not self.isVisible() or self.window().isMinimized():
            return False
        self._dirty = False
        self._ruler.show_window(self._window)
        for panel in self._visible_panels():
            panel.draw(self._source, self._window)
        self._write_texts_when_due()
        return True

    def _write_texts_when_due(self) -> None:
        now_s = time.monotonic()
        if now_s >= self._texts_due_s:
            self._texts_due_s = now_s + _TEXT_INTERVAL_S
            self._write_texts()

    def _write_texts(self) -> None:
        at_s = self._cursor_s if self._cursor_s is not None else (self._pin.time_s if self._pin else None)
        sample = None if at_s is None else self._source.sample_at(at_s)
        for panel in self._visible_panels():
            panel.show_texts(self._source, sample)

    def _visible_panels(self) -> list[GraphPanel]:
        return [panel for panel in self.panels.values() if panel.isVisible()]

    def _hover(self, time_s: float) -> None:
        sample = self._source.sample_at(time_s)
        self._set_cursor(sample.time_s if sample else time_s)

    def _unhover(self) -> None:
        self._set_cursor(None)

    def _set_cursor(self, time_s: float | None) -> None:
        if time_s == self._cursor_s:
            return
        self._cursor_s = time_s
        for panel in self.panels.values():
            panel.plot.overlay.cursor_s = float("nan") if time_s is None else time_s
        self._touch()

    def _touch(self) -> None:
        self._dirty = True
        self._texts_due_s = 0.0

    def _zoom(self, factor: float, anchor_s: float) -> None:
        self._show_window(zoom(self._window, factor, anchor_s, self._source.newest_s))

    def _show_window(self, window: TimeWindow) -> None:
        was_following = self._window.following
        self._window = window
        self._dirty = True
        self.follow_button.setChecked(window.following)
        self._show_span(window.span_s)
        if window.following != was_following:
            self.following_changed.emit(window.following)

    def _show_span(self, span_s: float) -> None:
        index = self.span_box.findData(span_s)
        self.span_box.setCurrentIndex(index)
        if index < 0:
            self.span_box.setPlaceholderText(f"{span_s:.3g} s")

    def _make_toggle(self, spec: GraphSpec) -> QToolButton:
        button = QToolButton()
        button.setText(spec.short_title)
        button.setCheckable(True)
        button.setChecked(True)
        button.setAutoRaise(True)
        button.setToolTip(f"Show or hide the graph “{spec.title}”. {spec.tip}")
        button.clicked.connect(lambda visible, graph_id=spec.id: self._toggle(graph_id, visible))
        return button

    def _toggle(self, graph_id: str, visible: bool) -> None:
        self.set_graph_visible(graph_id, visible)
        self.graph_toggled.emit(graph_id, visible)

    def _make_follow_button(self) -> QToolButton:
        button = QToolButton()
        button.setText("Follow")
        button.setCheckable(True)
        button.setChecked(True)
        button.setToolTip("Keep the newest data at the right edge. Dragging a graph back ends it; the run goes on.")
        button.clicked.connect(self.set_following)
        return button

    def _make_span_box(self) -> QComboBox:
        box = QComboBox()
        for span_s in SPANS_S:
            box.addItem(f"{span_s:.0f} s" if span_s < 60 else f"{span_s / 60:.0f} min", span_s)
        box.setCurrentIndex(box.findData(self._window.span_s))
        box.setToolTip("Visible stretch of time, for all graphs. The wheel over a graph reaches every other one.")
        box.setAccessibleName("Visible stretch of time")
        box.activated.connect(lambda index: self.set_span(box.itemData(index)))
        return box

    def _lay_out(self) -> None:
        strip = self._strip
        strip.setContentsMargins(4, 0, 6, 0)
        strip.setSpacing(2)
        for toggle in self.toggles.values():
            strip.addWidget(toggle)
        strip.addStretch(1)
        strip.addWidget(self._span_label)
        strip.addWidget(self.span_box)
        strip.addWidget(self.follow_button)
        self._splitter.setChildrenCollapsible(False)
        self._splitter.setHandleWidth(3)
        for panel in self.panels.values():
            self._splitter.addWidget(panel)
            panel.plot.hovered.connect(self._hover)
            panel.plot.left.connect(self._unhover)
            panel.plot.clicked.connect(self.pin_at)
            panel.plot.panned.connect(self.pan_by)
            panel.plot.zoomed.connect(self._zoom)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addLayout(strip)
        layout.addWidget(self._splitter, 1)
        layout.addWidget(self._ruler)
