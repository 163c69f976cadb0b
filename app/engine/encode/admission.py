"""The way into the encode branch: bounded, and never a wait for whoever offers."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from typing import Final

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.doorbell import Doorbell
from app.engine.picture import Picture

_LOOK_NS: Final = NS_PER_S
"""How often a waiting encode thread looks around unasked; it is rung for every frame and for the end."""


class Offered:
    """A frame in the branch: what identifies it, its stamps, and its picture until the encoder has it.

    Attributes:
        queue_in: frames in the branch when it was offered. number: position among those given to the encoder.
    """

    __slots__ = (
        "breaks_before",
        "encode_in_ns",
        "encode_start_ns",
        "frame_id",
        "number",
        "picture",
        "pts_ns",
        "queue_in",
        "source_index",
        "source_interval_ns",
    )

    def __init__(
        self,
        frame_id: int,
        source_index: int,
        breaks_before: int,
        pts_ns: int,
        source_interval_ns: int,
        picture: Picture,
    ) -> None:
        self.frame_id = frame_id
        self.source_index = source_index
        self.breaks_before = breaks_before
        self.pts_ns = pts_ns
        self.source_interval_ns = source_interval_ns
        self.picture: Picture | None = picture
        self.queue_in = 0
        self.number = 0
        self.encode_in_ns = time.monotonic_ns()
        self.encode_start_ns = NO_STAMP_NS


class Admission:
    """Hands frames from one offering thread to one taking thread; at most `depth` are waiting or inside at a time.

    Each count has one writer, so no lock is needed and the offering thread never waits. An encoder that by its settings
    keeps more frames than `depth` would never give one out: while it is idle and nothing waits, one more is let in.

    Attributes:
        admitted: frames let in so far; written by the offering thread.
    """

    def __init__(self, depth: int) -> None:
        self._depth = depth
        self._waiting: deque[Offered] = deque()
        self._bell = Doorbell()
        self.admitted = 0
        self._settled = 0  # written by the taking thread
        self._idle = False  # written by the taking thread
        self._closed = False

    @property
    def in_flight(self) -> int:
        """Return how many frames wait or are inside."""
        return self.admitted - self._settled

    def offer(self, offered: Offered) -> bool:
        """Offering thread: let a frame in, or tell that the branch is full. Never waits."""
        offered.queue_in = in_flight = self.admitted - self._settled
        if in_flight >= self._depth and not (self._idle and not self._waiting):
            return False
        self.admitted += 1
        self._waiting.append(offered)
        self._bell.ring()
        return True

    def next(self) -> Offered | None:
        """Taking thread: wait for a frame; None once closed and empty."""
        while not self._waiting:
            if self._closed:
                return None
            self._idle = True
            self._bell.wait_until_ns(time.monotonic_ns() + _LOOK_NS)
        self._idle = False
        try:
            return self._waiting.popleft()
        except IndexError:  # taken out by `drain`: the taking thread was given up
            return None

    def settle(self) -> None:
        """Taking thread: a frame has left the encoder."""
        self._settled += 1

    def close(self) -> None:
        """Let nothing more in from the taking thread's side and wake it; what waits is still handed out."""
        self._closed = True
        self._bell.ring()

    def drain(self) -> list[Offered]:
        """Take out all that waits; for the thread that gives the taking thread up."""
        left = []
        with contextlib.suppress(IndexError):
            while True:
                left.append(self._waiting.popleft())
        return left
