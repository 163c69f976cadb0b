"""Timestamps come out rising from 0, unchanged where they were good."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.engine.sources.timeline import Timeline

MS = Fraction(1, 1000)
INTERVAL_NS = 40_000_000


def placed_ms(ticks: list[int | None], timeline: Timeline | None = None) -> list[float]:
    timeline = timeline or Timeline(MS, INTERVAL_NS)
    return [timeline.place(tick) / 1e6 for tick in ticks]


@given(st.lists(st.none() | st.integers(-(2**62), 2**62), max_size=60))
def test_any_timestamps_come_out_strictly_rising_from_zero(ticks: list[int | None]) -> None:
    timeline = Timeline(Fraction(1, 90_000), INTERVAL_NS)
    placed = [timeline.place(tick) for tick in ticks]
    assert placed[:1] in ([], [0])
    assert all(later > earlier for earlier, later in pairwise(placed))


@given(st.integers(-(10**9), 10**9), st.lists(st.integers(1, 9_000), max_size=50))
def test_good_timestamps_keep_their_distances(start: int, steps: list[int]) -> None:
    timeline = Timeline(MS, INTERVAL_NS)
    ticks: list[int | None] = list(accumulate(steps, initial=start))
    assert placed_ms(ticks, timeline) == [float(value) for value in accumulate(steps, initial=0)]
    assert timeline.repaired == 0


def test_missing_timestamps_are_spaced_by_the_nominal_interval() -> None:
    assert placed_ms([None, None, None]) == [0, 40, 80]


def test_equal_timestamps_are_spaced_by_the_nominal_interval() -> None:
    assert placed_ms([0, 0, 0, 0]) == [0, 40, 80, 120]


def test_one_repeated_timestamp_does_not_shift_the_rest() -> None:
    assert placed_ms([0, 40, 40, 80, 120, 160]) == [0, 40, 80, 100, 120, 160]


def test_a_count_that_starts_again_goes_on_where_it_was() -> None:
    assert placed_ms([5000, 5040, 5080, 0, 41, 80]) == [0, 40, 80, 120, 161, 200]


def test_a_gap_of_hours_is_a_broken_timestamp() -> None:
    timeline = Timeline(MS, INTERVAL_NS)
    assert placed_ms([0, 40, 36_000_000, 36_000_040], timeline) == [0, 40, 80, 120]
    assert timeline.repaired == 1


def test_a_loop_is_seamless_and_no_repair() -> None:
    timeline = Timeline(MS, INTERVAL_NS)
    placed_ms([0, 40, 80], timeline)
    timeline.restart()
    assert placed_ms([0, 40], timeline) == [120, 160]
    assert timeline.repaired == 0
