"""Timestamps rise whatever a source does, and keep its spacing where it has one."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.encode.timeline import TICKS_PER_S, EncodeTimeline
from tests.engine.encode.pictures import INTERVAL_60_NS

TICKS_60 = TICKS_PER_S // 60

stamps = st.one_of(st.just(NO_STAMP_NS), st.integers(0, 10**15))
intervals = st.one_of(st.just(NO_STAMP_NS), st.integers(10**6, NS_PER_S))


@given(st.lists(st.tuples(st.integers(0, 3), stamps, intervals, st.integers(0, 10**15)), min_size=1))
def test_no_two_frames_share_a_timestamp_and_none_goes_back(frames: list[tuple[int, int, int, int]]) -> None:
    timeline = EncodeTimeline()
    ticks = [timeline.place(*frame) for frame in frames]
    assert ticks[0] == 0
    assert all(later > earlier for earlier, later in itertools.pairwise(ticks))


@given(st.lists(st.integers(1, 20), min_size=1, max_size=50))
def test_between_breaks_frames_lie_as_far_apart_as_in_the_source(steps: list[int]) -> None:
    timeline = EncodeTimeline()
    pts_ns, placed = 5 * NS_PER_S, []
    for step in [0, *steps]:
        pts_ns += step * INTERVAL_60_NS
        placed.append(timeline.place(1, pts_ns, INTERVAL_60_NS, 0))
    assert all(abs(ticks - sum(steps[:index]) * TICKS_60) <= 1 for index, ticks in enumerate(placed))


def test_a_pause_costs_one_interval() -> None:
    timeline = EncodeTimeline()
    timeline.place(1, 0, INTERVAL_60_NS, 0)
    assert timeline.place(2, 3600 * NS_PER_S, INTERVAL_60_NS, 0) in (TICKS_60 - 1, TICKS_60)


def test_a_source_that_begins_anew_goes_on_after_what_was() -> None:
    timeline = EncodeTimeline()
    before = [timeline.place(1, number * INTERVAL_60_NS, INTERVAL_60_NS, 0) for number in range(60)]
    again = timeline.place(1, 0, INTERVAL_60_NS, 0)
    assert again - before[-1] in (TICKS_60 - 1, TICKS_60)


def test_a_free_running_source_is_spaced_by_arrival() -> None:
    timeline = EncodeTimeline()
    placed = [timeline.place(1, 0, NO_STAMP_NS, 10**12 + number * 5_000_000) for number in range(4)]
    assert placed == [0, 450, 900, 1350]
