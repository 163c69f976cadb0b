"""A frame number that a screenshot can prove: drawn into the top rows of a picture, read back from its pixels.

The code is a grid of 16 × 5 cells over the whole width. Both outer columns are a guard pattern (alternating, opposite
phase), which also tells the reader what black and white look like. The 70 inner cells carry the 32-bit number, its
CRC-32 and six fixed guard cells, row by row, most significant bit first. Sixteen cells a row keep a cell at least
1.6 pixels wide when a 64-pixel picture is shown at 0.4 of its size.

The reader answers only when it is sure: all sixteen guard cells right, every cell clearly on one side of grey, and the
CRC-32 right. Anything else is None, never a wrong number.
"""

from __future__ import annotations

import zlib
from typing import Any, Final

import numpy as np
import numpy.typing as npt

NUMBER_LIMIT: Final = 1 << 32
"""Numbers are taken modulo this: at 60 fps they repeat after two years."""

MINIMUM_WIDTH: Final = 64
"""Pixels below which a picture has no bar code."""

MINIMUM_HEIGHT: Final = 32
"""Pixels below which a picture has no bar code."""

_COLUMNS: Final = 16
_ROWS: Final = 5

_CELL_HEIGHT_DIVISORS: Final = ((360, 90), (80, 20), (MINIMUM_HEIGHT, 8))
"""(least picture height, picture heights a cell row takes as 1/n). Small pictures give a larger part of themselves, so
that a cell is never lower than four rows; the reader does not know the original height and tries each."""

_LEFT_GUARD: Final = np.array([1, 0, 1, 0, 1], np.uint8)
_TAIL_GUARD: Final = np.array([1, 0, 1, 1, 0, 0], np.uint8)

_LEAST_CONTRAST: Final = 48.0
"""Levels (of 255) between black and white below which nothing is read."""

_GREY_ZONE_RATIO: Final = 0.12
"""A cell within ±this of the middle between black and white is unsure."""

_SHIFTS_PX: Final = (0.0, -0.5, 0.5, -1.0, 1.0)
"""Misplacements of the rectangle that the reader tries, since letterboxing rounds to whole pixels."""

_CENTRE: Final = np.array([0.5])
_AROUND_CENTRE: Final = np.array([0.35, 0.5, 0.65])
"""Where inside a cell the reader looks, as a part of the cell's size; the rim is left to scaling filters."""

_LEAST_AVERAGED_CELL_PX: Final = 4.0
"""Below this size only the pixel in the middle of a cell is free of its neighbours."""

Luma = npt.NDArray[np.uint8] | npt.NDArray[np.uint16]


def bar_code_rows(width: int, height: int) -> int:
    """Return how many rows the code takes at the top of a picture of this size; 0 when it is too small for one."""
    if width < MINIMUM_WIDTH or height < MINIMUM_HEIGHT:
        return 0
    return round(_ROWS * height / _divisor(height))


