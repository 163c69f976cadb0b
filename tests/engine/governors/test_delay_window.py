"""The delay window is the p95 above the minimum of the last frames, whatever the zero of the timestamps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.governors.compensation import rate_of_delay
from app.engine.governors.delay_window import FEWEST_DELAYS, DelayWindow
from app.engine.sources.arrival_schedule import ArrivalSchedule
from tests.engine.governors.test_compensation import RULE

DELAYS = st.lists(st.integers(-(10**12), 10**12), max_size=200)


def window_of(delays_ns: list[int], frames: int = 64) -> DelayWindow:
    window = DelayWindow(frames)
    for delay_ns in delays_ns:
        window.add(delay_ns)
    return window


@given(DELAYS, st.integers(16, 96))
def test_it_is_numpy_s_quantile_of_the_last_frames(delays_ns: list[int], frames: int) -> None:
    p95_ms = window_of(delays_ns, frames).p95_ms()
    last = np.array(delays_ns[-frames:], np.int64)
    if len(last) < FEWEST_DELAYS:
        assert p95_ms is None
    else:
        assert p95_ms == pytest.approx(float(np.quantile(last - last.min(), 0.95)) / 1e6)


@given(st.lists(st.integers(0, 10**9), min_size=16, max_size=100), st.integers(-(10**17), 10**17))
def test_the_zero_of_the_timestamps_makes_no_difference(delays_ns: list[int], shift_ns: int) -> None:
    assert window_of([each + shift_ns for each in delays_ns]).p95_ms() == window_of(delays_ns).p95_ms()


def test_a_new_segment_begins_with_nothing() -> None:
    window = window_of([0, 10**9] * 40)
    window.clear()
    assert len(window) == 0
    assert window.p95_ms() is None
    for _ in range(FEWEST_DELAYS):
        window.add(5 * 10**9)
    assert window.p95_ms() == 0


def test_a_source_in_time_has_no_delay() -> None:
    assert window_of([123_456_789] * 64).p95_ms() == 0


def arrivals_with_a_stall(stall_ms: float) -> list[tuple[int, int]]:
    """Return (arrival, timestamp) of 256 frames of 60 fps, of which the 100th begins a stall."""
    calm = ArrivalSchedule(60.0, jitter_sd_ns=1_000_000, seed=3)
    arrivals = [calm.next_ns() for _ in range(256)]
    stall_end_ns = arrivals[100] + round(stall_ms * 1e6)
    arrivals[100:] = [max(arrival, stall_end_ns) for arrival in arrivals[100:]]
    return [(arrive_ns, round(number * 1e9 / 60)) for number, arrive_ns in enumerate(arrivals)]


@pytest.mark.parametrize("stall_ms", [0, 50, 250, 300, 400, 600, 900])
def test_a_stalling_source_is_braked_by_the_table(stall_ms: float) -> None:
    frames = arrivals_with_a_stall(stall_ms)
    p95_ms = window_of([arrive_ns - pts_ns for arrive_ns, pts_ns in frames], 256).p95_ms()
    assert p95_ms is not None
    # By hand: 13 of 256 frames lie above the p95, so it is the delay of the 13th frame of the stall.
    expected_ms = max(0.0, stall_ms - 12.75 * 1000 / 60)
    assert p95_ms == pytest.approx(expected_ms, abs=8)
    assert rate_of_delay(RULE.table, p95_ms) == pytest.approx(rate_of_delay(RULE.table, expected_ms), abs=3)


def test_the_longer_it_stalls_the_lower_the_rate() -> None:
    p95s = [
        window_of([a - p for a, p in arrivals_with_a_stall(stall_ms)], 256).p95_ms() for stall_ms in range(0, 900, 50)
    ]
    rates = [rate_of_delay(RULE.table, p95_ms) for p95_ms in p95s if p95_ms is not None]
    assert len(rates) == 18
    assert rates == sorted(rates, reverse=True)
    assert (rates[0], rates[-1]) == (60, 30)


@pytest.mark.parametrize("stall_ms", [300, 600])
def test_what_the_synthetic_source_calls_a_stall_is_seen(stall_ms: int) -> None:
    """The source's own schedule: `stall=0.01:600` makes p95 exceed 80 ms, and the table's rate lies below 45 fps."""
    schedule = ArrivalSchedule(60.0, stall_probability=0.01, stall_ns=stall_ms * 1_000_000, seed=5)
    delays_ns = [schedule.next_ns() - round(number * 1e9 / 60) for number in range(256)]
    p95_ms = window_of(delays_ns, 256).p95_ms()
    assert p95_ms is not None
    assert p95_ms > 80
    assert rate_of_delay(RULE.table, p95_ms) < 45
