"""The one time axis under all graphs."""

from __future__ import annotations

from typing import Final

from PySide6.QtCore import QPointF, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QSizePolicy, QWidget

from widgets.axis_ticks import time_text, time_ticks
from widgets.time_plot import LEFT_AXIS_PX, RIGHT_AXIS_PX
from widgets.time_window import TimeWindow

_LABEL_PX: Final = 90


class TimeRuler(QWidget):
    """Ticks and labels in seconds since the run began, aligned with the plots above it."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._window = TimeWindow()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setToolTip("Run time: seconds since the run began (CLOCK_MONOTONIC). Wheel zooms, dragging moves.")

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line of text."""
        return QSize(200, self.fontMetrics().height() + 6)

    def show_window(self, window: TimeWindow) -> None:
        """Show this stretch of time."""
        if window != self._window:
            self._window = window
            self.update()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw ticks and labels."""
        painter = QPainter(self)
        start_s, end_s = self._window.start_s, self._window.end_s
        left, width = float(LEFT_AXIS_PX), float(self.width() - LEFT_AXIS_PX - RIGHT_AXIS_PX)
        height = self.height()
        for time_s in time_ticks(start_s, end_s, max(1, int(width / _LABEL_PX))):
            x = left + (time_s - start_s) / (end_s - start_s) * width
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Mid), 0))
            painter.drawLine(QPointF(x, 0), QPointF(x, 4))
            painter.setPen(self.palette().color(QPalette.ColorRole.WindowText))
            box = QRectF(x - _LABEL_PX / 2, 4, _LABEL_PX, height - 4)
            painter.drawText(box, int(Qt.AlignmentFlag.AlignCenter), time_text(time_s, end_s - start_s))
