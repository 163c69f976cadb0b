"""Running standard deviation over a stretch of time, for the jitter curve."""

from __future__ import annotations

import numpy as np

from widgets.decimation import FloatArray


def running_sd(time_s: FloatArray, values: FloatArray, window_s: float, first: int) -> FloatArray:
    """Return, for each point from `first` on, the standard deviation (N−1) of the values in the window that ends there.

    A window never reaches across a NaN: the deviation begins anew behind a gap. Fewer than two values give NaN.

    Args:
        time_s: ascending. values: of the same length; NaN is a gap.
        window_s: length of the window. first: points before it only fill the first windows.
    """
    gap = np.isnan(values)
    centre = float(np.nanmean(values)) if not gap.all() else 0.0  # sums of squares lose digits far from zero
    shifted = np.where(gap, 0.0, values - centre)
    total = np.concatenate(([0.0], np.cumsum(shifted)))
    squares = np.concatenate(([0.0], np.cumsum(shifted * shifted)))
    index = np.arange(len(values))
    behind_gap = np.maximum.accumulate(np.where(gap, index + 1, 0))
    start = np.maximum(np.searchsorted(time_s, time_s - window_s, side="right"), behind_gap)[first:]
    end = index[first:] + 1
    count = (end - start).astype(np.float64)
    variance = np.full(len(count), np.nan)
    enough = count >= 2
    spread = squares[end] - squares[start] - (total[end] - total[start]) ** 2 / np.maximum(count, 1)
    np.divide(spread, count - 1, out=variance, where=enough)
    deviation: FloatArray = np.sqrt(np.maximum(variance, 0.0, out=variance, where=enough))
    return deviation
