"""Thin a curve to what the pixels can show, without losing a spike or closing a gap."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def decimate_min_max(x: FloatArray, y: FloatArray, bin_width: float) -> tuple[FloatArray, FloatArray]:
    """Keep, of every bin, the smallest and the largest value and one NaN if there is one.

    Bins lie on the absolute grid `n * bin_width`, so that a scrolling curve keeps its shape instead of shimmering.
    The result is a subset of the input in its order: at most three points a bin.

    Args:
        x: ascending abscissa, no NaN.
        y: ordinate of the same length; NaN marks a gap.
        bin_width: width of one pixel column in units of `x`, positive.

    Returns:
        The kept points; the input itself when it holds no more than three points a bin.
    """
    if x.size < 4:
        return x, y
    bins = np.floor(x / bin_width)
    starts = np.flatnonzero(np.concatenate(([True], bins[1:] != bins[:-1])))
    if x.size <= 3 * starts.size:
        return x, y
    bin_of = np.repeat(np.arange(starts.size), np.diff(np.append(starts, x.size)))
    gap = np.isnan(y)
    kept = np.concatenate(
        (
            _first_in_bin(np.where(gap, np.inf, y), np.minimum, starts, bin_of, ~gap),
            _first_in_bin(np.where(gap, -np.inf, y), np.maximum, starts, bin_of, ~gap),
            _first_of_each(np.flatnonzero(gap), bin_of),
        )
    )
    kept = np.unique(kept)
    return x[kept], y[kept]


def _first_in_bin(
    values: FloatArray,
    extremum: np.ufunc,
    starts: npt.NDArray[np.intp],
    bin_of: npt.NDArray[np.intp],
    valid: npt.NDArray[np.bool_],
) -> npt.NDArray[np.intp]:
    reached = (values == extremum.reduceat(values, starts)[bin_of]) & valid
    return _first_of_each(np.flatnonzero(reached), bin_of)


def _first_of_each(indices: npt.NDArray[np.intp], bin_of: npt.NDArray[np.intp]) -> npt.NDArray[np.intp]:
    if not indices.size:
        return indices
    bins = bin_of[indices]
    return indices[np.concatenate(([True], bins[1:] != bins[:-1]))]
