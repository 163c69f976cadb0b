from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.vulkan.refresh_estimate import (
    GAP_NS,
    LEAST_STAMPS,
    RefreshEstimate,
    estimate_refresh,
    has_moved,
    is_steady,
    refresh_hz,
)

ORIGIN_NS = 123_456_789_012_345


def shown_at(
    source_hz: float, display_hz: float, count: int, jitter_ns: float = 0.0, skipped: float = 0.0, seed: int = 1
) -> list[int]:
    """Display times of a source on a display: each frame at the first refresh behind its due time."""
    random = np.random.default_rng(seed)
    due = np.arange(count) / source_hz
    refreshes = np.ceil(np.maximum(due * display_hz - 1e-6, 0))
    kept = random.random(count) >= skipped
    times = ORIGIN_NS + np.unique(refreshes[kept]) / display_hz * 1e9
    return [int(each) for each in times + random.normal(0, jitter_ns, len(times))]


@given(
    st.sampled_from([24.0, 23.976, 25.0, 30.0, 50.0, 60.0, 90.0, 120.0]),
    st.sampled_from([50.0, 59.94, 60.0, 75.0, 90.0, 120.0, 143.86, 144.0, 165.0, 240.0]),
    st.floats(0, 300_000),
    st.floats(0, 0.1),
    st.integers(0, 99),
)
def test_the_period_is_found_for_every_source_on_every_display(
    source_hz: float, display_hz: float, jitter_ns: float, skipped: float, seed: int
) -> None:
    stamps = shown_at(min(source_hz, display_hz), display_hz, 256, jitter_ns, skipped, seed)
    estimate = estimate_refresh(stamps, 1.01e9 / display_hz)
    assert estimate is not None
    assert refresh_hz(estimate) == pytest.approx(display_hz, rel=5e-4)
    off = (estimate.phase_ns - ORIGIN_NS) / estimate.period_ns
    assert abs((estimate.phase_ns - ORIGIN_NS) * display_hz / 1e9 % 1 - 0.5) > 0.4 or abs(off) < 1
    assert estimate.spread_ns <= jitter_ns * 2 + 1_000
    assert estimate.stamp_count == len(stamps)


@pytest.mark.parametrize(("source_hz", "display_hz"), [(60, 60), (24, 60), (50, 60), (25, 60), (60, 144), (48, 120)])
def test_without_a_start_value_the_longest_period_that_divides_all_intervals_is_taken(
    source_hz: float, display_hz: float
) -> None:
    stamps = shown_at(source_hz, display_hz, 200, jitter_ns=50_000)
    estimate = estimate_refresh(stamps)
    assert estimate is not None
    intervals = np.rint(np.diff(stamps) / 1e9 * display_hz).astype(int)
    assert refresh_hz(estimate) == pytest.approx(display_hz / np.gcd.reduce(intervals), rel=1e-3)


def test_thirty_frames_a_second_on_sixty_hertz_need_the_start_value() -> None:
    stamps = shown_at(30, 60, 100)
    alone, started = estimate_refresh(stamps), estimate_refresh(stamps, 1e9 / 60)
    assert alone is not None
    assert started is not None
    assert refresh_hz(alone) == pytest.approx(30)
    assert refresh_hz(started) == pytest.approx(60)


@pytest.mark.parametrize("true_ms", [17.5, 25.5])
def test_a_system_that_names_another_rate_than_it_has_is_corrected(true_ms: float) -> None:
    """Headless Weston says 16.67 ms; with its default repaint window it takes 25.5, with a long one 17.5."""
    estimate = estimate_refresh(shown_at(1000 / true_ms, 1000 / true_ms, 100, jitter_ns=80_000), 16_666_666)
    assert estimate is not None
    assert estimate.period_ns == pytest.approx(true_ms * 1e6, rel=2e-3)


def test_a_source_of_half_the_rate_shown_unevenly_is_not_taken_for_a_display_of_half_the_rate() -> None:
    stamps = shown_at(30, 60, 200, jitter_ns=2_500_000)
    assert estimate_refresh(stamps, 1e9 / 60) is None


def test_wild_stamps_do_not_move_the_grid() -> None:
    stamps = shown_at(60, 60, 200, jitter_ns=30_000)
    for index in range(10, 200, 20):
        stamps[index] += 5_000_000
    estimate = estimate_refresh(stamps, 1e9 / 60)
    assert estimate is not None
    assert refresh_hz(estimate) == pytest.approx(60, rel=1e-3)
    assert abs((estimate.phase_ns - ORIGIN_NS) * 60 / 1e9 % 1 - 0.5) > 0.45


def test_only_what_was_shown_since_the_last_pause_counts() -> None:
    before = shown_at(60, 60, 100)
    after = [each - ORIGIN_NS + before[-1] + GAP_NS + 7_777_777 for each in shown_at(50, 50, 80)]
    estimate = estimate_refresh([*before, *after])
    assert estimate is not None
    assert refresh_hz(estimate) == pytest.approx(50, rel=1e-3)
    assert estimate.stamp_count == 80
    assert estimate_refresh([*before, *after[: LEAST_STAMPS - 1]]) is None


@given(st.integers(0, 50))
def test_a_display_with_variable_refresh_has_no_grid(seed: int) -> None:
    random = np.random.default_rng(seed)
    stamps = [int(each) for each in itertools.accumulate(random.uniform(7e6, 21e6, 200))]
    assert estimate_refresh(stamps, 1e9 / 144) is None


@given(st.lists(st.integers(0, 2**40), max_size=60))
def test_no_list_of_stamps_is_refused(stamps: list[int]) -> None:
    estimate = estimate_refresh(sorted(stamps), 1e9 / 60)
    assert estimate is None or estimate.period_ns > 0


def test_a_rate_has_moved_when_it_differs_by_more_than_a_part_in_a_thousand_or_than_it_wobbles() -> None:
    steady, unsteady = (RefreshEstimate(1e9 / 60, 0, 30, spread_ns) for spread_ns in (100_000, 1_000_000))
    assert refresh_hz(steady) == pytest.approx(60)
    assert is_steady(steady)
    assert not is_steady(unsteady)
    assert has_moved(None, steady)
    assert has_moved(60.07, steady)
    assert not has_moved(60.05, steady)
    assert not has_moved(61.0, unsteady)
    assert has_moved(64.0, unsteady)
