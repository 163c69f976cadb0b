"""Fewer points for the same picture: a curve keeps the least and greatest of every column, so no spike is lost."""

from __future__ import annotations

import numpy as np

from app.analysis.array_types import FloatArray, IndexArray


def decimate_min_max(x: FloatArray, y: FloatArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """Return at most 2 × `columns` points of a curve that draw the same outline.

    Args:
        x: rising, the same length as `y`, neither with NaN.
        columns: columns of equal width in x, as wide as a pixel or two.
    """
    if len(x) <= 2 * columns:
        return x, y
    keep = np.unique(np.concatenate([_extremes(y, start, end) for start, end in _column_bounds(x, columns)]))
    return x[keep], y[keep]


def decimate_parts(x: FloatArray, y: FloatArray, part: IndexArray, columns: int) -> tuple[FloatArray, FloatArray]:
    """Return a decimated curve of several parts with a NaN between any two, so that a gap is drawn as a gap.

    Args:
        part: number of the part (segment) of each point, rising.
    """
    span = max(float(x[-1] - x[0]), 1e-9) if len(x) else 1.0
    xs: list[FloatArray] = []
    ys: list[FloatArray] = []
    for value in np.unique(part):
        part_x, part_y = x[part == value], y[part == value]
        share = max(2, round(columns * float(part_x[-1] - part_x[0]) / span))
        thin_x, thin_y = decimate_min_max(part_x, part_y, share)
        xs += [thin_x, np.array([np.nan])]
        ys += [thin_y, np.array([np.nan])]
    return (np.concatenate(xs), np.concatenate(ys)) if xs else (x, y)


def thin_marks(x: FloatArray, columns: int) -> FloatArray:
    """Return marks with at most one a column: those that would lie on top of each other are drawn once."""
    if len(x) <= columns:
        return x
    return np.array([x[start] for start, end in _column_bounds(x, columns) if end > start])


def _column_bounds(x: FloatArray, columns: int) -> list[tuple[int, int]]:
    edges = np.linspace(x[0], x[-1], columns + 1)
    starts = np.searchsorted(x, edges[:-1], side="left")
    ends = np.append(starts[1:], len(x))
    return [(int(start), int(end)) for start, end in zip(starts, ends, strict=True) if end > start]


def _extremes(y: FloatArray, start: int, end: int) -> IndexArray:
    column = y[start:end]
    return np.array([start + int(column.argmin()), start + int(column.argmax())], np.intp)
