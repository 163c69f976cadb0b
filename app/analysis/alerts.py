"""When the tool speaks up: losses that are too many, and how far intervals lie from the nominal one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from app.analysis.array_types import FloatArray
from app.config.sections import Alerts
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.ipc.frame_ring import FrameCounters

NOT_ALARMING: Final = frozenset({Fate.DECIMATED, Fate.SUPERSEDED})
"""Losses that were asked for: a governor or `preview_fps` drops evenly, and a mode that shows the newest replaces."""


class AlertSeverity(StrEnum):
    """How bad it is."""

    WARNING = "warning"
    CRITICAL = "critical"


class DropAlert(NamedTuple):
    """An alert about lost frames; `text` is a sentence with the numbers and the limit that they passed."""

    severity: AlertSeverity
    text: str


class LossSample(NamedTuple):
    """The loss counter at one instant: CLOCK_MONOTONIC, and the alarming losses of the run so far."""

    at_ns: int
    lost_total: int


class AlertState(NamedTuple):
    """When each limit was last seen passed, CLOCK_MONOTONIC; `NO_STAMP_NS` when it never was."""

    warned_ns: int = NO_STAMP_NS
    critical_ns: int = NO_STAMP_NS


class AlertVerdict(NamedTuple):
    """The next state, and the alert to give now, if any."""

    state: AlertState
    alert: DropAlert | None = None


class IntervalBands(NamedTuple):
    """Shares of N intervals by their distance from the nominal one, 0–1 and 1 together; NaN of fewer than two."""

    low: float
    middle: float
    high: float
    n: int


def alarming_losses(counters: FrameCounters) -> int:
    """Return how many frames were lost so far that nobody asked to lose."""
    return sum(counters.lost[fate] for fate in LOSS_CLASSES if fate not in NOT_ALARMING)


def drop_alert(rule: Alerts, state: AlertState, samples: Sequence[LossSample]) -> AlertVerdict:
    """Return whether the losses up to the last sample call for an alert.

    Critical are `drop_critical_in_1s` losses or more within one second, a warning is worth a rate above
    `drop_warn_per_s` over `drop_window_s`. An alert is given when its limit is passed and has not been for
    `drop_window_s`; so it is not repeated while it lasts, nor when the rate swings about the limit. A critical alert
    includes the warning, and after a warning a critical one is still given.

    Losses count from one sample to another, so that those between them surely fell within the time: a coarse counter
    alerts late or not at all, but never wrongly. Several samples a second are enough.

    Args:
        samples: of one run, oldest first, at least `drop_window_s` of them or all there are; the counter never falls.
    """
    if not samples:
        return AlertVerdict(state)
    now_ns = samples[-1].at_ns
    in_second, in_window = _lost_within(samples, NS_PER_S), _lost_within(samples, _window_ns(rule))
    critical = in_second >= rule.drop_critical_in_1s
    warned = critical or in_window / rule.drop_window_s > rule.drop_warn_per_s
    alert = None
    if critical and _is_armed(rule, state.critical_ns, now_ns):
        alert = DropAlert(AlertSeverity.CRITICAL, _critical_text(rule, in_second))
    elif warned and _is_armed(rule, state.warned_ns, now_ns):
        alert = DropAlert(AlertSeverity.WARNING, _warning_text(rule, in_window))
    return AlertVerdict(
        AlertState(now_ns if warned else state.warned_ns, now_ns if critical else state.critical_ns), alert
    )


def interval_bands(interval_ms: FloatArray, nominal_ms: float, rule: Alerts) -> IntervalBands:
    """Return how many of the intervals lie near the nominal one, farther off, and far off.

    Args:
        interval_ms: intervals; NaN (missing) is left out.
        nominal_ms: what they should be; NaN when unknown, and then nothing is known of the bands.
    """
    bands = band_of(interval_ms, nominal_ms, rule)
    known = bands[bands >= 0]
    if len(known) < 2:
        return IntervalBands(math.nan, math.nan, math.nan, len(known))
    low, middle, high = (float(share) for share in np.bincount(known, minlength=3) / len(known))
    return IntervalBands(low, middle, high, len(known))


def band_of(interval_ms: FloatArray, nominal_ms: float, rule: Alerts) -> npt.NDArray[np.int8]:
    """Return the band of each interval: 0 low, 1 middle, 2 high; −1 where it or the nominal one is missing.

    A deviation on an edge belongs to the upper band: with edges at 500 and 2000 µs, 500 is middle and 2000 is high.
    Deviations are taken in whole ns, as the stamps are, so that rounding cannot push an edge into the lower band.
    """
    deviation_ns = np.abs(interval_ms - nominal_ms) * NS_PER_MS
    known = np.isfinite(deviation_ns)
    edges_ns = [rule.band_low_us * 1000, rule.band_high_us * 1000]
    bands = np.searchsorted(edges_ns, np.rint(np.where(known, deviation_ns, 0.0)), side="right")
    return np.where(known, bands, -1).astype(np.int8)


def _window_ns(rule: Alerts) -> int:
    return round(rule.drop_window_s * NS_PER_S)


def _is_armed(rule: Alerts, seen_ns: int, now_ns: int) -> bool:
    return seen_ns == NO_STAMP_NS or now_ns - seen_ns > _window_ns(rule)


def _lost_within(samples: Sequence[LossSample], duration_ns: int) -> int:
    last = samples[-1]
    first = next(sample for sample in samples if sample.at_ns >= last.at_ns - duration_ns)
    return last.lost_total - first.lost_total


def _critical_text(rule: Alerts, lost: int) -> str:
    return f"{lost} frames lost within a second; {rule.drop_critical_in_1s} are critical (alerts.drop_critical_in_1s)"


def _warning_text(rule: Alerts, lost: int) -> str:
    return (
        f"{lost} frames lost in {rule.drop_window_s:g} s, {lost / rule.drop_window_s:.3g} a second; more than "
        f"{rule.drop_warn_per_s:g} a second are worth a warning (alerts.drop_warn_per_s)"
    )