class BarCodePainter:
    """Draws bar codes into pictures of one size and sample type, without allocating per frame.

    Args:
        width, height: picture size in pixels.
        black, white: sample values of the two levels.
        dtype: uint8 or uint16.

    Attributes:
        rows: rows the code takes, 0 when the picture is too small and `draw` does nothing.
    """

    def __init__(self, width: int, height: int, black: int, white: int, dtype: npt.DTypeLike = np.uint8) -> None:
        self.rows = bar_code_rows(width, height)
        self._levels = np.array([black, white], dtype)
        self._cells = np.zeros((_ROWS, _COLUMNS), np.uint8)
        self._column_of_pixel = np.minimum(np.arange(width) * _COLUMNS // max(width, 1), _COLUMNS - 1)
        self._row_edges = [round(row * height / _divisor(height)) for row in range(_ROWS + 1)] if self.rows else []
        self._cell_line = np.zeros(_COLUMNS, dtype)
        self._line = np.zeros(width, dtype)

    def draw(self, luma: Luma, number: int) -> None:
        """Overwrite the top `rows` rows of `luma` (height × width) with the code of `number` modulo 2³²."""
        if not self.rows:
            return
        _fill_cells(self._cells, number % NUMBER_LIMIT)
        edges = self._row_edges
        for row in range(_ROWS):
            # mode="clip" writes straight into `out`; the default goes through a buffer of its own.
            np.take(self._levels, self._cells[row], out=self._cell_line, mode="clip")
            np.take(self._cell_line, self._column_of_pixel, out=self._line, mode="clip")
            luma[edges[row] : edges[row + 1]] = self._line


def read_bar_code(rgb: npt.NDArray[Any]) -> int | None:
    """Return the number in a picture, or None when it cannot be read for sure.

    Args:
        rgb: the picture's rectangle cut out of a screenshot, shape (height, width, 3) or (height, width) for grey,
            values 0–255; scaled to between 0.4 and 3 times its size and misplaced by up to a pixel.
    """
    height, width = rgb.shape[:2]
    if width < _COLUMNS or height < _ROWS:
        return None
    top = rgb[: height * 3 // 4 + 2]
    grey = top.astype(np.float32).mean(axis=2) if top.ndim == 3 else top.astype(np.float32)
    for _, divisor in _CELL_HEIGHT_DIVISORS:
        for shift_y in _SHIFTS_PX:
            for shift_x in _SHIFTS_PX:
                number = _read_at(grey, width / _COLUMNS, height / divisor, shift_x, shift_y)
                if number is not None:
                    return number
    return None


def _divisor(height: int) -> int:
    return next(divisor for least, divisor in _CELL_HEIGHT_DIVISORS if height >= least)


def _fill_cells(cells: npt.NDArray[np.uint8], number: int) -> None:
    payload = number.to_bytes(4, "big")
    code = payload + zlib.crc32(payload).to_bytes(4, "big")
    cells[:, 0] = _LEFT_GUARD
    cells[:, -1] = 1 - _LEFT_GUARD
    inner = np.concatenate([np.unpackbits(np.frombuffer(code, np.uint8)), _TAIL_GUARD])
    cells[:, 1:-1] = inner.reshape(_ROWS, _COLUMNS - 2)


def _read_at(
    grey: npt.NDArray[np.float32], cell_width: float, cell_height: float, shift_x: float, shift_y: float
) -> int | None:
    cells = _sample_cells(grey, cell_width, cell_height, shift_x, shift_y)
    if cells is None:
        return None
    left, right = _LEFT_GUARD == 1, _LEFT_GUARD == 0
    white = np.concatenate([cells[left, 0], cells[right, -1]]).mean()
    black = np.concatenate([cells[right, 0], cells[left, -1]]).mean()
    if white - black < _LEAST_CONTRAST:
        return None
    level = (cells - black) / (white - black) - 0.5
    if np.abs(level).min() < _GREY_ZONE_RATIO:
        return None
    return _number_of((level > 0).astype(np.uint8))


def _sample_cells(
    grey: npt.NDArray[np.float32], cell_width: float, cell_height: float, shift_x: float, shift_y: float
) -> npt.NDArray[np.float32] | None:
    y = _sample_positions(_ROWS, cell_height, shift_y)
    x = _sample_positions(_COLUMNS, cell_width, shift_x)
    if y[-1] >= grey.shape[0]:
        return None
    x = np.clip(x, 0, grey.shape[1] - 1)
    samples = grey[np.maximum(y, 0)[:, None], x].reshape(_ROWS, len(y) // _ROWS, _COLUMNS, len(x) // _COLUMNS)
    cells: npt.NDArray[np.float32] = samples.mean(axis=(1, 3))
    return cells


def _sample_positions(cells: int, cell_px: float, shift_px: float) -> npt.NDArray[np.intp]:
    inside = _CENTRE if cell_px < _LEAST_AVERAGED_CELL_PX else _AROUND_CENTRE
    positions: npt.NDArray[np.float64] = (np.arange(cells)[:, None] + inside) * cell_px + shift_px
    return positions.ravel().astype(np.intp)


def _number_of(cells: npt.NDArray[np.uint8]) -> int | None:
    inner = cells[:, 1:-1].ravel()
    guards_right = (
        np.array_equal(cells[:, 0], _LEFT_GUARD)
        and np.array_equal(cells[:, -1], 1 - _LEFT_GUARD)
        and np.array_equal(inner[64:], _TAIL_GUARD)
    )
    if not guards_right:
        return None
    code = np.packbits(inner[:64]).tobytes()
    payload, check = code[:4], code[4:]
    return int.from_bytes(payload, "big") if zlib.crc32(payload).to_bytes(4, "big") == check else None
