"""How a source waits: absolute deadlines on the monotonic clock, ended early by another thread when need be."""

from __future__ import annotations

import threading
import time
from typing import Protocol

from app.core.clock import NS_PER_S


class Pacer(Protocol):
    """A clock that waits and can be disturbed; a test gives one that does not sleep."""

    def now_ns(self) -> int:
        """Return CLOCK_MONOTONIC in ns."""
        ...

    def wait_until_ns(self, deadline_ns: int) -> bool:
        """Return True once the deadline has passed, False as soon as `disturb` was called since the last wait."""
        ...

    def disturb(self) -> None:
        """End the running wait, or the next one, from any thread."""
        ...


class Postponement:
    """How far a schedule is to be put off, and how far it has been: written by one thread each."""

    def __init__(self) -> None:
        self._wanted_ns = 0
        self.applied_ns = 0

    def add(self, by_ns: int) -> None:
        """Put off further; the thread that pauses."""
        self._wanted_ns += by_ns

    def take(self) -> int:
        """Return what has come since the last call, and count it as applied; the decode thread."""
        by_ns = self._wanted_ns - self.applied_ns
        self.applied_ns += by_ns
        return by_ns


class MonotonicPacer:
    """CLOCK_MONOTONIC. Returns about 0.1 ms late, the kernel's timer slack included (median measured on Linux 6).

    Arrival stamps are the schedule's, so this lateness shows as waiting before decode and never adds up.
    """

    def __init__(self) -> None:
        self._disturbed = threading.Event()

    def now_ns(self) -> int:
        """Return CLOCK_MONOTONIC in ns."""
        return time.monotonic_ns()

    def wait_until_ns(self, deadline_ns: int) -> bool:
        """Sleep to an absolute deadline or to a disturbance."""
        remaining_ns = deadline_ns - time.monotonic_ns()
        if not self._disturbed.wait(max(remaining_ns, 0) / NS_PER_S):
            return True
        self._disturbed.clear()
        return False

    def disturb(self) -> None:
        """End the running wait, or the next one."""
        self._disturbed.set()


class PacedSource:
    """The part of a `Source` that other threads reach: it can be put off and interrupted while it waits.

    Args:
        pacer: clock and waiting; None for the real clock.
    """

    def __init__(self, pacer: Pacer | None) -> None:
        self._pacer: Pacer = pacer or MonotonicPacer()
        self._postponement = Postponement()
        self._interrupted = False

    def put_off(self, by_ns: int) -> None:
        """Put off all that is not delivered yet."""
        self._postponement.add(by_ns)
        self._pacer.disturb()

    @property
    def postponed_ns(self) -> int:
        """How far the last delivery was put off in all."""
        return self._postponement.applied_ns

    def interrupt(self) -> None:
        """Make a blocked `next` return None soon."""
        self._interrupted = True
        self._pacer.disturb()
