"""Timestamps of the coded video: strictly rising, and the source's own spacing wherever that is known."""

from __future__ import annotations

from typing import Final

from app.core.clock import NO_STAMP_NS, NS_PER_S

TICKS_PER_S: Final = 90_000
_STEP_WITHOUT_RATE_NS: Final = NS_PER_S // 60
"""Step over a break of a source that names no interval."""


class EncodeTimeline:
    """Places frames on one line of 90 kHz ticks from 0.

    Between breaks frames lie as far apart as in the source, so a skipped one leaves its gap. A break (the source broke
    off, or a time that does not advance) costs one interval: a stall of the source is none of the video. A source
    without interval runs free, and its frames lie as far apart as they came.

    The ticks are the frames' identity inside the encoder as well, which hands them from frame to packet: no two are
    equal.
    """

    def __init__(self) -> None:
        self._breaks: int | None = None
        self._last_ns = 0
        self._base_ns = 0
        self._base_ticks = 0
        self._last_ticks = -1

    def place(self, breaks_before: int, pts_ns: int, interval_ns: int, arrived_ns: int) -> int:
        """Return the next frame's timestamp in ticks.

        Args:
            breaks_before: how often the source broke off before it.
            pts_ns: presentation time in the source; `NO_STAMP_NS` when it has none.
            interval_ns: nominal interval of the source; `NO_STAMP_NS` when free-running.
            arrived_ns: when it reached the branch, CLOCK_MONOTONIC.
        """
        free = NO_STAMP_NS in (interval_ns, pts_ns)
        at_ns = arrived_ns if free else pts_ns
        if breaks_before != self._breaks or at_ns <= self._last_ns:
            self._begin(breaks_before, at_ns, _STEP_WITHOUT_RATE_NS if free else interval_ns)
        self._last_ns = at_ns
        ticks = self._base_ticks + (at_ns - self._base_ns) * TICKS_PER_S // NS_PER_S
        self._last_ticks = max(ticks, self._last_ticks + 1)
        return self._last_ticks

    def _begin(self, breaks_before: int, at_ns: int, step_ns: int) -> None:
        first = self._breaks is None
        self._breaks = breaks_before
        self._base_ns = at_ns
        self._base_ticks = 0 if first else self._last_ticks + step_ns * TICKS_PER_S // NS_PER_S
