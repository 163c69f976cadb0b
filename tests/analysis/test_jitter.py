"""Jitter figures against hand-computed cases and a step-by-step reference."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.frame_intervals import display_intervals
from app.analysis.jitter import (
    adaptive_sd_ms,
    arrival_jitter_ms,
    arrivals_counted,
    jitter_rms_ratio,
    jitter_sd_ms,
    rolling_sd_ms,
    trailing_mean_ms,
)
from app.core.clock import NO_STAMP_NS, NS_PER_MS
from tests.analysis.run_builder import displayed_frames, frames_at_intervals

INTERVALS = st.lists(st.integers(1, 900), min_size=2, max_size=60).map(lambda values: [float(v) for v in values])


def test_standard_deviation_divides_by_n_minus_one() -> None:
    assert jitter_sd_ms(np.array([10.0, 20.0])) == pytest.approx(math.sqrt(50))


def test_rms_ratio_is_against_the_nominal_interval_not_the_mean() -> None:
    assert jitter_rms_ratio(np.array([20.0, 20.0]), 10.0) == pytest.approx(1.0)
    assert jitter_rms_ratio(np.array([10.0, 20.0]), 10.0) == pytest.approx(math.sqrt(0.5))


def test_rms_ratio_without_a_nominal_interval_is_missing() -> None:
    assert math.isnan(jitter_rms_ratio(np.array([10.0, 20.0]), math.nan))


@pytest.mark.parametrize("values", [[], [10.0]])
def test_nothing_is_said_of_fewer_than_two_intervals(values: list[float]) -> None:
    assert math.isnan(jitter_sd_ms(np.array(values)))
    assert math.isnan(jitter_rms_ratio(np.array(values), 10.0))
    assert math.isnan(adaptive_sd_ms(display_intervals(frames_at_intervals(values))))


@given(INTERVALS)
def test_trailing_mean_covers_what_ended_in_the_last_500_ms(interval_ms: list[float]) -> None:
    series = display_intervals(frames_at_intervals(interval_ms))
    ends = np.cumsum(interval_ms)
    expected = [np.mean([v for v, e in zip(interval_ms, ends, strict=True) if end - 500 < e <= end]) for end in ends]
    np.testing.assert_allclose(trailing_mean_ms(series), expected)
    deviation = np.asarray(interval_ms) - np.array(expected)
    assert adaptive_sd_ms(series) == pytest.approx(math.sqrt(np.mean(np.square(deviation))), abs=1e-9)


@given(INTERVALS)
def test_rolling_deviation_is_that_of_each_window(interval_ms: list[float]) -> None:
    series = display_intervals(frames_at_intervals(interval_ms))
    ends = np.cumsum(interval_ms)
    for at, end in enumerate(ends):
        window = [v for v, e in zip(interval_ms, ends, strict=True) if end - 1000 < e <= end]
        expected = np.std(window, ddof=1) if len(window) > 1 else math.nan
        assert rolling_sd_ms(series, 1000 * NS_PER_MS)[at] == pytest.approx(expected, abs=1e-4, nan_ok=True)


def test_a_slow_drift_is_jitter_but_not_adaptive_deviation() -> None:
    series = display_intervals(frames_at_intervals(np.linspace(10.0, 20.0, 2000)))
    assert jitter_sd_ms(series.interval_ms) > 2.5
    assert adaptive_sd_ms(series) < 0.2


def test_the_trailing_mean_begins_anew_with_a_segment() -> None:
    frames = frames_at_intervals([10.0, 10.0, 10.0, 40.0, 40.0])
    frames["segment"] = [0, 0, 0, 1, 1, 1]
    assert trailing_mean_ms(display_intervals(frames)).tolist() == [10.0, 10.0, 40.0, 40.0]


def reference_rfc3550(arrive_ms: list[float], pts_ms: list[float]) -> float:
    jitter = 0.0
    for at in range(1, len(arrive_ms)):
        difference = (arrive_ms[at] - arrive_ms[at - 1]) - (pts_ms[at] - pts_ms[at - 1])
        jitter += (abs(difference) - jitter) / 16
    return jitter


@given(st.lists(st.integers(0, 40), min_size=2, max_size=900))
def test_arrival_jitter_is_the_rfc_3550_recursion(delay_ms: list[int]) -> None:
    pts_ms = [16.0 * number for number in range(len(delay_ms))]
    arrive_ms = [p + d for p, d in zip(pts_ms, delay_ms, strict=True)]
    frames = displayed_frames(np.arange(len(delay_ms)))
    frames["arrive_ns"] = np.array(arrive_ms) * NS_PER_MS
    frames["pts_ns"] = np.array(pts_ms) * NS_PER_MS
    assert arrival_jitter_ms(frames) == pytest.approx(reference_rfc3550(arrive_ms, pts_ms), abs=1e-9)
    assert arrival_jitter_ms(frames[::-1]) == pytest.approx(arrival_jitter_ms(frames))


def test_arrival_jitter_of_a_source_without_pts_is_missing() -> None:
    assert math.isnan(arrival_jitter_ms(displayed_frames([0, 1, 2], arrive_ns=[0, 1, 2])))


def test_the_n_of_arrival_jitter_counts_the_frames_it_is_made_of() -> None:
    frames = displayed_frames(np.arange(6), segment=[1, 1, 1, 2, 2, 2])
    frames["arrive_ns"] = frames["pts_ns"] = np.arange(6) * 16 * NS_PER_MS
    frames["pts_ns"][5] = NO_STAMP_NS
    assert arrivals_counted(frames) == 2


@given(INTERVALS, st.integers(2, 5))
def test_jitter_scales_with_time(interval_ms: list[float], factor: int) -> None:
    slower = [value * factor for value in interval_ms]
    assert jitter_sd_ms(np.array(slower)) == pytest.approx(factor * jitter_sd_ms(np.array(interval_ms)), abs=1e-9)
