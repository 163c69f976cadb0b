"""Encode records between two threads: one writes, one takes, neither waits."""

from __future__ import annotations

from typing import Final

from app.core.encode_records import ENCODE_DTYPE, EncodeArray, empty_encode_records

CAPACITY: Final = 8192
"""Rows between two takings: 16 s at 500 fps, where they are taken every half second."""

EncodeRow = tuple[int, int, int, int, int, int, int, int, int, int, int]
"""A row in the order of `ENCODE_DTYPE`."""


class RecordRing:
    """Rows in memory that is made once. What is not taken in time is written over, oldest first, and counted.

    Attributes:
        overwritten: rows that nobody took in time.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._rows = empty_encode_records(capacity)
        self._written = 0
        self._taken = 0
        self.overwritten = 0

    def append(self, row: EncodeRow) -> None:
        """Writing thread: add a row."""
        self._rows[self._written % len(self._rows)] = row
        self._written += 1

    def take(self) -> EncodeArray:
        """Taking thread: return the rows since the last call, oldest first."""
        end = self._written
        start = max(self._taken, end - len(self._rows))
        rows = self._rows.take(range(start, end), mode="wrap") if end > start else empty_encode_records(0)
        # What the writer came round to meanwhile may be torn: it is dropped with what it replaced.
        whole_from = max(start, min(end, self._written - len(self._rows)))
        self.overwritten += whole_from - self._taken
        self._taken = end
        taken: EncodeArray = rows[whole_from - start :]
        assert taken.dtype == ENCODE_DTYPE
        return taken
