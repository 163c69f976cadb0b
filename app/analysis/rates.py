"""Frame rates from intervals in ms without NaN. "1 % low" has no single meaning: each function's name says which."""

from __future__ import annotations

import math

import numpy as np

from app.analysis.array_types import FloatArray
from app.analysis.summary import percentile
from app.core.metrics import FEWEST_SAMPLES


def fps_average(interval_ms: FloatArray) -> float:
    """Return N ÷ sum of the intervals, per second; NaN of fewer than two."""
    return _per_second(interval_ms.mean()) if len(interval_ms) >= 2 else math.nan


def fps_p1(interval_ms: FloatArray) -> float:
    """Return 1000 ÷ P99 of the intervals; NaN of fewer than 100."""
    return _per_second(percentile(interval_ms, 0.99)) if len(interval_ms) >= FEWEST_SAMPLES["p99"] else math.nan


def fps_low_1pct_mean(interval_ms: FloatArray) -> float:
    """Return 1000 ÷ mean of the slowest ceil(0.01·N) intervals; NaN of fewer than two.

    Exactly that many: intervals on a display's grid are all ties, and a rule "at or above the quantile" would take
    every one of them in.
    """
    n = len(interval_ms)
    if n < 2:
        return math.nan
    slowest = -(-n // 100)
    return _per_second(np.partition(interval_ms, n - slowest)[n - slowest :].mean())


def fps_low_1pct_time(interval_ms: FloatArray) -> float:
    """Return 1000 ÷ the interval at which the slowest, added up, reach 1 % of the total time; NaN of fewer than two."""
    if len(interval_ms) < 2:
        return math.nan
    slowest_first = np.sort(interval_ms)[::-1]
    added = np.cumsum(slowest_first)
    return _per_second(slowest_first[np.searchsorted(added, 0.01 * added[-1])])


def _per_second(interval_ms: float) -> float:
    return 1e3 / float(interval_ms) if interval_ms > 0 else math.nan
