"""Frame rates of known fixtures: the golden values of the project, and what no definition may depend on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.frame_intervals import display_intervals
from app.analysis.jitter import stutter_time_ratio
from app.analysis.rates import fps_average, fps_low_1pct_mean, fps_low_1pct_time, fps_p1
from tests.analysis.run_builder import frames_at_intervals

INTERVALS = st.lists(st.floats(0.5, 500.0), min_size=2, max_size=400).map(np.array)
ONE_SPIKE = np.array([8.0] * 999 + [200.0])
THIRTY_DOUBLED = np.array([1000 / 60] * 2970 + [1000 / 30] * 30)
TWENTY_DOUBLED = np.array([1000 / 60] * 2980 + [1000 / 30] * 20)


@pytest.mark.parametrize(
    ("interval_ms", "average", "p1", "low_mean", "low_time"),
    [
        (ONE_SPIKE, 122.07, 125.00, 36.76, 5.00),
        (THIRTY_DOUBLED, 59.41, 59.41, 30.00, 30.00),
        (TWENTY_DOUBLED, 59.60, 60.00, 36.00, 30.00),
    ],
    ids=["one spike of 200 ms", "30 doubled of 3000", "20 doubled of 3000"],
)
def test_rates_of_the_golden_fixtures(
    interval_ms: np.ndarray, average: float, p1: float, low_mean: float, low_time: float
) -> None:
    assert fps_average(interval_ms) == pytest.approx(average, abs=0.005)
    assert fps_p1(interval_ms) == pytest.approx(p1, abs=0.005)
    assert fps_low_1pct_mean(interval_ms) == pytest.approx(low_mean, abs=0.005)
    assert fps_low_1pct_time(interval_ms) == pytest.approx(low_time, abs=0.005)


def test_the_p99_of_thirty_doubled_falls_between_the_groups() -> None:
    assert 1e3 / fps_p1(THIRTY_DOUBLED) == pytest.approx(16.83, abs=0.005)


def test_the_average_is_not_a_mean_of_rates() -> None:
    assert fps_average(np.array([10.0, 30.0])) == pytest.approx(50.0)


@pytest.mark.parametrize(("n", "slowest"), [(2, 1), (100, 1), (101, 2), (250, 3)])
def test_the_low_mean_takes_exactly_ceil_of_one_percent(n: int, slowest: int) -> None:
    interval_ms = np.arange(1.0, n + 1)
    assert 1e3 / fps_low_1pct_mean(interval_ms) == pytest.approx(interval_ms[-slowest:].mean())


def test_ties_do_not_widen_the_low_mean() -> None:
    assert 1e3 / fps_low_1pct_mean(np.array([10.0] * 199 + [30.0])) == pytest.approx(20.0)


@pytest.mark.parametrize("function", [fps_average, fps_p1, fps_low_1pct_mean, fps_low_1pct_time])
@pytest.mark.parametrize("n", [0, 1])
def test_no_rate_of_fewer_than_two_intervals(function: object, n: int) -> None:
    assert callable(function)
    assert math.isnan(function(np.full(n, 10.0)))


def test_p1_needs_a_hundred_intervals() -> None:
    assert math.isnan(fps_p1(np.full(99, 10.0)))
    assert fps_p1(np.full(100, 10.0)) == pytest.approx(100.0)


@given(INTERVALS, st.randoms(use_true_random=False))
def test_rates_do_not_depend_on_the_order_of_intervals(interval_ms: np.ndarray, random: object) -> None:
    shuffled = np.random.default_rng(7).permutation(interval_ms)
    for function in (fps_average, fps_low_1pct_mean, fps_low_1pct_time):
        assert function(shuffled) == pytest.approx(function(interval_ms))


@given(INTERVALS, st.floats(0.1, 10.0))
def test_a_slower_clock_scales_every_rate(interval_ms: np.ndarray, factor: float) -> None:
    for function in (fps_average, fps_low_1pct_mean):
        assert function(interval_ms * factor) == pytest.approx(function(interval_ms) / factor)


@given(INTERVALS)
def test_the_low_rates_are_never_above_the_average(interval_ms: np.ndarray) -> None:
    assert fps_low_1pct_mean(interval_ms) <= fps_average(interval_ms) * (1 + 1e-9)
    assert 1e3 / interval_ms.max() <= fps_low_1pct_mean(interval_ms) * (1 + 1e-9)
    assert 1e3 / interval_ms.max() <= fps_low_1pct_time(interval_ms) * (1 + 1e-9)


def stutter_of(interval_ms: list[float]) -> float:
    return stutter_time_ratio(display_intervals(frames_at_intervals(interval_ms)))


def test_one_long_interval_is_stutter_by_its_share_of_time() -> None:
    assert stutter_of([8.0] * 999 + [200.0]) == pytest.approx(200 / (999 * 8 + 200))


def test_even_motion_has_no_stutter() -> None:
    assert stutter_of([16.667] * 100) == 0


def test_the_threshold_is_two_and_a_half_times_the_mean_before() -> None:
    assert stutter_of([10.0] * 60 + [25.0] + [10.0] * 60) == 0
    assert stutter_of([10.0] * 60 + [25.1] + [10.0] * 60) > 0


def test_a_spike_hides_neither_itself_nor_the_next() -> None:
    assert stutter_of([10.0] * 60 + [600.0, 600.0] + [10.0] * 60) == pytest.approx(1200 / (1200 + 1200))


def test_a_steady_slow_source_has_no_stutter() -> None:
    assert stutter_of([1000.0] * 20) == 0


def test_a_lasting_drop_of_the_rate_is_stutter_only_at_first() -> None:
    drop = stutter_of([8.0] * 200 + [33.0] * 300)
    assert 0 < drop * (200 * 8 + 300 * 33) < 1000


@given(st.lists(st.integers(1, 400), min_size=2, max_size=80))
def test_stutter_is_a_share_of_time(interval_ms: list[int]) -> None:
    assert 0 <= stutter_of([float(value) for value in interval_ms]) <= 1
