"""When the frames of a simulated network source arrive: pure arithmetic, no clock."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

import numpy as np

from app.core.clock import NS_PER_S

ARRIVAL_BUFFER_FRAMES: Final = 32
"""Frames that may wait for the decoder, like the receive buffer of a network client; more, and the oldest are lost."""


class ArrivalSchedule:
    """Arrival times of a paced stream, in ns from its first frame, the same for the same seed.

    Frame n is due at n/rate plus a normally distributed jitter (none for frame 0, which sets the phase). Delivery keeps
    the order, so a frame never arrives before the one ahead of it. With a given probability a frame begins a stall: it
    and everything that falls due during the stall arrive together at its end. A stall neither shifts what comes later
    (the average rate is kept) nor begins within another.

    Args:
        rate_hz: nominal rate.
        jitter_sd_ns: standard deviation of the arrival jitter.
        stall_probability: chance of each frame outside a stall to begin one, 0–1.
        stall_ns: how long a stall lasts.
        seed: of both random draws.
    """

    def __init__(
        self,
        rate_hz: float,
        *,
        jitter_sd_ns: float = 0.0,
        stall_probability: float = 0.0,
        stall_ns: int = 0,
        seed: int = 0,
    ) -> None:
        self._rate_hz = rate_hz
        self._jitter_sd_ns = jitter_sd_ns
        self._stall_probability = stall_probability
        self._stall_ns = stall_ns
        self._random = np.random.default_rng(seed)
        self._frame = 0
        self._last_ns = 0
        self._stall_end_ns = 0

    def next_ns(self) -> int:
        """Return the arrival of the next frame."""
        offset_ns = round(self._frame * NS_PER_S / self._rate_hz)
        if self._jitter_sd_ns > 0 and self._frame > 0:
            offset_ns += round(self._random.normal(0.0, self._jitter_sd_ns))
        arrive_ns = max(offset_ns, self._last_ns, self._stall_end_ns)
        if self._stall_probability > 0 and self._begins_stall(offset_ns):
            self._stall_end_ns = arrive_ns = arrive_ns + self._stall_ns
        self._frame += 1
        self._last_ns = arrive_ns
        return arrive_ns

    def _begins_stall(self, offset_ns: int) -> bool:
        drawn = self._random.random() < self._stall_probability
        return drawn and offset_ns >= self._stall_end_ns


class Arrival(NamedTuple):
    """One frame that was delivered: its number, when (CLOCK_MONOTONIC ns), and whether it was lost for lack of room."""

    number: int
    arrive_ns: int
    lost: bool = False

    def later(self, by_ns: int) -> Arrival:
        """Return the same arrival, put off."""
        return self._replace(arrive_ns=self.arrive_ns + by_ns)


class ArrivalBuffer:
    """What a schedule has delivered and the decoder has not yet taken.

    Args:
        schedule: the arrivals.
        capacity: frames that may wait; when one more arrives, the oldest is lost.
    """

    def __init__(self, schedule: ArrivalSchedule, capacity: int = ARRIVAL_BUFFER_FRAMES) -> None:
        self._schedule = schedule
        self._capacity = capacity
        self._waiting: deque[Arrival] = deque()
        self._next_number = 0
        self._origin_ns = 0
        self._upcoming = Arrival(0, 0)

    def start(self, now_ns: int) -> None:
        """Begin: the first frame arrives now, the others by rate after it."""
        self._origin_ns = now_ns
        self._upcoming = self._draw()

    def put_off(self, by_ns: int) -> None:
        """Let everything not taken yet arrive later by this much: what came during the time left out is yet to come."""
        self._origin_ns += by_ns
        self._upcoming = self._upcoming.later(by_ns)
        self._waiting = deque(arrival.later(by_ns) for arrival in self._waiting)

    @property
    def next_arrival_ns(self) -> int:
        """When the next frame that has not arrived yet will do so."""
        return min(self._waiting[0].arrive_ns, self._upcoming.arrive_ns) if self._waiting else self._upcoming.arrive_ns

    def take(self, now_ns: int) -> Arrival | None:
        """Return the oldest frame that arrived up to now, lost or to be decoded; None when there is none."""
        while self._upcoming.arrive_ns <= now_ns and len(self._waiting) <= self._capacity:
            self._waiting.append(self._upcoming)
            self._upcoming = self._draw()
        if not self._waiting or self._waiting[0].arrive_ns > now_ns:
            return None
        overflowed = len(self._waiting) > self._capacity
        arrival = self._waiting.popleft()
        return arrival._replace(lost=True) if overflowed else arrival

    def _draw(self) -> Arrival:
        arrival = Arrival(self._next_number, self._origin_ns + self._schedule.next_ns())
        self._next_number += 1
        return arrival
