"""One graph with its heading: title, source, legend and the values under the cursor."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from PySide6.QtCore import Qt
from PySide6.QtGui import QFontMetrics
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.core.metrics import metric, value_text
from app.core.vocabulary import LOSS_CLASSES
from widgets.axis_range import range_around, range_from_zero
from widgets.decimation import decimate_min_max
from widgets.elided_label import ElidedLabel
from widgets.graph_source import Curve, FrameSample, GraphNote, GraphSource, TimeEvent
from widgets.loss_symbols import GLYPHS, SYMBOL_PX
from widgets.theme import muted_colour, warning_colour
from widgets.time_plot import EventLine, LossMark, TimePlot, decimated_marks
from widgets.time_window import TimeWindow

_STROKES: Final = {"solid": "━━", "dashed": "╍╍", "dotted": "┅┅", "dash_dot": "━·━"}
_MOST_EVENT_LINES: Final = 60
_HEADING_SPACING_PX: Final = 12
_NAMED_EVENTS: Final = frozenset({"config", "governor"})
_KEY_GAP: Final = "   "
_KEY_GAP_RICH: Final = " &nbsp; "


@dataclass(frozen=True, slots=True)
class GraphSpec:
    """What a graph shows.

    Attributes:
        id: stable name (`interval`). title: heading. tip: what the graph is for, a sentence.
        left: metrics on the left axis; all share one unit.
        right: metrics on the right axis; all share one unit.
        left_least: the left axis, from 0, never ends below this (axis unit).
        around_step: instead of starting at 0, the left axis spans the values in whole steps of this; 0 for no.
        shows_losses, shows_event_text: whether losses are marked and events carry their text here.
    """

    id: str
    title: str
    tip: str
    left: tuple[str, ...]
    right: tuple[str, ...] = ()
    left_least: float = 1.0
    right_least: float = 1.0
    around_step: float = 0.0
    shows_losses: bool = False
    shows_event_text: bool = False

    @property
    def short_title(self) -> str:
        """The heading without its units."""
        return re.sub(r" *\([^)]*\)", "", self.title)


class GraphPanel(QWidget):
    """A `TimePlot` under one line of text.

    `draw` is called by the stack that owns the clock; nothing here has a timer.
    """

    def __init__(self, spec: GraphSpec, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.spec = spec
        self.plot = TimePlot(spec.left, spec.right)
        self._title = QLabel()
        self._legend = QLabel()
        self._missing = ElidedLabel(Qt.AlignmentFlag.AlignLeft)
        self._readout = QLabel()
        self._readout.setAccessibleName(f"{spec.title}: values under the cursor")
        self._shown: tuple[str, ...] = ()
        self.setToolTip("")
        self._lay_out()

    def draw(self, source: GraphSource, window: TimeWindow) -> None:
        """Take the visible stretch of every curve and draw it."""
        self.plot.set_time_range(window.start_s, window.end_s)
        bin_s = window.span_s / max(self.plot.plot_width_px, 1.0)
        visible = {name: _visible(source.curve(name), window, metric(name).scale) for name in self._metrics(source)}
        self._fit_axes(visible, source)
        for name in (*self.spec.left, *self.spec.right):
            x, y = visible.get(name, _NOTHING)
            self.plot.set_curve(name, *decimate_min_max(x, y, bin_s))
        overlay = self.plot.overlay
        overlay.events = _event_lines(source, window, self.spec.shows_event_text)
        overlay.losses = _loss_marks(source, window, bin_s) if self.spec.shows_losses else []
        overlay.nominal = source.nominal_ms if self.spec.shows_losses else math.nan
        note = source.note(self.spec.id)
        overlay.message = "" if any(x.size for x, _ in visible.values()) else note.missing
        self.plot.show_ticks(
            left=any(visible[name].x.size for name in self.spec.left if name in visible),
            right=any(visible[name].x.size for name in self.spec.right),
        )
        self.plot.refresh_overlay()

    def show_texts(self, source: GraphSource, sample: FrameSample | None) -> None:
        """Write the heading, and the values at `sample` or else the newest ones."""
        note = source.note(self.spec.id)
        names = self._metrics(source)
        present = [name for name in names if source.curve(name).x.size]
        self._missing.set_text(note.missing if present and len(present) < len(names) else "")
        where = f"frame {sample.frame_id} · " if sample is not None and self.spec.shows_losses else ""
        self._set(self._readout, where + _readout_text(source, names, sample))
        self._show_title(names, note)
        losses = loss_key({mark.metric_id for mark in self.plot.overlay.losses})
        self._show_legend(curve_key(present) if len(names) > 1 else losses)

    @property
    def readout(self) -> str:
        """The values that are shown beside the title."""
        return self._readout.text()

    def _metrics(self, source: GraphSource) -> tuple[str, ...]:
        names = (*self.spec.left, *self.spec.right)
        return (source.interval_metric(),) if source.interval_metric() in names else names

    def _fit_axes(self, visible: dict[str, Curve], source: GraphSource) -> None:
        left = [visible[name].y for name in self.spec.left if name in visible and visible[name].y.size]
        low, high = _extent(left)
        plot = self.plot
        if self.spec.around_step:
            plot.set_left_range(range_around(plot.left_range, low, high, self.spec.around_step))
        else:
            least = self.spec.left_least
            if self.spec.shows_losses and not math.isnan(source.nominal_ms):
                least = max(least, source.nominal_ms * 1.5)
            plot.set_left_range(range_from_zero(plot.left_range, high, least))
        if self.spec.right:
            _, high = _extent([visible[name].y for name in self.spec.right if visible[name].y.size])
            plot.set_right_range(range_from_zero(plot.right_range, high, self.spec.right_least))

    def _show_title(self, names: tuple[str, ...], note: GraphNote) -> None:
        row = metric(names[0])
        name = f"{row.title} ({row.unit})" if self.spec.shows_losses else self.spec.title
        simulated = f"{note.simulated} SIMULATED" if note.simulated else ""
        parts = [f"<b>{html.escape(name)}</b>"]
        if simulated:  # before the note: it is never cut
            parts.append(f'<b style="color:{warning_colour(self.palette())}">{simulated}</b>')
        if shown := self._fitting_note(f"{name}  {simulated}", note.source):
            parts.append(f'<span style="color:{muted_colour(self.palette())}">{html.escape(shown)}</span>')
        self._set(self._title, " &nbsp;".join(parts))
        self._title.setToolTip("\n\n".join(filter(None, (note.source, self.spec.tip))))

    def _fitting_note(self, bold_text: str, note: str) -> str:
        """Return what of a note there is room for between the name of the graph and its values."""
        bold = self.font()
        bold.setBold(True)
        taken_px = QFontMetrics(bold).horizontalAdvance(f"{bold_text}   ") + self._readout.sizeHint().width()
        room_px = self.width() - taken_px - 4 * _HEADING_SPACING_PX
        shown: str = self.fontMetrics().elidedText(note, Qt.TextElideMode.ElideRight, max(room_px, 0))
        return "" if shown == "…" else shown

    def _lay_out(self) -> None:
        heading = QHBoxLayout()
        heading.setContentsMargins(6, 0, 6, 0)
        heading.setSpacing(_HEADING_SPACING_PX)
        for label in (self._title, self._legend):
            label.setMinimumWidth(1)  # a long heading never keeps the window wide
        heading.addWidget(self._title)
        heading.addWidget(self._legend)
        heading.addWidget(self._missing, 1)
        heading.addWidget(self._readout)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(1)
        layout.addLayout(heading)
        layout.addWidget(self.plot, 1)

    def _show_legend(self, key: list[KeyItem]) -> None:
        others_px = self._title.sizeHint().width() + self._readout.sizeHint().width() + 4 * _HEADING_SPACING_PX
        fitting = fitting_key(key, self.width() - others_px, self.fontMetrics().horizontalAdvance)
        self._set(self._legend, fitting)
        self._legend.setToolTip("<br>".join(item.rich for item in key))

    def _set(self, label: QLabel, text: str) -> None:
        if label.text() != text:
            label.setText(text)


class KeyItem(NamedTuple):
    """One entry of a graph's key: its sign in the metric's colour, and what it stands for."""

    sign: str
    colour: str
    text: str

    @property
    def rich(self) -> str:
        """As rich text."""
        return f'<span style="color:{self.colour}">{self.sign}</span> {html.escape(self.text)}'


def curve_key(names: Iterable[str]) -> list[KeyItem]:
    """Return the key to curves."""
    return [KeyItem(_STROKES[metric(name).line_style], metric(name).colour, metric(name).title) for name in names]


def loss_key(metric_ids: Iterable[str]) -> list[KeyItem]:
    """Return the key to the marks of lost frames in view."""
    return [
        KeyItem(GLYPHS[metric(name).marker], metric(name).colour, name.removeprefix("loss."))
        for name in sorted(metric_ids)
    ]


def fitting_key(key: Sequence[KeyItem], room_px: float, width_of: Callable[[str], float]) -> str:
    """Return as many whole entries as there is room for, as rich text, and an ellipsis for the rest."""
    shown: list[str] = []
    for item in key:
        width_px = width_of(f"{item.sign} {item.text}{_KEY_GAP}")
        if room_px < width_px + (0 if item is key[-1] else width_of("…")):
            return _KEY_GAP_RICH.join([*shown, "…"])
        shown.append(item.rich)
        room_px -= width_px
    return _KEY_GAP_RICH.join(shown)


_NOTHING: Final = Curve(np.empty(0), np.empty(0))


def _visible(curve: Curve, window: TimeWindow, scale: float) -> Curve:
    """Cut a curve to the window, with one point beyond each edge so that the line leaves the view."""
    first = max(0, int(np.searchsorted(curve.x, window.start_s)) - 1)
    last = int(np.searchsorted(curve.x, window.end_s, side="right")) + 1
    y = curve.y[first:last]
    return Curve(np.ascontiguousarray(curve.x[first:last]), y * scale)


def _extent(curves: list[np.ndarray[tuple[int], np.dtype[np.float64]]]) -> tuple[float, float]:
    finite = [y[np.isfinite(y)] for y in curves]
    finite = [y for y in finite if y.size]
    if not finite:
        return math.nan, math.nan
    return min(float(y.min()) for y in finite), max(float(y.max()) for y in finite)


def _event_lines(source: GraphSource, window: TimeWindow, with_text: bool) -> list[EventLine]:
    visible = [event for event in source.events() if window.contains(event.time_s)][-_MOST_EVENT_LINES:]
    return [
        EventLine(
            event.time_s, event.text if with_text and event.kind in _NAMED_EVENTS else "", event.kind, _tip(event)
        )
        for event in visible
    ]


def _tip(event: TimeEvent) -> str:
    return f"{event.time_s:.2f} s  {event.text}" + (f"\n{event.reason}" if event.reason else "")


def _loss_marks(source: GraphSource, window: TimeWindow, bin_s: float) -> list[LossMark]:
    losses = source.losses()
    first, last = np.searchsorted(losses.x, (window.start_s, window.end_s))
    x, fate = losses.x[first:last], losses.fate[first:last]
    marks: list[LossMark] = []
    for lost in LOSS_CLASSES:
        times = decimated_marks(x[fate == lost], bin_s * SYMBOL_PX)
        marks.extend(LossMark(float(time_s), f"loss.{lost.label}") for time_s in times)
    return marks


def _readout_text(source: GraphSource, names: tuple[str, ...], sample: FrameSample | None) -> str:
    texts = []
    for name in names:
        value = sample.values.get(name, math.nan) if sample else _newest(source.curve(name))
        if not math.isnan(value):
            texts.append(value_text(name, value))
    return " · ".join(texts) or "—"


def _newest(curve: Curve) -> float:
    return float(curve.y[-1]) if curve.y.size else math.nan
