"""Timestamps of a stream as they should have been: from 0, rising, on one line over resets and loops."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from app.core.clock import NS_PER_S

LONGEST_GAP_NS: Final = 10 * NS_PER_S
"""A longer step forward is a broken timestamp, not a slow frame: a screen recording repeats a picture before that."""

LONGEST_STEP_BACK_NS: Final = 1 * NS_PER_S
"""A longer step backward is a new count (files joined end to end); a shorter one is a single bad timestamp."""


class Timeline:
    """Places timestamps of one stream in ns, strictly rising from 0, and counts those it had to repair.

    Args:
        time_base: seconds a tick.
        interval_ns: nominal frame interval, used where a timestamp is missing or broken.
    """

    def __init__(self, time_base: Fraction, interval_ns: int) -> None:
        self._numerator = time_base.numerator * NS_PER_S
        self._denominator = time_base.denominator
        self._interval_ns = interval_ns
        self._offset_ns: int | None = None
        self._last_ns = -interval_ns
        self._last_raw_ns: int | None = None
        self.repaired = 0

    def restart(self) -> None:
        """Let the next timestamp, whatever it is, follow the last one by one interval (a loop)."""
        self._offset_ns = None

    def place(self, ticks: int | None) -> int:
        """Return the time of the next frame; `ticks` is its timestamp, None where the stream has none."""
        if ticks is None:
            return self._repair(self._interval_ns)
        raw_ns = ticks * self._numerator // self._denominator
        if self._offset_ns is None:
            return self._accept(self._last_ns + self._interval_ns, raw_ns)
        step_ns = raw_ns + self._offset_ns - self._last_ns
        if 0 < step_ns <= LONGEST_GAP_NS:
            return self._accept(self._last_ns + step_ns, raw_ns)
        if step_ns > 0 or step_ns < -LONGEST_STEP_BACK_NS:
            self.repaired += 1
            return self._accept(self._last_ns + self._interval_ns, raw_ns)
        # A stream that goes on rising behind us was pushed ahead by an earlier repair: half steps let it catch up.
        rising = self._last_raw_ns is not None and raw_ns > self._last_raw_ns
        self._last_raw_ns = raw_ns
        return self._repair(max(1, self._interval_ns // 2) if rising else self._interval_ns)

    def _accept(self, placed_ns: int, raw_ns: int) -> int:
        self._offset_ns = placed_ns - raw_ns
        self._last_raw_ns = raw_ns
        self._last_ns = placed_ns
        return placed_ns

    def _repair(self, step_ns: int) -> int:
        self.repaired += 1
        self._last_ns += step_ns
        return self._last_ns
