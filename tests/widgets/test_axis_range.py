"""Axes end at round numbers that hold every value and do not flicker."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.axis_range import AxisRange, range_around, range_from_zero, round_up
from widgets.axis_ticks import tick_text, time_text, time_ticks, value_ticks

START = AxisRange(0.0, 1.0)


@given(st.floats(1e-6, 1e9))
def test_rounding_up_never_goes_below_and_stays_close(value: float) -> None:
    assert value * (1 - 1e-9) <= round_up(value) <= value * 1.6


@given(high=st.floats(0.001, 1e9), before=st.floats(0.001, 1e9))
def test_the_largest_value_is_always_inside(high: float, before: float) -> None:
    assert range_from_zero(AxisRange(0.0, before), high, 0.5).high >= high


def test_an_axis_shrinks_only_when_the_values_are_well_inside_the_smaller_one() -> None:
    assert range_from_zero(AxisRange(0.0, 25.0), 18.0, 1.0).high == 25.0
    assert range_from_zero(AxisRange(0.0, 25.0), 10.0, 1.0).high < 25.0


def test_nothing_to_show_leaves_the_axis_alone() -> None:
    assert range_from_zero(START, math.nan, 5.0) is START
    assert range_around(START, math.nan, math.nan, 10.0) is START


@given(low=st.floats(-50, 120), span=st.floats(0, 80))
def test_a_temperature_axis_holds_its_values_in_whole_steps(low: float, span: float) -> None:
    shown = range_around(START, low, low + span, 10.0)
    assert shown.low <= low
    assert low + span <= shown.high
    assert shown.high - shown.low >= 20.0 or shown is START


def test_a_steady_temperature_does_not_move_its_axis() -> None:
    shown = range_around(START, 41.0, 44.0, 10.0)
    assert range_around(shown, 42.0, 47.0, 10.0) is shown


@given(low=st.floats(-1e4, 1e4), span=st.floats(0.01, 1e5), most=st.integers(1, 12))
def test_ticks_are_few_inside_and_evenly_spaced(low: float, span: float, most: int) -> None:
    ticks = value_ticks(low, low + span, most)
    assert len(ticks) <= most + 1
    assert all(low - span * 1e-6 <= tick <= low + span * (1 + 1e-6) for tick in ticks)


@pytest.mark.parametrize(("value", "text"), [(0.0, "0"), (0.30000000000000004, "0.3"), (1500.0, "1500")])
def test_tick_labels_have_no_meaningless_digits(value: float, text: str) -> None:
    assert tick_text(value) == text


@pytest.mark.parametrize(
    ("time_s", "span_s", "text"),
    [(12.0, 10.0, "12 s"), (12.25, 1.0, "12.2 s"), (187.0, 120.0, "3:07"), (3735.0, 1800.0, "1:02:15")],
)
def test_run_times_read_as_a_person_says_them(time_s: float, span_s: float, text: str) -> None:
    assert time_text(time_s, span_s) == text


def test_time_ticks_are_round_instants() -> None:
    assert time_ticks(3.2, 13.2, 10) == [4, 5, 6, 7, 8, 9, 10, 11, 12, 13]
    assert time_ticks(5.0, 5.0, 10) == []
