"""Axis ends that are round numbers and stay put: a range that changes each redraw costs the axis and tells nothing."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

_STEPS: Final = (1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0)
_SHRINK_RATIO: Final = 0.85


class AxisRange(NamedTuple):
    """Both ends of a vertical axis, in its unit."""

    low: float
    high: float


def round_up(value: float) -> float:
    """Return the next of 1, 1.5, 2, 2.5, 3, 4, 5, 6, 8 × 10ⁿ that is not below `value` (positive)."""
    decade = 10.0 ** math.floor(math.log10(value))
    return next(step * decade for step in _STEPS if step * decade >= value * (1 - 1e-9))


def range_from_zero(current: AxisRange, largest: float, least_high: float) -> AxisRange:
    """Return the range from 0 that shows `largest`; it grows at once and shrinks only when well inside a smaller one.

    Args:
        current: the range shown now.
        largest: largest visible value; NaN leaves the range alone.
        least_high: the range never ends below this.
    """
    if math.isnan(largest):
        return current
    wanted = round_up(max(largest * 1.05, least_high))
    if wanted < current.high and largest * 1.05 > wanted * _SHRINK_RATIO and wanted > least_high:
        return current
    return AxisRange(0.0, wanted)


def range_around(current: AxisRange, lowest: float, highest: float, step: float) -> AxisRange:
    """Return a range in whole `step`s with room on both sides, kept while the values stay inside its inner half."""
    if math.isnan(lowest) or math.isnan(highest):
        return current
    low = math.floor((lowest - step / 4) / step) * step
    high = math.ceil((highest + step / 4) / step) * step
    wanted = AxisRange(low, max(high, low + 2 * step))
    fits = current.low <= lowest and highest <= current.high
    return current if fits and current.high - current.low <= wanted.high - wanted.low + step else wanted
