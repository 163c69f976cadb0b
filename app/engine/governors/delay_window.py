"""The source's I/O delay over the last frames."""

from __future__ import annotations

from array import array
from typing import Final

import numpy as np

from app.core.clock import NS_PER_MS

FEWEST_DELAYS: Final = 16
"""Frames below which there is no percentile: fewer are a burst, not a state of the source."""


class DelayWindow:
    """A ring of the last `frames` delays `d_n = arrive_n − pts_n`, of which the p95 above the smallest is wanted.

    Where the zero of the timestamps lies makes no difference: the window's minimum is taken off, which stands for a
    delivery without any delay. So neither t0 is needed nor does the drift of a sender's clock add up.

    `add` and `clear` are the decode thread's, `p95_ms` is called by another one. There is no lock: a copy of the ring
    is made under the interpreter's own, and a value that is one frame old changes nothing.
    """

    def __init__(self, frames: int) -> None:
        self._ring = array("q", bytes(8 * frames))
        self._frames = frames
        self._next = 0
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def add(self, delay_ns: int) -> None:
        """Note the delay of the next frame, any zero; 0.1 µs."""
        self._ring[self._next] = delay_ns
        self._next = (self._next + 1) % self._frames
        if self._count < self._frames:
            self._count += 1

    def clear(self) -> None:
        """Forget everything: a new segment has another zero."""
        self._next = self._count = 0

    def p95_ms(self) -> float | None:
        """Return the 95th percentile (linear at 0.95·(N−1)) above the minimum, ms; None of too few frames."""
        delays_ns = np.frombuffer(self._ring[: self._count], np.int64)
        if len(delays_ns) < FEWEST_DELAYS:
            return None
        return float(np.quantile(delays_ns - delays_ns.min(), 0.95)) / NS_PER_MS
