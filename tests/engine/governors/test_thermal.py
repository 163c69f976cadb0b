"""The thermal guard brakes by the temperature, never under its floor, never nervously."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.governors import ThermalGuard
from app.core.clock import NS_PER_S
from app.engine.governors.thermal import ThermalState, ceiling_ratio, thermal_ceiling, under_new_rule
from app.engine.governors.verdict import Action

RULE = ThermalGuard(enabled=True)
TEMPERATURES = st.floats(-20, 150)
RULES = st.builds(
    ThermalGuard,
    enabled=st.just(True),
    start_c=st.floats(20, 120),
    span_c=st.floats(1, 100),
    floor_ratio=st.floats(0.05, 1),
    hysteresis_c=st.floats(0, 30),
    dwell_s=st.floats(0, 60),
)
MISSING = st.sampled_from([None, math.nan])


def states_of(rule: ThermalGuard, curve: list[tuple[float, float | None]]) -> list[tuple[float, ThermalState]]:
    """Replay a curve of (time in s, temperature); return (time, state) after each."""
    state = ThermalState()
    found = []
    for at_s, temperature_c in curve:
        state = thermal_ceiling(rule, state, temperature_c, round(at_s * NS_PER_S)).state
        found.append((at_s, state))
    return found


def every(period_s: float, temperatures: list[float]) -> list[tuple[float, float | None]]:
    return [(index * period_s, temperature_c) for index, temperature_c in enumerate(temperatures)]


@pytest.mark.parametrize(
    ("temperature_c", "ceiling_fps"),
    [(20, 60), (75, 60), (77.5, 54), (80, 48), (85, 36), (90, 36), (100, 36), (101, 36)],
)
def test_ceilings_of_a_base_of_60_fps(temperature_c: float, ceiling_fps: float) -> None:
    assert 60 * ceiling_ratio(RULE, temperature_c) == pytest.approx(ceiling_fps)
    assert 60 * thermal_ceiling(RULE, ThermalState(), temperature_c, 0).state.ratio == pytest.approx(ceiling_fps)


@given(RULES, TEMPERATURES, TEMPERATURES)
def test_a_hotter_gpu_is_never_allowed_more(rule: ThermalGuard, one_c: float, other_c: float) -> None:
    cooler_c, hotter_c = sorted((one_c, other_c))
    assert rule.floor_ratio <= ceiling_ratio(rule, hotter_c) <= ceiling_ratio(rule, cooler_c) <= 1


# A run of 30 minutes as telemetry gives it: whole degrees, four readings a second, a sensor that fails for a while.
REPLAYED = [
    (index / 4, None if 4000 < index < 4100 else float(round(72 + 18 * math.sin(index / 900) + 1.6 * math.sin(index))))
    for index in range(7200)
]


def test_a_replayed_curve_never_goes_under_the_floor_and_moves_once_a_dwell_time_at_most() -> None:
    states = states_of(RULE, REPLAYED)
    assert min(state.ratio for _, state in states) == RULE.floor_ratio
    assert max(state.ratio for _, state in states) == 1
    moves = [at_s for (_, before), (at_s, after) in pairwise(states) if before.ratio != after.ratio]
    assert len(moves) > 10
    assert min(later - earlier for earlier, later in pairwise(moves)) >= RULE.dwell_s


@given(RULES, st.lists(st.tuples(st.floats(0, 5), st.one_of(TEMPERATURES, MISSING)), max_size=60))
def test_on_any_curve_it_is_bounded_and_moves_once_a_dwell_time_at_most(
    rule: ThermalGuard, steps: list[tuple[float, float | None]]
) -> None:
    at_s, curve = 0.0, []
    for step_s, temperature_c in steps:
        at_s += step_s
        curve.append((at_s, temperature_c))
    states = states_of(rule, curve)
    assert all(rule.floor_ratio <= state.ratio <= 1 for _, state in states)
    moves = [at_s for (_, before), (at_s, after) in pairwise(states) if before.ratio != after.ratio]
    assert all(later - earlier >= rule.dwell_s - 1e-6 for earlier, later in pairwise(moves))


@given(RULES, st.lists(TEMPERATURES, min_size=2, max_size=60))
def test_it_rises_only_after_the_hysteresis_below_the_temperature_that_set_it(
    rule: ThermalGuard, temperatures: list[float]
) -> None:
    state = ThermalState()
    for index, temperature_c in enumerate(temperatures):
        verdict = thermal_ceiling(rule, state, temperature_c, index * 100 * NS_PER_S)
        if verdict.action in (Action.RAISE, Action.RELEASE):
            assert temperature_c <= state.set_at_c - rule.hysteresis_c
        state = verdict.state


@given(RULES, st.floats(20, 130), st.lists(st.floats(0, 1, exclude_max=True), max_size=60))
def test_a_temperature_that_swings_less_than_the_hysteresis_moves_it_one_way_only(
    rule: ThermalGuard, middle_c: float, swings: list[float]
) -> None:
    temperatures = [middle_c + swing * rule.hysteresis_c * 0.999 for swing in swings]
    ratios = [state.ratio for _, state in states_of(rule, every(100, temperatures))]
    assert ratios == sorted(ratios, reverse=True)


def test_the_least_braking_is_let_go_as_well() -> None:
    """A hysteresis in parts of the rate would never release a ceiling that is nearer to 1 than itself."""
    states = states_of(RULE, every(10, [75.5, 74, 73, 72.5, 72.4]))
    assert [state.ratio for _, state in states] == pytest.approx([0.98, 0.98, 0.98, 1, 1])


def test_above_the_lower_end_of_the_slope_the_heat_makes_no_difference_to_the_recovery() -> None:
    for peak_c in (85, 95, 110):
        states = states_of(RULE, every(10, [peak_c, 83, 82]))
        assert [state.ratio for _, state in states] == pytest.approx([0.6, 0.6, 0.72])


@given(RULES, st.floats(0.05, 1), TEMPERATURES, MISSING)
def test_a_missing_sensor_leaves_it_where_it_is(
    rule: ThermalGuard, ratio: float, set_at_c: float, missing: float | None
) -> None:
    state = ThermalState(ratio, set_at_c)
    verdict = thermal_ceiling(rule, state, missing, 10**15)
    assert verdict == (state, Action.HOLD, "")


@given(RULES, RULES, st.lists(TEMPERATURES, max_size=8), TEMPERATURES)
def test_under_a_new_rule_it_stays_in_bounds_and_follows_the_next_reading(
    old: ThermalGuard, new: ThermalGuard, temperatures: list[float], next_c: float
) -> None:
    states = states_of(old, every(100, temperatures))
    state = under_new_rule(new, states[-1][1] if states else ThermalState())
    assert new.floor_ratio <= state.ratio <= 1
    assert thermal_ceiling(new, state, next_c, 0).state.ratio == ceiling_ratio(new, next_c)


def test_it_acts_in_the_first_seconds_after_the_machine_has_started() -> None:
    """CLOCK_MONOTONIC begins at 0 there: no dwell time has been begun."""
    assert thermal_ceiling(RULE, ThermalState(), 90.0, 0).action is Action.LOWER


def test_its_sentences_have_the_numbers() -> None:
    hot = thermal_ceiling(RULE, ThermalState(), 82.0, 0)
    assert hot.reason == "GPU 82.0 °C: ceiling 72% of the full rate"
    assert thermal_ceiling(RULE, hot.state, 70.0, 10**10).reason == "GPU 70.0 °C: no ceiling"
