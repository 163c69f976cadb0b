"""One graph over time: curves drawn by pyqtgraph, and over them cursor, events and losses drawn in one pass.

The only module that imports pyqtgraph. What keeps it cheap on a CPU: no auto-range, no bottom axis that would be laid
out anew at every step of a scrolling view, ticks set only when a range changes, curves already thinned to pixels, and
mouse events taken before pyqtgraph's scene searches its items for them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyqtgraph as pg  # type: ignore[import-untyped]  # ships no type information
from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFontMetrics,
    QHelpEvent,
    QMouseEvent,
    QPainter,
    QPalette,
    QPen,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import QToolTip, QWidget

from app.core.metric import PURPLE
from app.core.metrics import metric
from widgets.axis_range import AxisRange
from widgets.axis_ticks import tick_text, value_ticks
from widgets.decimation import FloatArray
from widgets.loss_symbols import draw_symbol
from widgets.theme import palette_is_dark

LEFT_AXIS_PX: Final = 52
RIGHT_AXIS_PX: Final = 48
_TICK_SPACING_PX: Final = 26
_DRAG_START_PX: Final = 4
_TEXT_GAP_PX: Final = 3
_PEN_STYLES: Final = {
    "solid": Qt.PenStyle.SolidLine,
    "dashed": Qt.PenStyle.DashLine,
    "dotted": Qt.PenStyle.DotLine,
    "dash_dot": Qt.PenStyle.DashDotLine,
}


_EVENT_PENS: Final = {
    "config": (Qt.PenStyle.SolidLine, "", 0),
    "segment": (Qt.PenStyle.DotLine, "", 0),
    "governor": (Qt.PenStyle.DashDotLine, PURPLE, 2),
}
"""Style, colour ("" for that of text) and width of each kind of event."""
_NEAR_PX: Final = 6


@dataclass(frozen=True, slots=True)
class EventLine:
    """A vertical line: where, what it says ("" for no text), which kind of event it is, and its tool tip."""

    time_s: float
    text: str
    kind: str
    tip: str = ""


@dataclass(frozen=True, slots=True)
class LossMark:
    """One drawn mark of lost frames: where, and the metric whose colour and marker it has."""

    time_s: float
    metric_id: str


@dataclass(slots=True)
class Overlay:
    """What is drawn over the curves; times in seconds since the run began, NaN for none."""

    cursor_s: float = math.nan
    pinned_s: float = math.nan
    nominal: float = math.nan
    message: str = ""
    events: list[EventLine] = field(default_factory=list)
    losses: list[LossMark] = field(default_factory=list)


class TimePlot(pg.GraphicsView):  # type: ignore[misc]  # its base has no types
    """Curves over a shared stretch of time, with a left axis and an optional right one.

    Values are given in the unit of the axis. The right axis has a range of its own, from 0.

    Signals:
        hovered(time_s): the pointer moved over the plot.
        left(): the pointer went away.
        clicked(time_s): a press and release without a drag.
        panned(by_s): dragged; positive is towards later.
        zoomed(factor, anchor_s): the wheel turned.
    """

    hovered = Signal(float)
    left = Signal()
    clicked = Signal(float)
    panned = Signal(float)
    zoomed = Signal(float, float)

    def __init__(self, curve_ids: tuple[str, ...], right_ids: tuple[str, ...] = (), parent: QWidget | None = None):
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setMouseTracking(True)
        self.setMinimumHeight(40)
        self.overlay = Overlay()
        self._range_s = (0.0, 1.0)
        self._left, self._right = AxisRange(0.0, 1.0), AxisRange(0.0, 1.0)
        self._right_ids = right_ids
        self._has_ticks = (True, True)
        self._press: QPointF | None = None
        self._drag_x = 0.0
        self._view = pg.ViewBox(enableMenu=False, enableMouse=False)
        self._left_axis = self._make_axis("left", LEFT_AXIS_PX, labelled=True)
        self._right_axis = self._make_axis("right", RIGHT_AXIS_PX, labelled=bool(right_ids))
        self._place_items()
        self._curves = {curve_id: self._make_curve() for curve_id in (*curve_ids, *right_ids)}
        self._style()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Wide and low."""
        return QSize(600, 110)

    @property
    def plot_width_px(self) -> float:
        """Width of the area of the curves in device pixels."""
        return float(self._area().width()) * float(self.devicePixelRatioF())

    def set_left_range(self, wanted: AxisRange) -> None:
        """Set the left axis and the height of the view."""
        if wanted != self._left:
            self._left = wanted
            self._apply_ranges()

    def set_right_range(self, wanted: AxisRange) -> None:
        """Set the right axis; its curves are drawn to it."""
        if wanted != self._right:
            self._right = wanted
            self._apply_ticks()

    @property
    def left_range(self) -> AxisRange:
        """Range of the left axis."""
        return self._left

    @property
    def right_range(self) -> AxisRange:
        """Range of the right axis."""
        return self._right

    def set_time_range(self, start_s: float, end_s: float) -> None:
        """Show this stretch of time; takes effect with the next drawing."""
        if (start_s, end_s) != self._range_s:
            self._range_s = (start_s, end_s)
            self._view.setXRange(start_s, end_s, padding=0, update=False)

    def set_curve(self, curve_id: str, x: FloatArray, y: FloatArray) -> None:
        """Show these points; NaN in `y` is a gap."""
        if curve_id in self._right_ids:
            y = self._left.low + y * ((self._left.high - self._left.low) / self._right.high)
        self._curves[curve_id].setData(x, y)

    def show_ticks(self, *, left: bool, right: bool) -> None:
        """Label the axes, or leave one bare where there is nothing to read off."""
        if (left, right) != self._has_ticks:
            self._has_ticks = (left, right)
            self._apply_ticks()

    def refresh_overlay(self) -> None:
        """Draw anew after `overlay` changed."""
        self.viewport().update()

    def time_at(self, x_px: float) -> float:
        """Return the time under a horizontal position of the widget."""
        area = self._area()
        start_s, end_s = self._range_s
        ratio = (x_px - area.left()) / max(area.width(), 1.0)
        return start_s + min(max(ratio, 0.0), 1.0) * (end_s - start_s)

    # --- drawing ---------------------------------------------------------------------------------------------------

    def drawBackground(self, painter: QPainter, rect: QRectF) -> None:  # noqa: N802 - Qt's name
        """Paint the ground and a line at each tick of the left axis."""
        palette = self.palette()
        painter.fillRect(rect, palette.color(QPalette.ColorRole.Base))
        area = self._area()
        painter.setPen(QPen(self._faint(), 0))
        for value in self._left_ticks():
            y = self._y_of(value, area)
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))

    def drawForeground(self, painter: QPainter, _rect: QRectF) -> None:  # noqa: N802 - Qt's name
        """Paint nominal line, events, losses, pin and cursor, or why there is nothing to see."""
        area = self._area()
        painter.save()
        painter.setClipRect(area)
        self._draw_nominal(painter, area)
        self._draw_events(painter, area)
        self._draw_losses(painter, area)
        text = self.palette().color(QPalette.ColorRole.Text)
        self._draw_instant(painter, area, self.overlay.pinned_s, QPen(text, 2))
        self._draw_instant(painter, area, self.overlay.cursor_s, QPen(text, 0, Qt.PenStyle.DashLine))
        self._draw_message(painter, area)
        painter.restore()

    def _draw_nominal(self, painter: QPainter, area: QRectF) -> None:
        if not math.isnan(self.overlay.nominal):
            y = self._y_of(self.overlay.nominal, area)
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.PlaceholderText), 0, Qt.PenStyle.DashLine))
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y))

    def _draw_events(self, painter: QPainter, area: QRectF) -> None:
        if self.overlay.message:
            return  # there is no curve to compare with, and words are not crossed out
        colour = self.palette().color(QPalette.ColorRole.Text)
        for event in self.overlay.events:
            x = self._x_of(event.time_s, area)
            style, own_colour, width = _EVENT_PENS[event.kind]
            painter.setPen(QPen(QColor(own_colour) if own_colour else colour, width, style))
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))
        metrics = QFontMetrics(painter.font())
        widest = int(area.width()) - 2 * _TEXT_GAP_PX
        lines = [
            (self._x_of(event.time_s, area), metrics.elidedText(event.text, Qt.TextElideMode.ElideRight, widest))
            for event in self.overlay.events
            if event.text
        ]
        painter.setPen(QPen(colour))
        for x, text in place_texts(lines, metrics.horizontalAdvance, area.left(), area.right()):
            painter.drawText(QPointF(x, area.top() + metrics.ascent()), text)

    def _draw_losses(self, painter: QPainter, area: QRectF) -> None:
        y = area.bottom() - 6
        for mark in self.overlay.losses:
            row = metric(mark.metric_id)
            draw_symbol(painter, row.marker, QPointF(self._x_of(mark.time_s, area), y), QColor(row.colour))

    def _draw_instant(self, painter: QPainter, area: QRectF, time_s: float, pen: QPen) -> None:
        if not math.isnan(time_s):
            x = self._x_of(time_s, area)
            painter.setPen(pen)
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()))

    def _draw_message(self, painter: QPainter, area: QRectF) -> None:
        if self.overlay.message:
            painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
            place = area.adjusted(8, 0, -8, 0)
            flags, text = Qt.AlignmentFlag.AlignCenter | Qt.TextFlag.TextWordWrap, self.overlay.message
            if painter.boundingRect(place, int(flags), text).height() > place.height():  # half a line says nothing
                flags = Qt.AlignmentFlag.AlignCenter
                text = painter.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, int(place.width()))
            painter.drawText(place, int(flags), text)

    # --- tool tip ---------------------------------------------------------------------------------------------------

    def viewportEvent(self, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Say what an event line stands for when the pointer rests on it."""
        if event.type() is QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            QToolTip.showText(event.globalPos(), self.event_tip(event.pos().x()), self)
            return True
        return bool(super().viewportEvent(event))

    def event_tip(self, x_px: float) -> str:
        """Return what the event lines near a horizontal position of the widget stand for; "" where there is none."""
        area = self._area()
        near = [line for line in self.overlay.events if abs(self._x_of(line.time_s, area) - x_px) <= _NEAR_PX]
        return "\n".join(line.tip for line in near)

    # --- pointer ---------------------------------------------------------------------------------------------------

    def mousePressEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Begin a click or a drag."""
        if event.button() is Qt.MouseButton.LeftButton:
            self._press = event.position()
            self._drag_x = event.position().x()

    def mouseMoveEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """Report the time under the pointer, or drag it."""
        x = event.position().x()
        if self._press is not None and (self._dragging(x)):
            start_s, end_s = self._range_s
            self.panned.emit((self._drag_x - x) / max(self._area().width(), 1.0) * (end_s - start_s))
            self._drag_x = x
            self.setCursor(Qt.CursorShape.ClosedHandCursor)
        self.hovered.emit(self.time_at(x))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:  # noqa: N802 - Qt's name
        """End a drag, or report a click."""
        if self._press is not None and not self._dragging(event.position().x()):
            self.clicked.emit(self.time_at(event.position().x()))
        self._press = None
        self.unsetCursor()

    def wheelEvent(self, event: QWheelEvent) -> None:  # noqa: N802 - Qt's name
        """Zoom about the pointer."""
        turns = event.angleDelta().y() / 120
        if turns:
            self.zoomed.emit(0.8**turns, self.time_at(event.position().x()))
        event.accept()

    def leaveEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Report that the pointer is gone."""
        self.left.emit()
        super().leaveEvent(event)

    def _dragging(self, x: float) -> bool:
        assert self._press is not None
        return abs(x - self._press.x()) >= _DRAG_START_PX or self.cursor().shape() is Qt.CursorShape.ClosedHandCursor

    # --- layout ----------------------------------------------------------------------------------------------------

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the palette."""
        super().changeEvent(event)
        if event.type() in {QEvent.Type.PaletteChange, QEvent.Type.FontChange} and hasattr(self, "_curves"):
            self._style()

    def resizeEvent(self, event: QResizeEvent | None) -> None:  # noqa: N802 - Qt's name
        """Place as many ticks as fit."""
        super().resizeEvent(event)
        if hasattr(self, "_curves"):
            self._apply_ticks()

    def _make_axis(self, side: str, width_px: int, *, labelled: bool) -> pg.AxisItem:
        axis = pg.AxisItem(side)
        axis.setWidth(width_px)
        axis.setStyle(tickLength=-3, autoExpandTextSpace=False, showValues=labelled)
        return axis

    def _place_items(self) -> None:
        # Not a PlotItem: it makes seven menus and a panel of controls for each graph, none of which is ever shown.
        layout = pg.GraphicsLayout()
        layout.setContentsMargins(0, 7, 0, 7)
        layout.setSpacing(0)
        for column, item in enumerate((self._left_axis, self._view, self._right_axis)):
            layout.addItem(item, 0, column)
        self._left_axis.linkToView(self._view)
        self.setCentralItem(layout)

    def _make_curve(self) -> pg.PlotCurveItem:
        curve = pg.PlotCurveItem(connect="finite", antialias=False, skipFiniteCheck=False)
        curve.setSegmentedLineMode("on")
        self._view.addItem(curve, ignoreBounds=True)
        return curve

    def _style(self) -> None:
        palette = self.palette()
        axis_pen = pg.mkPen(palette.color(QPalette.ColorRole.Mid))
        for axis in (self._left_axis, self._right_axis):
            axis.setPen(axis_pen)
            axis.setTextPen(palette.color(QPalette.ColorRole.Text))
            axis.setStyle(tickFont=self.font())
        for curve_id, curve in self._curves.items():
            row = metric(curve_id)
            width = max(1, round(self.devicePixelRatioF()))  # a cosmetic pen counts device pixels
            curve.setPen(pg.mkPen(QColor(row.colour), width=width, style=_PEN_STYLES[row.line_style]))
        self._apply_ranges()
        self.viewport().update()

    def _apply_ranges(self) -> None:
        self._view.setYRange(self._left.low, self._left.high, padding=0)
        self._apply_ticks()

    def _apply_ticks(self) -> None:
        self._left_axis.setTicks([[(value, tick_text(value)) for value in self._left_ticks()]])
        self._right_axis.setRange(*self._right)
        labelled = self._right_ids and self._has_ticks[1]
        values = value_ticks(*self._right, self._most_ticks()) if labelled else []
        self._right_axis.setTicks([[(value, tick_text(value)) for value in values]])
        self.resetCachedContent()  # the ground with its lines is drawn once and kept
        self.viewport().update()

    def _left_ticks(self) -> list[float]:
        return value_ticks(*self._left, self._most_ticks()) if self._has_ticks[0] else []

    def _most_ticks(self) -> int:
        return max(1, int(self.height() / _TICK_SPACING_PX))

    def _area(self) -> QRectF:
        return QRectF(self._view.sceneBoundingRect())

    def _x_of(self, time_s: float, area: QRectF) -> float:
        start_s, end_s = self._range_s
        return float(area.left() + (time_s - start_s) / (end_s - start_s) * area.width())

    def _y_of(self, value: float, area: QRectF) -> float:
        return float(area.bottom() - (value - self._left.low) / (self._left.high - self._left.low) * area.height())

    def _faint(self) -> QColor:
        colour = QColor(self.palette().color(QPalette.ColorRole.Text))
        colour.setAlphaF(0.16 if palette_is_dark(self.palette()) else 0.12)
        return colour


def decimated_marks(times_s: FloatArray, bin_width_s: float) -> FloatArray:
    """Return one time of each bin that holds a mark, so that a burst of losses costs as many symbols as fit."""
    if not times_s.size:
        return times_s
    _, first = np.unique(np.floor(times_s / bin_width_s), return_index=True)
    return times_s[first]


def place_texts(
    lines: Sequence[tuple[float, str]], width_of: Callable[[str], float], left: float, right: float
) -> list[tuple[float, str]]:
    """Return where the texts beside vertical lines go, so that none is cut and none runs into another.

    A text stands to the right of its line, or to the left where the plot ends. Of lines that stand closer together than
    their texts are wide (a dragged slider) only the newest is written: its value is what holds.

    Args:
        lines: place and text of each line, by place. width_of: width of a text. left, right: edges of the plot.
    """
    placed: list[tuple[float, str]] = []
    free_to = right
    for x, text in reversed(lines):
        width = width_of(text)
        start = x + _TEXT_GAP_PX if x + _TEXT_GAP_PX + width <= right else x - _TEXT_GAP_PX - width
        if not placed or start + width + _TEXT_GAP_PX <= free_to:
            placed.append((max(start, left), text))
            free_to = min(start, x)
    return placed[::-1]
