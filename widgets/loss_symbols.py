"""The marks of lost frames: one shape for each class, so that colour is never the only cue."""

from __future__ import annotations

import math
from typing import Final

from PySide6.QtCore import QPointF, Qt
from PySide6.QtGui import QColor, QPainter, QPen, QPolygonF

SYMBOL_PX: Final = 9
_HALF: Final = SYMBOL_PX / 2

GLYPHS: Final = {
    "circle": "●",
    "square": "■",
    "diamond": "◆",
    "triangle_up": "▲",
    "triangle_down": "▼",
    "cross": "✕",
    "plus": "✚",
}
"""The characters that stand for the marks in a line of text."""


def _regular(corners: int, turned: float) -> tuple[tuple[float, float], ...]:
    angles = [turned + 2 * math.pi * index / corners for index in range(corners)]
    return tuple((_HALF * math.sin(angle), -_HALF * math.cos(angle)) for angle in angles)


_CORNERS: Final[dict[str, tuple[tuple[float, float], ...]]] = {
    "square": _regular(4, math.pi / 4),
    "diamond": _regular(4, 0.0),
    "triangle_up": _regular(3, 0.0),
    "triangle_down": _regular(3, math.pi),
}
_STROKES: Final = {
    "cross": (((-3.5, -3.5), (3.5, 3.5)), ((-3.5, 3.5), (3.5, -3.5))),
    "plus": (((-4.5, 0.0), (4.5, 0.0)), ((0.0, -4.5), (0.0, 4.5))),
}


def draw_symbol(painter: QPainter, marker: str, centre: QPointF, colour: QColor) -> None:
    """Draw a marker of `app.core.metrics.MARKERS`, about `SYMBOL_PX` wide, around a point."""
    if marker in _STROKES:
        painter.setPen(QPen(colour, 2))
        for start, end in _STROKES[marker]:
            painter.drawLine(centre + QPointF(*start), centre + QPointF(*end))
        return
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(colour)
    if marker in _CORNERS:
        painter.drawPolygon(QPolygonF([centre + QPointF(*corner) for corner in _CORNERS[marker]]))
    else:
        painter.drawEllipse(centre, _HALF, _HALF)
    painter.setBrush(Qt.BrushStyle.NoBrush)
