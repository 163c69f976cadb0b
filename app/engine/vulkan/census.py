"""A count of the Vulkan objects alive, so that a test (and the doctor) can tell a leak by its kind."""

from __future__ import annotations

import threading
from collections import Counter


class ObjectCensus:
    """How many objects of each kind exist. Safe from any thread; never used in the frame path."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counter[str] = Counter()

    def born(self, kind: str, count: int = 1) -> None:
        """Note that objects were made."""
        with self._lock:
            self._counts[kind] += count

    def died(self, kind: str, count: int = 1) -> None:
        """Note that objects were destroyed.

        Raises:
            AssertionError: more were destroyed than made, which is a fault of ours.
        """
        with self._lock:
            self._counts[kind] -= count
            assert self._counts[kind] >= 0, f"more {kind} destroyed than made"

    def live_objects(self) -> dict[str, int]:
        """Return kind → count of what is alive, kinds with none left out."""
        with self._lock:
            return {kind: count for kind, count in sorted(self._counts.items()) if count}
