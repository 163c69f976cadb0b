"""Bounded first-in-first-out queues between the stages, with an explicit policy for the full queue."""

from __future__ import annotations

import threading
from collections import deque
from typing import NamedTuple

from app.core.vocabulary import OverflowPolicy
from app.engine.frame import Frame


class Admission(NamedTuple):
    """What `FrameQueue.put` did.

    Attributes:
        accepted: the frame is in the queue.
        dropped: the frame that had to go (the oldest, or the new one itself), or None.
    """

    accepted: bool
    dropped: Frame | None


class FrameQueue:
    """A queue of frames between one producing and one consuming thread; its depth and policy may change at any time.

    The one lock is held for a few bytecodes at a time, by these two threads only.
    """

    def __init__(self, depth: int, policy: OverflowPolicy = OverflowPolicy.BLOCK) -> None:
        self._frames: deque[Frame] = deque()
        self._condition = threading.Condition()
        self._depth = depth
        self._policy = policy
        self._closed = False
        self._finished = False

    def __len__(self) -> int:
        return len(self._frames)

    def configure(self, depth: int, policy: OverflowPolicy = OverflowPolicy.BLOCK) -> None:
        """Set depth and policy; frames already waiting beyond a smaller depth stay and are taken in their turn."""
        with self._condition:
            self._depth = depth
            self._policy = policy
            self._condition.notify_all()

    def put(self, frame: Frame) -> Admission:
        """Add a frame; waits for room under `block`. A closed queue accepts nothing and drops nothing."""
        with self._condition:
            while len(self._frames) >= self._depth and not self._closed:
                if self._policy is OverflowPolicy.DROP_NEWEST:
                    return Admission(False, frame)
                if self._policy is OverflowPolicy.DROP_OLDEST:
                    oldest = self._frames.popleft()
                    self._frames.append(frame)
                    return Admission(True, oldest)
                self._condition.wait()
            if self._closed:
                return Admission(False, None)
            self._frames.append(frame)
            self._condition.notify_all()
            return Admission(True, None)

    def get(self) -> Frame | None:
        """Wait for the oldest frame and take it; None once the queue is closed, or finished and empty."""
        with self._condition:
            while not self._frames and not self._closed and not self._finished:
                self._condition.wait()
            return None if self._closed or not self._frames else self._pop()

    def look(self, position: int = 0) -> Frame | None:
        """Return the oldest frame or one behind it without taking it, None when there are fewer; never waits."""
        try:
            return self._frames[position]
        except IndexError:
            return None

    def take(self, frame: Frame) -> bool:
        """Take `frame` if it is still the oldest; False when the producer has dropped it meanwhile."""
        with self._condition:
            if not self._frames or self._frames[0] is not frame:
                return False
            self._pop()
            return True

    def finish(self) -> None:
        """Say that no frame will follow; those inside are still taken in their turn."""
        with self._condition:
            self._finished = True
            self._condition.notify_all()

    @property
    def is_exhausted(self) -> bool:
        """Whether the queue is empty and no frame will follow."""
        return self._finished and not self._frames

    def close(self) -> None:
        """Wake both sides; frames stay where they are, for the balance at the end of the run."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()

    def _pop(self) -> Frame:
        frame = self._frames.popleft()
        self._condition.notify_all()
        return frame


class SlotPool:
    """Numbers of free staging slots; the process thread takes, the present thread gives back."""

    def __init__(self) -> None:
        self._free: deque[int] = deque()
        self._condition = threading.Condition()
        self._count = 0
        self._closed = False

    @property
    def count(self) -> int:
        """Number of slots in all, free and taken."""
        return self._count

    def grow(self, count: int) -> None:
        """Add slots until there are `count`; never fewer than before."""
        with self._condition:
            self._free.extend(range(self._count, count))
            self._count = max(self._count, count)
            self._condition.notify_all()

    def take(self) -> int | None:
        """Wait for a free slot and take it; None once closed."""
        with self._condition:
            while not self._free and not self._closed:
                self._condition.wait()
            return None if self._closed else self._free.popleft()

    def give(self, slot: int) -> None:
        """Give a slot back."""
        with self._condition:
            self._free.append(slot)
            self._condition.notify_all()

    def close(self) -> None:
        """Wake a waiting `take`."""
        with self._condition:
            self._closed = True
            self._condition.notify_all()
