"""The newest rows of something that never ends, in memory that never grows."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt


class History:
    """The newest `capacity` rows of a structured dtype, always one contiguous view.

    The buffer has a quarter more room than it keeps; when it is full the kept rows move to its front, which costs one
    copy every `capacity / 4` rows. All pages are touched at construction, so the process does not grow while it fills.

    Args:
        dtype: of one row.
        capacity: rows kept.
    """

    def __init__(self, dtype: npt.DTypeLike, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a history keeps at least one row, got {capacity}")
        self._capacity = capacity
        self._buffer: npt.NDArray[Any] = np.empty(capacity + max(capacity // 4, 1), dtype)
        self._buffer.view(np.uint8)[:] = 0
        self._end = 0

    @property
    def rows(self) -> npt.NDArray[Any]:
        """The kept rows, oldest first: a view that is valid until the next `append`."""
        return self._buffer[max(0, self._end - self._capacity) : self._end]

    def append(self, rows: npt.NDArray[Any]) -> None:
        """Add rows, forgetting the oldest beyond the capacity."""
        rows = rows[-self._capacity :]
        if self._end + rows.size > self._buffer.size:
            self._make_room(self._capacity - rows.size)
        self._buffer[self._end : self._end + rows.size] = rows
        self._end += rows.size

    def clear(self) -> None:
        """Forget everything; the memory stays."""
        self._end = 0

    def _make_room(self, keep: int) -> None:
        keep = min(keep, self._end)
        self._buffer[:keep] = self._buffer[self._end - keep : self._end].copy()
        self._end = keep
