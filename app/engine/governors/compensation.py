"""Dynamic frame compensation (DFC): a lower, even rate while the source delivers late."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Final, NamedTuple

from app.config.governors import DelayTable, FrameCompensation
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.governors.verdict import Action, Verdict

DWELL_NS: Final = NS_PER_S
"""Least time between two moves. The p95 of 256 frames slides on with every frame; the rate follows in steps."""

NO_CEILING_HZ: Final = math.inf


class CompensationState(NamedTuple):
    """Where the compensation of one source stands.

    Attributes:
        ceiling_hz: the ceiling; infinite for none.
        set_at_ms: the p95 delay that set it, within the table; infinite when any delay may raise it.
        moved_ns: when it last moved, CLOCK_MONOTONIC; `NO_STAMP_NS` when it never did.
    """

    ceiling_hz: float = NO_CEILING_HZ
    set_at_ms: float = math.inf
    moved_ns: int = NO_STAMP_NS


def rate_of_delay(table: DelayTable, delay_ms: float) -> float:
    """Return the rate that the table gives for a p95 delay, fps: linear between its rows, clamped at its ends.

    It never rises with the delay. (A formula in circulation, `clamp(30, 60·(0.3 + 0.4·(p95 − 80 ms)/120 ms), 60)`,
    does: it gives 30 fps at 80 ms and 60 fps from 300 ms on. A test holds the two apart.)
    """
    first_ms, first_fps = table[0]
    if delay_ms <= first_ms:
        return first_fps
    for (low_ms, low_fps), (high_ms, high_fps) in pairwise(table):
        if delay_ms < high_ms:
            part = (delay_ms - low_ms) / (high_ms - low_ms)
            return low_fps + part * (high_fps - low_fps)
    return table[-1][1]


def compensation_ceiling(table: DelayTable, delay_ms: float) -> float:
    """Return the ceiling for a p95 delay, fps; none (infinite) up to the delay of the first row.

    Up to there the source counts as in time, so a source of 120 fps is not held to the 60 fps of the first row. Above
    it the table rules.
    """
    return NO_CEILING_HZ if delay_ms <= table[0][0] else rate_of_delay(table, delay_ms)


def compensate(
    rule: FrameCompensation, state: CompensationState, p95_ms: float | None, now_ns: int
) -> Verdict[CompensationState]:
    """Return the next ceiling of the compensation.

    It falls with a delay that asks for less. It rises only after the delay has fallen `hysteresis_ms` below the one
    that set it, or to half of that: no delay falls below 0, so a longer hysteresis could not be met. It moves at most
    once in `DWELL_NS`.

    Args:
        p95_ms: p95 of the source's I/O delay above the minimum of its window; None or NaN (too few frames) leaves the
            ceiling where it is.
        now_ns: CLOCK_MONOTONIC.
    """
    if p95_ms is None or math.isnan(p95_ms) or now_ns - state.moved_ns < DWELL_NS:
        return Verdict(state)
    ceiling_hz = compensation_ceiling(rule.table, p95_ms)
    moved = CompensationState(ceiling_hz, min(p95_ms, rule.table[-1][0]), now_ns)
    if ceiling_hz < state.ceiling_hz:
        return Verdict(moved, Action.LOWER, _sentence(rule, p95_ms, ceiling_hz))
    if ceiling_hz == state.ceiling_hz or p95_ms > recovery_ms(rule, state.set_at_ms):
        return Verdict(state)
    action = Action.RELEASE if ceiling_hz == NO_CEILING_HZ else Action.RAISE
    return Verdict(moved, action, _sentence(rule, p95_ms, ceiling_hz))


def recovery_ms(rule: FrameCompensation, set_at_ms: float) -> float:
    """Return the p95 delay down to which it must fall before a ceiling that was set at `set_at_ms` rises."""
    return max(set_at_ms - rule.hysteresis_ms, set_at_ms / 2)


def under_new_rule(state: CompensationState) -> CompensationState:
    """Return the state with which another rule goes on: kept for now, free to move either way at the next look."""
    return CompensationState(state.ceiling_hz)


def _sentence(rule: FrameCompensation, p95_ms: float, ceiling_hz: float) -> str:
    ceiling = "no ceiling" if ceiling_hz == NO_CEILING_HZ else f"ceiling {ceiling_hz:.4g} fps"
    return f"p95 of the source's I/O delay {p95_ms:.1f} ms over {rule.window} frames: {ceiling}"
