"""The I-frame guard is bounded, monotone in what it sees, patient, and does not flap on any input."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.config.governors import IframeGuard
from app.core.clock import NS_PER_MS, NS_PER_S
from app.engine.encode.iframe_guard import RECOVERY_PERIOD_NS, GuardState, next_guard_state

GOP_NS = 2 * NS_PER_S
RULE = IframeGuard(enabled=True)

rules = st.builds(
    IframeGuard,
    enabled=st.just(True),
    high_water=st.floats(0.1, 1),
    decrease=st.floats(0.1, 0.99),
    floor_ratio=st.floats(0.05, 1),
    recover_step=st.floats(0.001, 1),
)
Packet = tuple[float, bool, int]
"""Fill with it, key frame, ns since the packet before."""
packets = st.lists(st.tuples(st.floats(0, 3), st.booleans(), st.integers(0, 3 * NS_PER_S)), max_size=200)
gops = st.integers(NS_PER_MS, 10 * NS_PER_S)


def states(rule: IframeGuard, seen: list[Packet], gop_ns: int = GOP_NS) -> list[tuple[int, GuardState]]:
    now_ns, state, passed = 0, GuardState(), []
    for fill, key, elapsed_ns in seen:
        now_ns += elapsed_ns
        state = next_guard_state(rule, state, fill, key, gop_ns, now_ns)
        passed.append((now_ns, state))
    return passed


@given(rules, packets, gops)
def test_the_ratio_stays_between_floor_and_one(rule: IframeGuard, seen: list[Packet], gop_ns: int) -> None:
    assert all(rule.floor_ratio <= state.bitrate_ratio <= 1 for _, state in states(rule, seen, gop_ns))


@given(rules, packets, gops, st.floats(0, 3), st.floats(0, 3), st.booleans(), st.integers(0, 3 * NS_PER_S))
def test_a_fuller_buffer_or_a_key_frame_never_gives_more_bitrate(
    rule: IframeGuard, seen: list[Packet], gop_ns: int, one: float, other: float, key: bool, elapsed_ns: int
) -> None:
    now_ns, state = (states(rule, seen, gop_ns) or [(0, GuardState())])[-1]
    low, high = sorted((one, other))

    def ratio(fill: float, key_frame: bool) -> float:
        return next_guard_state(rule, state, fill, key_frame, gop_ns, now_ns + elapsed_ns).bitrate_ratio

    assert ratio(low, key) >= ratio(high, key)
    assert ratio(low, False) >= ratio(low, True)


@given(rules, packets, gops)
def test_it_does_not_flap_on_any_input(rule: IframeGuard, seen: list[Packet], gop_ns: int) -> None:
    passed = states(rule, seen, gop_ns)
    moves = [
        (now_ns, later.bitrate_ratio - earlier.bitrate_ratio)
        for (_, earlier), (now_ns, later) in itertools.pairwise([(0, GuardState()), *passed])
        if later.bitrate_ratio != earlier.bitrate_ratio
    ]
    lowered = [at_ns for at_ns, step in moves if step < 0]
    raised = [at_ns for at_ns, step in moves if step > 0]
    assert all(later - earlier >= gop_ns for earlier, later in itertools.pairwise(lowered))
    assert all(later - earlier >= RECOVERY_PERIOD_NS for earlier, later in itertools.pairwise(raised))
    for (before_ns, before), (after_ns, after) in itertools.pairwise(moves):
        assert not (before < 0 < after) or after_ns - before_ns >= max(gop_ns, RECOVERY_PERIOD_NS)


@given(rules, packets, gops)
def test_only_a_key_frame_above_the_mark_lowers_and_only_a_calm_buffer_raises(
    rule: IframeGuard, seen: list[Packet], gop_ns: int
) -> None:
    ratios = [1.0, *(state.bitrate_ratio for _, state in states(rule, seen, gop_ns))]
    for (earlier, later), (fill, key, _) in zip(itertools.pairwise(ratios), seen, strict=True):
        assert later >= earlier or (key and fill > rule.high_water)
        assert later <= earlier or fill < rule.high_water / 2


def test_a_burst_takes_away_three_tenths_and_bursts_in_a_row_stop_at_the_floor() -> None:
    every_gop = [(0.9, True, GOP_NS)] * 6
    assert [round(state.bitrate_ratio, 3) for _, state in states(RULE, every_gop)] == [0.7, 0.49, 0.4, 0.4, 0.4, 0.4]


def test_recovery_waits_a_group_of_pictures_and_adds_a_twentieth_a_second() -> None:
    calm = [(0.1, False, NS_PER_S // 10)] * 100
    passed = states(RULE, [(0.9, True, 0), *calm])
    raised_at_s = [
        now_ns / NS_PER_S
        for (_, earlier), (now_ns, later) in itertools.pairwise(passed)
        if later.bitrate_ratio > earlier.bitrate_ratio
    ]
    assert raised_at_s == [2, 3, 4, 5, 6, 7]
    assert passed[-1][1].bitrate_ratio == 1


def test_a_burst_that_cannot_be_answered_still_puts_recovery_off() -> None:
    at_the_floor = [(0.9, True, GOP_NS)] * 4
    passed = states(RULE, [*at_the_floor, (0.1, False, GOP_NS - 1), (0.1, False, 1)])
    assert [state.bitrate_ratio for _, state in passed[-3:]] == [0.4, 0.4, 0.4 + RULE.recover_step]


def test_a_guard_that_is_switched_off_gives_all_back_at_once() -> None:
    lowered = next_guard_state(RULE, GuardState(), 0.9, True, GOP_NS, 0)
    assert lowered.bitrate_ratio == RULE.decrease
    off = RULE.model_copy(update={"enabled": False})
    assert next_guard_state(off, lowered, 2.0, True, GOP_NS, 1).bitrate_ratio == 1


def test_a_floor_that_is_raised_acts_at_once() -> None:
    lowered = next_guard_state(RULE, GuardState(), 0.9, True, GOP_NS, 0)
    higher = RULE.model_copy(update={"floor_ratio": 0.9})
    assert next_guard_state(higher, lowered, 0.6, False, GOP_NS, 1).bitrate_ratio == 0.9
