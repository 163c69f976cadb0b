"""`preview_latency: auto` adds delay while frames are late, takes it back slowly, and stays within its bounds."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_MS, NS_PER_S
from app.engine.governors.preview_latency import (
    DWELL_NS,
    LONGEST_LATENCY_NS,
    LONGEST_QUIET_NS,
    MOST_EXTRA_NS,
    QUIET_NS,
    RECOVERY_STEP_NS,
    TROUBLE_TO_ACT,
    LatencyBounds,
    LatencyState,
    adjust_latency,
    latency_bounds,
)
from app.engine.governors.verdict import Action

REFRESH_NS = 16_666_667
BOUNDS = LatencyBounds(50 * NS_PER_MS, REFRESH_NS)
SOMETIMES = st.one_of(st.none(), st.integers(1, NS_PER_S))


def replay(
    troubles: list[int], bounds: LatencyBounds = BOUNDS, period_ns: int = NS_PER_S // 4
) -> list[tuple[int, LatencyState, Action, str]]:
    """Let so many frames be late before each look; return (time, state, action, sentence) of each."""
    state, found = LatencyState(), []
    for index, trouble in enumerate(troubles):
        verdict = adjust_latency(bounds, state, trouble, index * period_ns)
        state = verdict.state
        found.append((index * period_ns, *verdict))
    return found


@given(st.integers(0, 500 * NS_PER_MS), st.integers(1, 64), SOMETIMES, SOMETIMES)
def test_the_delay_is_never_below_the_configured_nor_above_the_bound(
    configured_ns: int, depth: int, interval_ns: int | None, refresh_ns: int | None
) -> None:
    bounds = latency_bounds(configured_ns, depth, interval_ns, refresh_ns)
    assert 0 <= bounds.most_extra_ns <= MOST_EXTRA_NS
    assert configured_ns + bounds.most_extra_ns <= LONGEST_LATENCY_NS
    if interval_ns is not None and bounds.most_extra_ns > 0:
        assert configured_ns + bounds.most_extra_ns <= depth * interval_ns
    assert bounds.step_ns > 0


def test_no_delay_is_added_that_the_frame_queue_cannot_hold() -> None:
    """Four frames of 60 fps are 66.7 ms: of 33.3 ms configured, 33.4 ms may be added, and none with two frames."""
    configured_ns = round(33.3 * NS_PER_MS)
    assert latency_bounds(configured_ns, 4, REFRESH_NS, None).most_extra_ns / NS_PER_MS == pytest.approx(33.4, abs=0.1)
    assert latency_bounds(configured_ns, 1, REFRESH_NS, None).most_extra_ns == 0
    assert latency_bounds(configured_ns, 64, REFRESH_NS, None).most_extra_ns == MOST_EXTRA_NS


@given(
    st.lists(st.integers(0, 5), max_size=200),
    st.builds(LatencyBounds, st.integers(0, MOST_EXTRA_NS), st.integers(1, 50 * NS_PER_MS)),
    st.integers(1, 2 * NS_PER_S),
)
def test_on_any_trouble_it_is_bounded_and_moves_once_a_dwell_time_at_most(
    troubles: list[int], bounds: LatencyBounds, period_ns: int
) -> None:
    looks = replay(troubles, bounds, period_ns)
    assert all(0 <= state.extra_ns <= bounds.most_extra_ns for _, state, _, _ in looks)
    moved = [at_ns for (_, before, _, _), (at_ns, after, _, _) in pairwise(looks) if before.extra_ns != after.extra_ns]
    assert all(later - earlier >= DWELL_NS for earlier, later in pairwise(moved))


@given(st.lists(st.integers(0, 5), max_size=400))
def test_it_falls_by_a_millisecond_a_second_and_only_after_quiet(troubles: list[int]) -> None:
    looks = replay(troubles)
    for (_, before, _, _), (at_ns, after, action, _) in pairwise(looks):
        if after.extra_ns < before.extra_ns:
            assert before.extra_ns - after.extra_ns <= RECOVERY_STEP_NS
            assert at_ns - after.calm_ns >= QUIET_NS
            assert action in (Action.LOWER, Action.RELEASE)
        elif after.extra_ns > before.extra_ns:
            assert action is Action.RAISE


def test_one_late_frame_is_an_accident() -> None:
    looks = replay([TROUBLE_TO_ACT - 1, 0, 0, 0, 0] * 40)
    assert {state.extra_ns for _, state, _, _ in looks} == {0}


def test_late_frames_add_a_refresh_a_second_up_to_the_bound() -> None:
    looks = replay([1] * 60)
    extras = list(dict.fromkeys(state.extra_ns for _, state, _, _ in looks))
    assert extras == [0, REFRESH_NS, 2 * REFRESH_NS, 50 * NS_PER_MS]
    sentences = [reason for _, _, _, reason in looks if reason]
    assert sentences[0] == "4 frames late or strangely slow within a second: render_latency_ms + 16.7 ms"
    assert sentences[-1].endswith("render_latency_ms + 50.0 ms, the most it may")


def test_a_delay_that_is_just_too_short_is_not_tried_over_and_over() -> None:
    """Frames are late whenever less than 10 ms are added. In an hour the delay turns round a few times only."""
    state, extras = LatencyState(), []
    for index in range(4 * 3600):
        late = 1 if state.extra_ns < 10 * NS_PER_MS else 0
        state = adjust_latency(BOUNDS, state, late, index * NS_PER_S // 4).state
        extras.append(state.extra_ns)
    raises = sum(after > before for before, after in pairwise(extras))
    assert 5 <= raises <= 20
    assert state.quiet_ns == LONGEST_QUIET_NS


def test_a_fall_is_told_when_it_begins_and_when_it_is_over() -> None:
    looks = replay([0, 3, 0, 0, 0] + [0] * 200)
    told = [(action, reason) for _, _, action, reason in looks if reason]
    assert [action for action, _ in told] == [Action.RAISE, Action.LOWER, Action.RELEASE]
    assert told[1][1] == (
        "no frame late for 10 s: render_latency_ms + 15.7 ms, and 1 ms less each second that stays so"
    )
    assert looks[-1][1].extra_ns == 0


def test_tighter_bounds_hold_at_the_next_look() -> None:
    raised = replay([1] * 60)[-1][1]
    assert adjust_latency(LatencyBounds(0, REFRESH_NS), raised, 0, 10**12).state.extra_ns == 0
