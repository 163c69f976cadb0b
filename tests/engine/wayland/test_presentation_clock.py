from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.wayland.presentation_clock import OFFSET_LIFE_NS, ClockSample, PresentationClock, best_offset_ns

SECOND_NS = 1_000_000_000
OTHER_CLOCK = 4


class Clocks:
    """Two clocks that tests turn: CLOCK_MONOTONIC, and one that runs `ppm` slower and began `offset_ns` later."""

    def __init__(self, offset_ns: int, ppm: float = 0.0, reading_ns: int = 100) -> None:
        self.now_ns = 50 * SECOND_NS
        self._offset_ns, self._ppm, self._reading_ns = offset_ns, ppm, reading_ns

    def read(self, clock_id: int) -> int:
        self.now_ns += self._reading_ns
        return self.now_ns if clock_id == time.CLOCK_MONOTONIC else self.other_ns(self.now_ns)

    def other_ns(self, monotonic_ns: int) -> int:
        """Return what the other clock shows at a time of CLOCK_MONOTONIC."""
        return round(monotonic_ns * (1 - self._ppm / 1e6)) - self._offset_ns


def test_stamps_of_the_monotonic_clock_are_taken_as_they_are() -> None:
    assert PresentationClock(time.CLOCK_MONOTONIC).to_monotonic_ns(12345) == 12345


@given(st.integers(-(10**15), 10**15), st.integers(-20_000_000, 20_000_000))
def test_a_stamp_of_another_clock_keeps_its_moment(offset_ns: int, age_ns: int) -> None:
    clocks = Clocks(offset_ns)
    clock = PresentationClock(OTHER_CLOCK, clocks.read)
    moment_ns = clocks.now_ns - age_ns  # a negative age is a predicted flip
    assert clock.to_monotonic_ns(clocks.other_ns(moment_ns)) == pytest.approx(moment_ns, abs=200)


@given(st.floats(-500, 500))
def test_clocks_that_drift_apart_are_followed(ppm: float) -> None:
    clocks = Clocks(3 * SECOND_NS, ppm)
    clock = PresentationClock(OTHER_CLOCK, clocks.read)
    for _ in range(200):
        clocks.now_ns += SECOND_NS // 60
        moment_ns = clocks.now_ns
        error_ns = clock.to_monotonic_ns(clocks.other_ns(moment_ns)) - moment_ns
        assert abs(error_ns) <= 500e-6 * (OFFSET_LIFE_NS + SECOND_NS // 60) + 500


def test_the_offset_is_measured_when_it_has_aged_and_not_at_every_stamp() -> None:
    clocks = Clocks(0)
    readings: list[int] = []

    def count(clock_id: int) -> int:
        readings.append(clock_id)
        return clocks.read(clock_id)

    clock = PresentationClock(OTHER_CLOCK, count)
    clock.to_monotonic_ns(clocks.now_ns)
    measured = len(readings)
    clock.to_monotonic_ns(clocks.now_ns)
    assert len(readings) == measured + 1
    clocks.now_ns += OFFSET_LIFE_NS
    clock.to_monotonic_ns(clocks.now_ns)
    assert len(readings) > measured + 2


@given(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 10**6)), min_size=1, max_size=8))
def test_the_offset_is_wrong_by_half_of_the_narrowest_sample_at_most(waits_ns: list[tuple[int, int]]) -> None:
    samples = [ClockSample(1000, 1000 + first - 77, 1000 + first + second) for first, second in waits_ns]
    narrowest_ns = min(sample.width_ns for sample in samples)
    assert abs(best_offset_ns(samples) - 77) <= narrowest_ns / 2 + 1


def test_a_clock_that_this_system_lacks_is_an_error_at_once() -> None:
    with pytest.raises(OSError, match="Invalid argument"):
        PresentationClock(4711)


@pytest.mark.parametrize("clock_id", [time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, time.CLOCK_BOOTTIME])
def test_the_systems_own_clocks_agree_on_a_moment(clock_id: int) -> None:
    clock = PresentationClock(clock_id)
    before_ns, stamp_ns, after_ns = time.monotonic_ns(), time.clock_gettime_ns(clock_id), time.monotonic_ns()
    assert before_ns - 50_000 <= clock.to_monotonic_ns(stamp_ns) <= after_ns + 50_000
