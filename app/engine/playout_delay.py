"""The adaptive playout delay of BALANCED: as short as the frames of late allow, moved too slowly to be seen."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np

WINDOW_FRAMES: Final = 256
"""Frames over which the p99 is taken: four seconds at 60 fps, so that one in a hundred is more than one frame."""

LEAST_FRAMES: Final = 32
"""With fewer there is no p99 worth following, and the delay stays where it is."""

FRAMES_A_LOOK: Final = 16
"""How often the p99 is worked out: 30 µs once in sixteen frames."""

SLEW_RATIO: Final = 1e-3
"""The delay moves by at most 1 ms a second, 0.1 % of the speed of the picture, so that the motion stays even."""


class PlayoutDelay(NamedTuple):
    """Where the delay stands (ns) and when it was last looked at (CLOCK_MONOTONIC ns)."""

    delay_ns: float
    looked_ns: int


def follow_delay(state: PlayoutDelay, wanted_ns: float, limit_ns: float, now_ns: int) -> PlayoutDelay:
    """Return the delay after it has moved towards `wanted_ns`, by at most 1 ms a second.

    Args:
        wanted_ns: p99 of recent arrival-to-ready times; NaN (not known yet) leaves the delay where it is.
        limit_ns: `render_latency_ms`. The delay is never above it: a limit lowered below it acts at once.
    """
    step_ns = max(0, now_ns - state.looked_ns) * SLEW_RATIO
    wanted_ns = state.delay_ns if math.isnan(wanted_ns) else min(wanted_ns, limit_ns)
    moved_ns = min(max(wanted_ns, state.delay_ns - step_ns), state.delay_ns + step_ns)
    return PlayoutDelay(min(moved_ns, limit_ns), max(now_ns, state.looked_ns))


class ReadyTimes:
    """Arrival-to-ready times of the last `WINDOW_FRAMES` frames; one thread.

    A frame's time counts from its place on the segment's clock (arrival of the first frame + its pts), not from its
    own arrival: a frame that arrived late must be waited for just as one that was decoded slowly.
    """

    def __init__(self) -> None:
        self._times_ns = np.empty(WINDOW_FRAMES)
        self._sorted_ns = np.empty(WINDOW_FRAMES)
        self._count = 0
        self._p99_ns = math.nan

    def add(self, time_ns: int) -> None:
        """Take the time of the next frame."""
        self._times_ns[self._count % WINDOW_FRAMES] = time_ns
        self._count += 1
        if self._count % FRAMES_A_LOOK == 0 and self._count >= LEAST_FRAMES:
            self._p99_ns = self._percentile_99()

    @property
    def p99_ns(self) -> float:
        """The 99th percentile; NaN until `LEAST_FRAMES` are known."""
        return self._p99_ns

    def forget(self) -> None:
        """Begin anew: another segment has another clock."""
        self._count = 0
        self._p99_ns = math.nan

    def _percentile_99(self) -> float:
        known = min(self._count, WINDOW_FRAMES)
        view = self._sorted_ns[:known]
        view[:] = self._times_ns[:known]
        view.sort()
        return float(view[math.ceil(0.99 * (known - 1))])
