"""The display's refreshes as measured from display times: period and phase, robust to skipped refreshes and jitter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from app.core.clock import NS_PER_MS, NS_PER_S

STAMPS_KEPT: Final = 256
LEAST_STAMPS: Final = 24
GAP_NS: Final = 500 * NS_PER_MS
"""A pause: the refreshes that passed in it cannot be counted by a period known to a part in a thousand."""

FASTEST_PERIOD_NS: Final = NS_PER_MS
"""No display refreshes faster than 1 kHz."""

MOST_REFRESHES: Final = 12
"""Longest interval, in refreshes, that a steady source is expected to leave between two frames."""

NEAR_START: Final = 0.12
"""How far the measured period may be from the one that the system names: headless Weston 10 is 5 % off."""

SCATTER: Final = 0.15
"""Largest distance from whole refreshes, as a part of the period, at the 75th percentile; anything fits to 0.375."""

STEADY: Final = 0.05
"""Largest spread of the stamps, as a part of the period, of a steady grid. Real displays keep to a hundredth; headless
compositors and variable refresh follow the source instead."""

MOVED: Final = 1e-3
MOVED_UNSTEADY: Final = 0.05

Floats = npt.NDArray[np.float64]


class RefreshEstimate(NamedTuple):
    """A refresh grid measured.

    Attributes:
        period_ns: refresh period. phase_ns: time of the refresh nearest to the newest stamp.
        stamp_count: how many display times it rests on. spread_ns: their median distance from the grid.
    """

    period_ns: float
    phase_ns: int
    stamp_count: int
    spread_ns: float


def estimate_refresh(stamps: Sequence[int], start_period_ns: float | None = None) -> RefreshEstimate | None:
    """Return the refresh grid on which display times lie.

    A source slower than the display leaves whole refreshes out; the period is then the one that divides all intervals.
    Where several do (30 frames a second on 60 Hz and on 90 Hz look the same), the one nearest to `start_period_ns` is
    taken, else the longest.

    Args:
        stamps: display times, oldest first, CLOCK_MONOTONIC ns.
        start_period_ns: what the system says (RandR, the compositor); None when it says nothing.

    Returns:
        None when there are too few, or when they lie on no grid (a display with variable refresh).
    """
    times = _newest_run(np.asarray(stamps, np.int64))
    if len(times) < LEAST_STAMPS:
        return None
    intervals = np.diff(times).astype(np.float64)
    period_ns = _choose_period(intervals, start_period_ns)
    if period_ns is None:
        return None
    return _fit(times, np.maximum(0, np.rint(intervals / period_ns)), period_ns)


def _newest_run(times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the stamps since the last pause."""
    gaps = np.flatnonzero(np.diff(times) > GAP_NS)
    return times[gaps[-1] + 1 :] if len(gaps) else times


def _choose_period(intervals: Floats, start_period_ns: float | None) -> float | None:
    base_ns = float(np.percentile(intervals, 10))
    tried = (_refine(intervals, base_ns / divisor) for divisor in range(1, MOST_REFRESHES + 1))
    fitting = [period_ns for period_ns in tried if period_ns is not None]
    if start_period_ns is not None:
        near = [each for each in fitting if _is_multiple(each, start_period_ns, 1)]
        if near:
            return min(near, key=lambda each: abs(each - start_period_ns))
        # Twice the period by name, and the period itself does not fit: a source of half the rate, shown unevenly.
        fitting = [each for each in fitting if not _is_multiple(each, start_period_ns)]
    return fitting[0] if fitting else None


def _is_multiple(period_ns: float, start_period_ns: float, count: int | None = None) -> bool:
    """Tell whether a period is about `count` times another; without `count`, any whole number of times from 2 on."""
    ratio = period_ns / start_period_ns
    times = count if count is not None else max(2, round(ratio))
    return abs(ratio - times) <= NEAR_START * times


def _refine(intervals: Floats, period_ns: float) -> float | None:
    """Return the median of the intervals divided by their whole numbers of refreshes; None where they do not fit."""
    if period_ns < FASTEST_PERIOD_NS / 2:
        return None
    counts = np.rint(intervals / period_ns)
    counted = counts >= 1
    if not counted.any():
        return None
    refined_ns = float(np.median(intervals[counted] / counts[counted]))
    scatter = np.abs(intervals - np.rint(intervals / refined_ns) * refined_ns) / refined_ns
    fits = refined_ns >= FASTEST_PERIOD_NS and float(np.percentile(scatter, 75)) <= SCATTER
    return refined_ns if fits else None


def _fit(times: npt.NDArray[np.int64], counts: Floats, period_ns: float) -> RefreshEstimate | None:
    numbers = np.concatenate(([0.0], np.cumsum(counts)))
    elapsed = (times - times[-1]).astype(np.float64)
    # Slopes between stamps half the window apart (Theil–Sen over those pairs): a late stamp moves two of them.
    half = len(times) // 2
    spans = numbers[half:] - numbers[:-half]
    moved = spans > 0
    if not moved.any():
        return None
    period_ns = float(np.median((elapsed[half:] - elapsed[:-half])[moved] / spans[moved]))
    distances = elapsed - (numbers - numbers[-1]) * period_ns
    offset_ns = float(np.median(distances))
    spread_ns = float(np.median(np.abs(distances - offset_ns)))
    if spread_ns > SCATTER * period_ns:
        return None
    return RefreshEstimate(period_ns, int(times[-1]) + round(offset_ns), len(times), spread_ns)


def refresh_hz(estimate: RefreshEstimate) -> float:
    """Return the refresh rate in Hz."""
    return NS_PER_S / estimate.period_ns


def is_steady(estimate: RefreshEstimate) -> bool:
    """Tell whether the stamps keep to the grid so well that it is worth aiming at."""
    return estimate.spread_ns <= STEADY * estimate.period_ns


def has_moved(known_hz: float | None, estimate: RefreshEstimate) -> bool:
    """Tell whether a measured rate differs from the known one: by a part in a thousand, or more where it wobbles."""
    part = MOVED if is_steady(estimate) else MOVED_UNSTEADY
    return known_hz is None or abs(refresh_hz(estimate) / known_hz - 1) > part
