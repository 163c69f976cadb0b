"""BALANCED's delay: it follows what frames need, never above the limit, never faster than 1 ms a second."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_MS, NS_PER_S
from app.engine.playout_delay import LEAST_FRAMES, WINDOW_FRAMES, PlayoutDelay, ReadyTimes, follow_delay

LIMIT_NS = 33 * NS_PER_MS
WANTED = st.one_of(st.just(math.nan), st.floats(0, 500 * NS_PER_MS))


@given(st.lists(st.tuples(WANTED, st.integers(0, 2 * NS_PER_S)), max_size=50))
def test_the_delay_stays_within_the_limit_and_moves_a_millisecond_a_second_at_most(
    steps: list[tuple[float, int]],
) -> None:
    state = PlayoutDelay(LIMIT_NS, 0)
    now_ns = 0
    for wanted_ns, passed_ns in steps:
        now_ns += passed_ns
        moved = follow_delay(state, wanted_ns, LIMIT_NS, now_ns)
        assert 0 <= moved.delay_ns <= LIMIT_NS
        assert abs(moved.delay_ns - state.delay_ns) <= passed_ns * 1e-3 + 1
        state = moved


def test_the_delay_arrives_where_frames_want_it_and_stays_there() -> None:
    state = PlayoutDelay(LIMIT_NS, 0)
    for second in range(60):
        state = follow_delay(state, 8 * NS_PER_MS, LIMIT_NS, second * NS_PER_S)
    assert state.delay_ns == pytest.approx(8 * NS_PER_MS)


def test_a_limit_lowered_below_the_delay_acts_at_once() -> None:
    assert follow_delay(PlayoutDelay(LIMIT_NS, 0), math.nan, 5 * NS_PER_MS, 1).delay_ns == 5 * NS_PER_MS


def test_without_enough_frames_nothing_is_wanted() -> None:
    times = ReadyTimes()
    for _ in range(LEAST_FRAMES - 1):
        times.add(5)
    assert math.isnan(times.p99_ns)
    times.add(5)
    assert times.p99_ns == 5
    times.forget()
    assert math.isnan(times.p99_ns)


def test_the_p99_is_that_of_the_newest_window() -> None:
    times = ReadyTimes()
    values = np.random.default_rng(1).normal(10 * NS_PER_MS, NS_PER_MS, 3 * WINDOW_FRAMES).astype(np.int64)
    for value in values:
        times.add(int(value))
    expected = np.percentile(values[-WINDOW_FRAMES:], 99, method="higher")
    assert times.p99_ns == expected
