"""The simulated network keeps order, rate and the meaning of a stall, whatever the numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.sources.arrival_schedule import ARRIVAL_BUFFER_FRAMES, Arrival, ArrivalBuffer, ArrivalSchedule

MS = 1_000_000
RATES = st.sampled_from([1.0, 23.976, 24.0, 59.94, 60.0, 120.0, 1000.0])


def arrivals(schedule: ArrivalSchedule, count: int) -> list[int]:
    return [schedule.next_ns() for _ in range(count)]


@given(RATES, st.floats(0, 100), st.floats(0, 1), st.integers(0, 500), st.integers(0, 2**32))
def test_frames_arrive_in_order(rate_hz: float, jitter_ms: float, stall: float, stall_ms: int, seed: int) -> None:
    schedule = ArrivalSchedule(
        rate_hz, jitter_sd_ns=jitter_ms * MS, stall_probability=stall, stall_ns=stall_ms * MS, seed=seed
    )
    assert np.all(np.diff([0, *arrivals(schedule, 300)]) >= 0)


@given(RATES)
def test_without_jitter_frame_n_arrives_at_n_over_the_rate_and_never_drifts(rate_hz: float) -> None:
    times = arrivals(ArrivalSchedule(rate_hz), 5000)
    assert times[-1] == round(4999 * 1e9 / rate_hz)
    assert np.abs(np.array(times) - np.arange(5000) * 1e9 / rate_hz).max() <= 0.5


@given(RATES, st.floats(0, 1), st.integers(0, 2000), st.integers(0, 2**32))
def test_a_stall_delays_no_frame_by_more_than_its_length(rate_hz: float, stall: float, ms: int, seed: int) -> None:
    schedule = ArrivalSchedule(rate_hz, stall_probability=stall, stall_ns=ms * MS, seed=seed)
    delay = np.array(arrivals(schedule, 500)) - np.rint(np.arange(500) * 1e9 / rate_hz)
    assert delay.min() >= 0
    assert delay.max() <= ms * MS


def test_what_falls_due_in_a_stall_arrives_together_at_its_end() -> None:
    schedule = ArrivalSchedule(100.0, stall_probability=1.0, stall_ns=35 * MS)
    assert [time // MS for time in arrivals(schedule, 9)] == [35, 35, 35, 35, 75, 75, 75, 75, 115]


def test_the_jitter_has_the_deviation_asked_for_and_no_bias() -> None:
    times = np.array(arrivals(ArrivalSchedule(60.0, jitter_sd_ns=2 * MS, seed=5), 20_000))
    jitter_ms = (times - np.arange(20_000) * 1e9 / 60) / MS
    assert jitter_ms.std() == pytest.approx(2.0, rel=0.03)
    assert jitter_ms.mean() == pytest.approx(0.0, abs=0.05)
    assert times[0] == 0


def test_a_seed_repeats_the_run_and_another_one_does_not() -> None:
    first, again, other = (
        arrivals(ArrivalSchedule(60.0, jitter_sd_ns=3 * MS, stall_probability=0.1, stall_ns=50 * MS, seed=seed), 200)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


@given(st.lists(st.integers(0, 2000), min_size=1, max_size=200), st.integers(0, 40), st.integers(0, 2**32))
def test_every_frame_is_taken_once_in_order_and_never_before_it_arrived(
    pauses_ms: list[int], capacity: int, seed: int
) -> None:
    buffer = ArrivalBuffer(ArrivalSchedule(60.0, jitter_sd_ns=5 * MS, seed=seed), capacity)
    now_ns = 10**12
    buffer.start(now_ns)
    taken: list[Arrival] = []
    for pause_ms in pauses_ms:
        arrival = buffer.take(now_ns)
        if arrival is not None:
            assert arrival.arrive_ns <= now_ns
            taken.append(arrival)
        now_ns += pause_ms * MS
    assert [arrival.number for arrival in taken] == list(range(len(taken)))


def test_when_more_wait_than_fit_the_oldest_are_lost() -> None:
    buffer = ArrivalBuffer(ArrivalSchedule(100.0))
    buffer.start(0)
    waited = 50
    taken = [buffer.take((waited - 1) * 10 * MS) for _ in range(waited)]
    assert buffer.take((waited - 1) * 10 * MS) is None
    lost = [arrival.number for arrival in taken if arrival is not None and arrival.lost]
    assert lost == list(range(waited - ARRIVAL_BUFFER_FRAMES))


def test_putting_off_moves_what_waits_and_what_comes() -> None:
    buffer = ArrivalBuffer(ArrivalSchedule(100.0))
    buffer.start(0)
    assert buffer.take(25 * MS) == Arrival(0, 0)
    buffer.put_off(9000 * MS)
    assert buffer.take(9025 * MS) == Arrival(1, 9010 * MS)
    assert buffer.take(9025 * MS) == Arrival(2, 9020 * MS)
    assert buffer.next_arrival_ns == 9030 * MS


@given(st.integers(1, 400), st.integers(1, 20_000))
def test_no_frame_is_handed_out_before_it_arrives_however_its_arrival_was_put_off(asked_ms: int, by_ms: int) -> None:
    """What came while the time that is left out ran is not there yet: it comes as much later as it came after."""
    buffer = ArrivalBuffer(ArrivalSchedule(100.0))
    buffer.start(0)
    buffer.take(asked_ms * MS)
    buffer.put_off(by_ms * MS)
    now_ns, taken = asked_ms * MS, 0
    while taken < 60:
        arrival = buffer.take(now_ns)
        if arrival is None:
            assert buffer.next_arrival_ns > now_ns
            now_ns = buffer.next_arrival_ns
        else:
            taken += 1
            assert arrival.arrive_ns <= now_ns
