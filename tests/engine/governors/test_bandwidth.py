"""The bandwidth guard reduces the rate above the threshold and does not swing with its own effect."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.governors import BandwidthGuard
from app.core.clock import NS_PER_S
from app.engine.governors.bandwidth import (
    DWELL_NS,
    HYSTERESIS_RATIO,
    BandwidthState,
    bandwidth_ceiling,
    guard_bandwidth,
    recovery_ratio,
)
from app.engine.governors.verdict import Action

RULE = BandwidthGuard(enabled=True)
RATIOS = st.floats(0, 1.5)
MISSING = st.sampled_from([None, math.nan])


@st.composite
def rules(draw: st.DrawFn) -> BandwidthGuard:
    reduced_fps, max_fps = sorted(draw(st.tuples(st.floats(1, 500), st.floats(1, 500))))
    return BandwidthGuard(
        enabled=True, threshold_ratio=draw(st.floats(0.1, 1)), max_fps=max_fps, reduced_fps=reduced_fps
    )


def states_of(rule: BandwidthGuard, ratios: list[float | None], period_ns: int) -> list[BandwidthState]:
    state, found = BandwidthState(), []
    for index, ratio in enumerate(ratios):
        state = guard_bandwidth(rule, state, ratio, index * period_ns).state
        found.append(state)
    return found


@pytest.mark.parametrize(("link_ratio", "fps"), [(0.0, 120), (0.9, 120), (0.901, 96), (1.2, 96)])
def test_the_rate_above_and_below_the_threshold(link_ratio: float, fps: float) -> None:
    assert bandwidth_ceiling(RULE, guard_bandwidth(RULE, BandwidthState(), link_ratio, 0).state) == fps


@given(rules(), RATIOS, RATIOS, st.booleans())
def test_a_busier_link_is_never_allowed_more(rule: BandwidthGuard, one: float, other: float, reduced: bool) -> None:
    low, high = sorted((one, other))
    state = BandwidthState(reduced)
    allowed = [bandwidth_ceiling(rule, guard_bandwidth(rule, state, ratio, 0).state) for ratio in (low, high)]
    assert rule.reduced_fps <= allowed[1] <= allowed[0] <= rule.max_fps


@given(rules(), st.lists(st.one_of(RATIOS, MISSING), max_size=80), st.integers(0, 3 * NS_PER_S))
def test_on_any_load_it_moves_once_a_dwell_time_at_most(
    rule: BandwidthGuard, ratios: list[float | None], period_ns: int
) -> None:
    states = states_of(rule, ratios, period_ns)
    moved = [state.moved_ns for before, state in pairwise(states) if state.reduced != before.reduced]
    assert all(later - earlier >= DWELL_NS for earlier, later in pairwise(moved))


@given(rules(), st.floats(0.1, 1.4), st.lists(st.floats(0, 1), max_size=60))
def test_a_load_that_swings_less_than_the_hysteresis_moves_it_once_at_most(
    rule: BandwidthGuard, low: float, swings: list[float]
) -> None:
    states = states_of(rule, [low + swing * HYSTERESIS_RATIO * 0.999 for swing in swings], DWELL_NS)
    assert sum(before.reduced != after.reduced for before, after in pairwise([BandwidthState(), *states])) <= 1


@given(rules(), st.floats(0, 2), st.floats(0, 0.5))
def test_it_does_not_swing_with_a_load_that_follows_the_rate(
    rule: BandwidthGuard, at_full_rate: float, other_load: float
) -> None:
    """The link carries what we send at the rate allowed, and what others send: one move, then rest."""
    state, moves = BandwidthState(), 0
    for index in range(30):
        link_ratio = other_load + at_full_rate * bandwidth_ceiling(rule, state) / rule.max_fps
        verdict = guard_bandwidth(rule, state, link_ratio, index * DWELL_NS)
        moves += verdict.state.reduced != state.reduced
        state = verdict.state
    assert moves <= 1


def test_it_lets_go_when_the_full_rate_is_expected_to_fit() -> None:
    reduced = BandwidthState(True)
    assert recovery_ratio(RULE) == pytest.approx(0.68)  # (90 % − 5 points) × 96 ÷ 120
    assert guard_bandwidth(RULE, reduced, 0.69, 0).state.reduced
    assert not guard_bandwidth(RULE, reduced, 0.67, 0).state.reduced


@given(rules(), st.booleans(), MISSING)
def test_an_unmeasured_link_leaves_it_where_it_is(rule: BandwidthGuard, reduced: bool, missing: float | None) -> None:
    state = BandwidthState(reduced)
    assert guard_bandwidth(rule, state, missing, 10**15) == (state, Action.HOLD, "")


def test_its_sentences_have_the_numbers() -> None:
    busy = guard_bandwidth(RULE, BandwidthState(), 0.95, 0, "PCIe receive")
    assert busy.reason == "PCIe receive at 95% of its limit, above 90%: ceiling 96 fps"
    idle = guard_bandwidth(RULE, busy.state, 0.4, DWELL_NS, "PCIe receive")
    assert idle.reason == "PCIe receive at 40% of its limit, not above 68%: ceiling 120 fps"
