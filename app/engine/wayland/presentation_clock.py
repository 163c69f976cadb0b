"""The compositor's presentation clock, read into CLOCK_MONOTONIC.

wp_presentation stamps in a clock of the compositor's choice: headless Weston takes CLOCK_MONOTONIC_RAW, most others
CLOCK_MONOTONIC. The raw clock is not slewed by NTP, so the two drift apart by up to 500 ppm (50 µs in 0.1 s), and their
offset is measured again and again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from app.core.clock import NS_PER_MS

OFFSET_LIFE_NS: Final = 100 * NS_PER_MS
"""How long an offset is used: at 500 ppm it ages by 50 µs, and NTP rarely slews by more than 50 ppm."""

_SAMPLES: Final = 5

ReadClock = Callable[[int], int]
"""Takes a clock id and returns its time in ns, as `time.clock_gettime_ns` does."""


class ClockSample(NamedTuple):
    """A reading of another clock between two readings of CLOCK_MONOTONIC, all in ns."""

    before_ns: int
    other_ns: int
    after_ns: int

    @property
    def width_ns(self) -> int:
        """Return how far apart the two readings of CLOCK_MONOTONIC are; the offset is sure to half of it."""
        return self.after_ns - self.before_ns

    @property
    def offset_ns(self) -> int:
        """Return CLOCK_MONOTONIC minus the other clock."""
        return (self.before_ns + self.after_ns) // 2 - self.other_ns


def best_offset_ns(samples: Sequence[ClockSample]) -> int:
    """Return the offset of the narrowest sample: an interrupt between two readings only ever widens one."""
    return min(samples, key=lambda sample: sample.width_ns).offset_ns


class PresentationClock:
    """Turns stamps of a clock into CLOCK_MONOTONIC. Belongs to one thread.

    Args:
        clock_id: the clock, as `clock_gettime` numbers it.
        read_clock: reads a clock; None for the system's.

    Raises:
        OSError: this system has no such clock.
    """

    def __init__(self, clock_id: int, read_clock: ReadClock | None = None) -> None:
        self._clock_id = clock_id
        self._read_clock = read_clock or time.clock_gettime_ns
        self._offset_ns = 0
        self._measured_ns: int | None = None
        self._read_clock(clock_id)

    def to_monotonic_ns(self, stamp_ns: int) -> int:
        """Return a stamp of the clock as CLOCK_MONOTONIC ns. It may lie in the future (a predicted flip)."""
        if self._clock_id == time.CLOCK_MONOTONIC:
            return stamp_ns
        now_ns = self._read_clock(time.CLOCK_MONOTONIC)
        if self._measured_ns is None or now_ns - self._measured_ns > OFFSET_LIFE_NS:
            self._offset_ns = best_offset_ns([self._sample() for _ in range(_SAMPLES)])
            self._measured_ns = now_ns
        return stamp_ns + self._offset_ns

    def _sample(self) -> ClockSample:
        before_ns = self._read_clock(time.CLOCK_MONOTONIC)
        other_ns = self._read_clock(self._clock_id)
        return ClockSample(before_ns, other_ns, self._read_clock(time.CLOCK_MONOTONIC))
