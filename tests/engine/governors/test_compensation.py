"""Frame compensation follows its table: the later the source, the lower the rate, and never nervously."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.governors import DelayTable, FrameCompensation
from app.core.clock import NS_PER_S
from app.engine.governors.compensation import (
    DWELL_NS,
    NO_CEILING_HZ,
    CompensationState,
    compensate,
    compensation_ceiling,
    rate_of_delay,
    recovery_ms,
    under_new_rule,
)
from app.engine.governors.verdict import Action

RULE = FrameCompensation(enabled=True)
DELAYS = st.floats(0, 1e4)
MISSING = st.sampled_from([None, math.nan])


@st.composite
def tables(draw: st.DrawFn) -> DelayTable:
    delays = sorted(draw(st.lists(st.integers(0, 2000), min_size=1, max_size=8, unique=True)))
    rates = draw(st.lists(st.floats(1, 500), min_size=len(delays), max_size=len(delays)))
    return tuple(zip(map(float, delays), sorted(rates, reverse=True), strict=True))


RULES = st.builds(FrameCompensation, enabled=st.just(True), table=tables(), hysteresis_ms=st.floats(0, 500))


def states_of(rule: FrameCompensation, delays: list[float | None], period_ns: int) -> list[CompensationState]:
    state, found = CompensationState(), []
    for index, delay_ms in enumerate(delays):
        state = compensate(rule, state, delay_ms, index * period_ns).state
        found.append(state)
    return found


@pytest.mark.parametrize(
    ("p95_ms", "rate_fps"), [(0, 60), (40, 60), (60, 52.5), (80, 45), (140, 37.5), (200, 30), (290, 30), (10_000, 30)]
)
def test_rates_of_the_table(p95_ms: float, rate_fps: float) -> None:
    assert rate_of_delay(RULE.table, p95_ms) == pytest.approx(rate_fps)


def inverted_formula(p95_ms: float) -> float:
    """The formula in circulation, whose own table says the opposite of it."""
    return max(30, min(int(60 * (0.3 + 0.4 * (p95_ms - 80) / 120)), 60))


def test_it_is_not_the_inverted_formula_in_circulation() -> None:
    """That one asks a source for the more the later it is: 30 fps at 100 ms, 60 at 290 ms."""
    delays = [100, 140, 160, 200, 250, 290]
    assert [inverted_formula(delay_ms) for delay_ms in delays] == [30, 30, 34, 42, 52, 60]
    ours = [rate_of_delay(RULE.table, delay_ms) for delay_ms in delays]
    assert ours == pytest.approx([42.5, 37.5, 35, 30, 30, 30])
    assert inverted_formula(80.001) == 30
    assert rate_of_delay(RULE.table, 80.001) == pytest.approx(45, abs=0.001)


@given(tables(), DELAYS, DELAYS)
def test_a_later_source_is_never_asked_for_more(table: DelayTable, one_ms: float, other_ms: float) -> None:
    sooner_ms, later_ms = sorted((one_ms, other_ms))
    lowest, highest = table[-1][1], table[0][1]
    assert lowest - 1e-9 <= rate_of_delay(table, later_ms) <= rate_of_delay(table, sooner_ms) + 1e-9 <= highest + 1e-8
    assert compensation_ceiling(table, later_ms) <= compensation_ceiling(table, sooner_ms) + 1e-9


@given(tables())
def test_the_rows_are_met_exactly(table: DelayTable) -> None:
    assert [rate_of_delay(table, delay_ms) for delay_ms, _ in table] == [fps for _, fps in table]


@given(tables(), st.floats(0, 1))
def test_up_to_the_first_row_the_source_is_in_time_and_nothing_limits_it(table: DelayTable, part: float) -> None:
    assert compensation_ceiling(table, part * table[0][0]) == NO_CEILING_HZ


@given(RULES, st.lists(st.one_of(DELAYS, MISSING), max_size=60), st.integers(0, 3 * NS_PER_S))
def test_on_any_delays_it_is_bounded_and_moves_once_a_dwell_time_at_most(
    rule: FrameCompensation, delays: list[float | None], period_ns: int
) -> None:
    states = states_of(rule, delays, period_ns)
    lowest, highest = rule.table[-1][1], rule.table[0][1]
    for state in states:
        assert state.ceiling_hz == NO_CEILING_HZ or lowest - 1e-9 <= state.ceiling_hz <= highest + 1e-9
    moved = [state.moved_ns for before, state in pairwise(states) if state.moved_ns != before.moved_ns]
    assert all(later - earlier >= DWELL_NS for earlier, later in pairwise(moved))


@given(RULES, st.lists(DELAYS, max_size=60))
def test_it_rises_only_after_the_hysteresis_below_the_delay_that_set_it(
    rule: FrameCompensation, delays: list[float]
) -> None:
    state = CompensationState()
    for index, delay_ms in enumerate(delays):
        verdict = compensate(rule, state, delay_ms, index * DWELL_NS)
        if verdict.action in (Action.RAISE, Action.RELEASE):
            assert delay_ms <= recovery_ms(rule, state.set_at_ms)
        state = verdict.state


@given(RULES, st.floats(1, 2000), st.lists(st.floats(0, 1, exclude_max=True), max_size=60))
def test_a_delay_that_swings_less_than_the_hysteresis_moves_it_one_way_only(
    rule: FrameCompensation, low_ms: float, swings: list[float]
) -> None:
    width_ms = min(rule.hysteresis_ms, low_ms)
    ceilings = [
        state.ceiling_hz for state in states_of(rule, [low_ms + swing * width_ms * 0.999 for swing in swings], DWELL_NS)
    ]
    assert ceilings == sorted(ceilings, reverse=True)


def test_beyond_the_table_the_delay_makes_no_difference_to_the_recovery() -> None:
    for peak_ms in (200, 300, 5000):
        ceilings = [state.ceiling_hz for state in states_of(RULE, [peak_ms, 199, 195], DWELL_NS)]
        assert ceilings == pytest.approx([30, 30, 30.625])


@given(RULES, st.lists(DELAYS, max_size=20))
def test_a_source_that_is_in_time_again_is_always_let_go(rule: FrameCompensation, delays: list[float]) -> None:
    assert states_of(rule, [*delays, 0.0], DWELL_NS)[-1].ceiling_hz == NO_CEILING_HZ


@given(RULES, st.floats(1, 500), DELAYS, MISSING)
def test_too_few_frames_leave_it_where_it_is(
    rule: FrameCompensation, ceiling_hz: float, set_at_ms: float, missing: float | None
) -> None:
    state = CompensationState(ceiling_hz, set_at_ms)
    assert compensate(rule, state, missing, 10**15) == (state, Action.HOLD, "")


@given(RULES, st.floats(1, 500), DELAYS)
def test_under_a_new_rule_it_follows_the_next_delay(rule: FrameCompensation, ceiling_hz: float, p95_ms: float) -> None:
    state = under_new_rule(CompensationState(ceiling_hz, 0.0, 10**15))
    assert state.ceiling_hz == ceiling_hz
    assert compensate(rule, state, p95_ms, 0).state.ceiling_hz == compensation_ceiling(rule.table, p95_ms)


def test_its_sentences_have_the_numbers() -> None:
    late = compensate(RULE, CompensationState(), 84.0, 0)
    assert late.reason == "p95 of the source's I/O delay 84.0 ms over 256 frames: ceiling 44.5 fps"
    in_time = compensate(RULE, late.state, 12.0, DWELL_NS)
    assert in_time.reason == "p95 of the source's I/O delay 12.0 ms over 256 frames: no ceiling"
