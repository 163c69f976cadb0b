"""The I-frame guard: bitrate down on key-frame bursts, additive recovery (AIMD), as a pure decision."""

from __future__ import annotations

from typing import Final, NamedTuple

from app.config.governors import IframeGuard
from app.core.clock import NS_PER_S

CALM_PART: Final = 0.5
"""Part of `high_water` below which the buffer is calm. Between the two nothing moves: without that gap a fill near
the mark would lower and raise the bitrate in turn."""

RECOVERY_PERIOD_NS: Final = NS_PER_S
"""The ratio regains one `recover_step` in this time."""

_LONG_AGO_NS: Final = -(2**62)


class GuardState(NamedTuple):
    """Where the guard stands.

    Attributes:
        bitrate_ratio: part of the full bitrate that the encoder may use.
        lowered_ns: when it was last lowered. moved_ns: when it last moved at all.
        burst_ns: when a key frame last passed the high-water mark, whether or not anything could be done about it.
    """

    bitrate_ratio: float = 1.0
    lowered_ns: int = _LONG_AGO_NS
    moved_ns: int = _LONG_AGO_NS
    burst_ns: int = _LONG_AGO_NS


def next_guard_state(
    rule: IframeGuard, state: GuardState, fill_ratio: float, key_frame: bool, gop_ns: int, now_ns: int
) -> GuardState:
    """Return the state after a packet came out of the encoder.

    A key frame that leaves the buffer above `high_water` multiplies the ratio by `decrease`, at most once a GOP and
    never below `floor_ratio`: an encoder needs a key frame under the new bitrate before that bitrate can be judged, and
    where a change itself forces one (NVENC in FFmpeg) a faster rule would feed its own bursts. The ratio regains
    `recover_step` a second once the buffer is calm and a whole GOP has passed without a burst.

    Args:
        fill_ratio: fill of the output buffer with this packet in it.
        gop_ns: time from key frame to key frame; the cool-down.
        now_ns: CLOCK_MONOTONIC.
    """
    if not rule.enabled:
        return state._replace(bitrate_ratio=1.0)
    state = state._replace(bitrate_ratio=max(state.bitrate_ratio, rule.floor_ratio))
    if key_frame and fill_ratio > rule.high_water:
        return _lowered(rule, state._replace(burst_ns=now_ns), gop_ns, now_ns)
    if fill_ratio < CALM_PART * rule.high_water and _may_recover(state, gop_ns, now_ns):
        return _raised(rule, state, now_ns)
    return state


def _lowered(rule: IframeGuard, state: GuardState, gop_ns: int, now_ns: int) -> GuardState:
    ratio = max(rule.floor_ratio, state.bitrate_ratio * rule.decrease)
    if now_ns - state.lowered_ns < gop_ns or ratio >= state.bitrate_ratio:
        return state
    return state._replace(bitrate_ratio=ratio, lowered_ns=now_ns, moved_ns=now_ns)


def _may_recover(state: GuardState, gop_ns: int, now_ns: int) -> bool:
    quiet_since_ns = max(state.burst_ns, state.lowered_ns)
    return now_ns - quiet_since_ns >= gop_ns and now_ns - state.moved_ns >= RECOVERY_PERIOD_NS


def _raised(rule: IframeGuard, state: GuardState, now_ns: int) -> GuardState:
    ratio = min(1.0, state.bitrate_ratio + rule.recover_step)
    return state if ratio == state.bitrate_ratio else state._replace(bitrate_ratio=ratio, moved_ns=now_ns)
