"""Bandwidth guard: a lower rate while a measured link or memory bandwidth is nearly used up."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

from app.config.governors import BandwidthGuard
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.governors.verdict import Action, Verdict

HYSTERESIS_RATIO: Final = 0.05
"""The load must lie five points of its limit below the threshold before the rate rises again."""

DWELL_NS: Final = 2 * NS_PER_S
"""Least time between two moves; a PCIe sample lasts 20 ms and swings by itself."""


class BandwidthState(NamedTuple):
    """Where the bandwidth guard stands: whether the rate is reduced, and when it last moved (`NO_STAMP_NS`: never)."""

    reduced: bool = False
    moved_ns: int = NO_STAMP_NS


def bandwidth_ceiling(rule: BandwidthGuard, state: BandwidthState) -> float:
    """Return the ceiling in fps that a state means."""
    return rule.reduced_fps if state.reduced else rule.max_fps


def guard_bandwidth(
    rule: BandwidthGuard, state: BandwidthState, link_ratio: float | None, now_ns: int, link_name: str = "link"
) -> Verdict[BandwidthState]:
    """Return whether the rate is reduced from now on.

    Above the threshold it is. It rises again when the load would lie `HYSTERESIS_RATIO` below the threshold at
    `max_fps`, taking the load to grow with the rate (`recovery_ratio`). Without that look ahead the guard would cause
    what it guards against: a link at 95 % falls to 76 % with the rate, is let go, and stands at 95 % again two seconds
    later, for ever. It moves at most once in `DWELL_NS`.

    Args:
        link_ratio: use of the busiest measured link or memory as a part of its limit; None or NaN (not measured)
            leaves the rate as it is.
        now_ns: CLOCK_MONOTONIC.
        link_name: what was measured, for the sentence.
    """
    if link_ratio is None or math.isnan(link_ratio) or now_ns - state.moved_ns < DWELL_NS:
        return Verdict(state)
    if not state.reduced and link_ratio > rule.threshold_ratio:
        text = f"{link_name} at {link_ratio:.0%} of its limit, above {rule.threshold_ratio:.0%}"
        return Verdict(BandwidthState(True, now_ns), Action.LOWER, f"{text}: ceiling {rule.reduced_fps:g} fps")
    if state.reduced and link_ratio <= recovery_ratio(rule):
        text = f"{link_name} at {link_ratio:.0%} of its limit, not above {recovery_ratio(rule):.0%}"
        return Verdict(BandwidthState(False, now_ns), Action.RAISE, f"{text}: ceiling {rule.max_fps:g} fps")
    return Verdict(state)


def recovery_ratio(rule: BandwidthGuard) -> float:
    """Return the load at the reduced rate below which the full rate is expected to fit."""
    return max(0.0, rule.threshold_ratio - HYSTERESIS_RATIO) * rule.reduced_fps / rule.max_fps
