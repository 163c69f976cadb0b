"""A precise wait that another thread can cut short, without an allocation a wait."""

from __future__ import annotations

import threading
import time

from app.core.clock import NS_PER_S


class Doorbell:
    """One waiter, any number of ringers; rings while nobody waits are remembered once.

    A lock acquired with a time-out waits on CLOCK_MONOTONIC inside C without the interpreter lock; it wakes about 60 µs
    after its deadline here, where `threading.Event` also makes a new lock a wait.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._lock.acquire()

    def ring(self) -> None:
        """End the present wait, or the next one at once; from any thread."""
        try:
            self._lock.release()
        except RuntimeError:
            return  # already rung and not yet heard

    def wait_until_ns(self, deadline_ns: int) -> bool:
        """Wait for a ring until a CLOCK_MONOTONIC time; tell whether it rang."""
        remaining_ns = deadline_ns - time.monotonic_ns()
        if remaining_ns <= 0:
            return self._lock.acquire(blocking=False)
        return self._lock.acquire(timeout=remaining_ns / NS_PER_S)
