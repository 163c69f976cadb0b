"""Number tiles side by side, in as many lines as the width asks for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QObject, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QGridLayout, QLayout, QWidget

_SPACING_PX: Final = 4
_FEWEST_COLUMNS: Final = 3


class TileRow(QWidget):
    """Visible tiles in lines of equal length, so that a window stays as narrow as its user made it."""

    def __init__(self, tiles: Sequence[QWidget], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._tiles = tuple(tiles)
        self._placed: tuple[tuple[QWidget, ...], int] = ((), 0)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(_SPACING_PX)
        self._grid.setSizeConstraint(QLayout.SizeConstraint.SetNoConstraint)  # the width chooses the lines
        for tile in self._tiles:
            tile.setParent(self)
            tile.installEventFilter(self)
        self._place()

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """As wide as a few tiles, as high as the lines that are shown."""
        width_px = _FEWEST_COLUMNS * (self._widest_px(self._shown()) + _SPACING_PX)
        return QSize(width_px, self._grid.minimumSize().height())

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Break the line where it ends now."""
        super().resizeEvent(event)
        self._place()

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Notice a tile that is shown, hidden, or needs another width for its number."""
        if event.type() in {QEvent.Type.ShowToParent, QEvent.Type.HideToParent, QEvent.Type.LayoutRequest}:
            self._place()
        return super().eventFilter(watched, event)

    @property
    def columns(self) -> int:
        """Tiles in the longest line."""
        return self._placed[1]

    def _shown(self) -> tuple[QWidget, ...]:
        return tuple(tile for tile in self._tiles if not tile.isHidden())

    def _widest_px(self, tiles: Sequence[QWidget]) -> int:
        return max((tile.minimumSizeHint().width() for tile in tiles), default=1)

    def _place(self) -> None:
        shown = self._shown()
        columns = line_length(len(shown), self.width() + _SPACING_PX, self._widest_px(shown) + _SPACING_PX)
        if (shown, columns) == self._placed:
            return
        self._placed = (shown, columns)
        while self._grid.takeAt(0) is not None:
            pass
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        for index, tile in enumerate(shown):
            self._grid.addWidget(tile, index // columns, index % columns)
            self._grid.setColumnStretch(index % columns, 1)


def line_length(count: int, room_px: float, tile_px: float) -> int:
    """Return how many tiles to place in a line so that the lines are few and of equal length."""
    fitting = max(int(room_px / tile_px), _FEWEST_COLUMNS)
    lines = math.ceil(count / fitting)
    return math.ceil(count / lines) if lines else 1
