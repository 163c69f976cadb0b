"""Where an axis has its ticks and how they read."""

from __future__ import annotations

import math
from typing import Final

_STEPS: Final = (1.0, 2.0, 2.5, 5.0, 10.0)
_TIME_STEPS_S: Final = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600)


def value_ticks(low: float, high: float, most: int) -> list[float]:
    """Return about `most` round values from `low` to `high`; both ends where there is room for one only."""
    span = high - low
    if not span > 0 or most < 1:
        return []
    decade = 10.0 ** math.floor(math.log10(span / most))
    step = next(step * decade for step in _STEPS if span / (step * decade) <= most)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = [index * step for index in range(first, last + 1)]
    return ticks if len(ticks) > 1 else [low, high]


def tick_text(value: float) -> str:
    """Return a tick's label, without digits that mean nothing."""
    return f"{value:.6g}"


def time_ticks(start_s: float, end_s: float, most: int) -> list[float]:
    """Return at most `most` round instants in a stretch of run time, in seconds, multiples of a step a person reads."""
    span_s = end_s - start_s
    if not span_s > 0 or most < 1:
        return []
    step_s = next((step for step in _TIME_STEPS_S if span_s / step <= most), span_s)
    first, last = math.ceil(start_s / step_s - 1e-9), math.floor(end_s / step_s + 1e-9)
    return [index * step_s for index in range(first, last + 1)]


def time_text(time_s: float, span_s: float) -> str:
    """Return a run time as text: `12.5 s` in short stretches, `3:07` or `1:02:15` in long ones."""
    if span_s < 60:
        decimals = 0 if span_s >= 5 else (1 if span_s >= 0.5 else 2)
        return f"{time_s:.{decimals}f} s"
    seconds = round(time_s)
    hours, minutes = divmod(seconds // 60, 60)
    return f"{hours}:{minutes:02d}:{seconds % 60:02d}" if hours else f"{minutes}:{seconds % 60:02d}"
