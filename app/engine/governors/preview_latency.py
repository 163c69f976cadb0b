"""`preview_latency: auto`: a longer playout delay while frames come late, and slowly a shorter one when they do not."""

from __future__ import annotations

from typing import Final, NamedTuple

from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.engine.governors.verdict import Action, Verdict

LONGEST_LATENCY_NS: Final = 500 * NS_PER_MS
"""The upper bound of `render_latency_ms` itself."""

MOST_EXTRA_NS: Final = 50 * NS_PER_MS
"""Most that is ever added to `render_latency_ms`: three refreshes of 60 Hz. Who needs more should know and set it."""

DWELL_NS: Final = NS_PER_S
"""Least time between two moves, and the time over which trouble is counted."""

TROUBLE_TO_ACT: Final = 3
"""Late frames and anomalies within `DWELL_NS` that raise the delay; one alone is an accident."""

RECOVERY_STEP_NS: Final = NS_PER_MS
"""The delay falls by at most this much a second, as BALANCED moves: motion stays even."""

QUIET_NS: Final = 10 * NS_PER_S
"""Time without any trouble before the delay falls."""

LONGEST_QUIET_NS: Final = 320 * NS_PER_S
"""Each time that trouble comes back, twice the quiet is waited for, up to this."""


class LatencyBounds(NamedTuple):
    """Within what the delay may be moved.

    Attributes:
        most_extra_ns: most that may be added to the configured delay.
        step_ns: what one raise adds: a refresh, because less cannot help a frame at a fixed refresh.
    """

    most_extra_ns: int
    step_ns: int


class LatencyState(NamedTuple):
    """Where the controller stands.

    Attributes:
        extra_ns: added to the configured delay now.
        trouble: late frames and anomalies since `since_ns`.
        since_ns: when counting began, CLOCK_MONOTONIC; `NO_STAMP_NS` before the first look.
        calm_ns: when the last trouble was seen, or counting began.
        quiet_ns: how long it must stay calm before the delay falls.
        falling: the last move was a fall.
    """

    extra_ns: int = 0
    trouble: int = 0
    since_ns: int = NO_STAMP_NS
    calm_ns: int = NO_STAMP_NS
    quiet_ns: int = QUIET_NS
    falling: bool = False


def latency_bounds(
    configured_ns: int, queue_depth: int, source_interval_ns: int | None, refresh_ns: int | None
) -> LatencyBounds:
    """Return the bounds at a configuration.

    A frame waits for its due time in the frame queue, so no delay helps that the queue cannot hold (depth × interval of
    the source, Little's law): beyond it the queue overflows instead.

    Args:
        configured_ns: `render_latency_ms`.
        queue_depth: `frame_queue_depth`.
        source_interval_ns: of the fastest source; None when unknown.
        refresh_ns: refresh period; None when unknown.
    """
    highest_ns = min(LONGEST_LATENCY_NS, configured_ns + MOST_EXTRA_NS)
    if source_interval_ns is not None:
        highest_ns = min(highest_ns, queue_depth * source_interval_ns)
    step_ns = refresh_ns or source_interval_ns or round(NS_PER_S / 60)
    return LatencyBounds(max(0, highest_ns - configured_ns), step_ns)


def adjust_latency(bounds: LatencyBounds, state: LatencyState, trouble: int, now_ns: int) -> Verdict[LatencyState]:
    """Return the next extra delay.

    `TROUBLE_TO_ACT` late frames or anomalies within a second raise it by a step. After `quiet_ns` without a single one
    it falls by `RECOVERY_STEP_NS` a second. If trouble comes back the next fall waits twice as long, so that a delay
    which is just too short is not tried over and over. It moves at most once in `DWELL_NS` and stays within the bounds.

    A verdict without a sentence may still move: a fall goes on for as long as it stays calm, and is told once.

    Args:
        trouble: late frames and anomalies since the last call.
        now_ns: CLOCK_MONOTONIC.
    """
    if state.since_ns == NO_STAMP_NS:
        return Verdict(state._replace(since_ns=now_ns, calm_ns=now_ns))
    state = _counted(bounds, state, trouble, now_ns)
    if now_ns - state.since_ns < DWELL_NS:
        return Verdict(state)
    seen, state = state.trouble, state._replace(trouble=0, since_ns=now_ns)
    if seen >= TROUBLE_TO_ACT:
        return _raised(bounds, state, seen)
    if now_ns - state.calm_ns >= state.quiet_ns:
        return _lowered(state)
    return Verdict(state)


def _counted(bounds: LatencyBounds, state: LatencyState, trouble: int, now_ns: int) -> LatencyState:
    return state._replace(
        extra_ns=min(state.extra_ns, bounds.most_extra_ns),
        trouble=state.trouble + trouble,
        calm_ns=now_ns if trouble else state.calm_ns,
    )


def _raised(bounds: LatencyBounds, state: LatencyState, seen: int) -> Verdict[LatencyState]:
    extra_ns = min(state.extra_ns + bounds.step_ns, bounds.most_extra_ns)
    if extra_ns == state.extra_ns:
        return Verdict(state)
    quiet_ns = min(2 * state.quiet_ns, LONGEST_QUIET_NS) if state.falling else state.quiet_ns
    raised = state._replace(extra_ns=extra_ns, quiet_ns=quiet_ns, falling=False)
    longest = ", the most it may" if extra_ns == bounds.most_extra_ns else ""
    return Verdict(
        raised, Action.RAISE, f"{seen} frames late or strangely slow within a second: {_added(raised)}{longest}"
    )


def _lowered(state: LatencyState) -> Verdict[LatencyState]:
    extra_ns = max(0, state.extra_ns - RECOVERY_STEP_NS)
    if extra_ns == state.extra_ns:
        return Verdict(state)
    lowered = state._replace(extra_ns=extra_ns, falling=True)
    if extra_ns == 0:
        return Verdict(lowered, Action.RELEASE, "no frame late for long enough: render_latency_ms as configured")
    quiet_s = state.quiet_ns // NS_PER_S
    begins = f"no frame late for {quiet_s} s: {_added(lowered)}, and 1 ms less each second that stays so"
    return Verdict(lowered, Action.LOWER, "" if state.falling else begins)


def _added(state: LatencyState) -> str:
    return f"render_latency_ms + {state.extra_ns / NS_PER_MS:.1f} ms"
