"""What a live source sends, on its way from the thread that reads it to the one that decodes it."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, NamedTuple

from av.packet import Packet
from av.video.stream import VideoStream

from app.engine.sources.arrival_schedule import ARRIVAL_BUFFER_FRAMES
from app.engine.sources.media_opening import OpenedMedia

MOST_BEFORE_START: Final = 600
"""Packets that may wait before the first is asked for: what FFmpeg read to learn the format, ten seconds at 60 fps."""

MOST_WITHOUT_KEY_FRAME: Final = 300
"""Packets left out in wait of a key frame; then decoding goes on without, as streams with intra refresh have none."""

MOST_LOSSES_KEPT: Final = 4096


class PacketArrived(NamedTuple):
    """A packet, and when it was read (CLOCK_MONOTONIC ns)."""

    packet: Packet[VideoStream]
    arrive_ns: int


class PacketLost(NamedTuple):
    """A packet that was read at this time and found no room, or no key frame before it."""

    arrive_ns: int


class PacketsDamaged(NamedTuple):
    """This many packets could not be read."""

    packets: int


class ConnectionLost(NamedTuple):
    """Nothing more comes from this container, which is to be closed by who decodes it."""

    media: OpenedMedia


class ConnectionMade(NamedTuple):
    """The source is back after so long, in another container."""

    media: OpenedMedia
    gap_ns: int


LiveEvent = PacketArrived | PacketLost | PacketsDamaged | ConnectionLost | ConnectionMade


class LivePackets:
    """A bounded queue between the thread that reads a live source and the one that decodes it.

    When it is full the oldest packets are lost, up to the next key frame: what lies between cannot be decoded without
    them. Where no key frame waits, everything is lost up to the next one that comes. Nobody else takes the lock.

    Args:
        capacity: packets that may wait once decoding has caught up for the first time.

    Attributes:
        unrecorded: losses beyond those that wait to be recorded, in all.
    """

    def __init__(self, capacity: int = ARRIVAL_BUFFER_FRAMES) -> None:
        self._steady_capacity = capacity
        self._capacity = max(capacity, MOST_BEFORE_START)
        self._settled: deque[LiveEvent] = deque()
        self._waiting: deque[LiveEvent] = deque()
        self._packets = 0
        self._left_out = 0
        self._changed = threading.Condition()
        self._closed = False
        self.unrecorded = 0

    def put(self, packet: Packet[VideoStream], arrive_ns: int) -> None:
        """Add a packet; never waits."""
        with self._changed:
            if self._lacks_key_frame(packet):
                self._lose(arrive_ns)
            else:
                self._waiting.append(PacketArrived(packet, arrive_ns))
                self._packets += 1
                if self._packets > self._capacity:
                    self._make_room()
            self._changed.notify()

    def announce(self, event: PacketsDamaged | ConnectionLost | ConnectionMade) -> None:
        """Add what is no packet."""
        with self._changed:
            self._waiting.append(event)
            if isinstance(event, ConnectionMade):
                self._left_out = 0
            self._changed.notify()

    def skip_to_latest_key_frame(self) -> None:
        """Throw away what need not be decoded to show what comes next; nothing of it counts as lost."""
        with self._changed:
            while self._settled and isinstance(self._settled[0], PacketLost):
                self._settled.popleft()
            keys = [
                index
                for index, event in enumerate(self._waiting)
                if isinstance(event, PacketArrived) and event.packet.is_keyframe
            ]
            skipped = [self._waiting.popleft() for _ in range(keys[-1] if keys else 0)]
            kept = [event for event in skipped if not isinstance(event, PacketArrived)]
            self._packets -= len(skipped) - len(kept)
            self._settled.extend(kept)

    def take(self) -> LiveEvent | None:
        """Wait for what comes next; None once it is closed."""
        with self._changed:
            while not (self._settled or self._waiting or self._closed):
                self._changed.wait()
            if self._closed:
                return None
            if self._settled:
                return self._settled.popleft()
            event = self._waiting.popleft()
            self._packets -= isinstance(event, PacketArrived)
            if not self._waiting:
                self._capacity = self._steady_capacity
            return event

    def close(self) -> None:
        """End the waiting, from any thread."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def _lacks_key_frame(self, packet: Packet[VideoStream]) -> bool:
        """Tell whether a packet must be left out because a key frame was lost and none has come since."""
        if not self._left_out or packet.is_keyframe or self._left_out > MOST_WITHOUT_KEY_FRAME:
            self._left_out = 0
            return False
        self._left_out += 1
        return True

    def _make_room(self) -> None:
        lost = 0
        while self._waiting:
            event = self._waiting[0]
            if lost and (not isinstance(event, PacketArrived) or event.packet.is_keyframe):
                # Whatever comes next can be decoded: it has its key frame, or a decoder of its own.
                return
            self._waiting.popleft()
            if isinstance(event, PacketArrived):
                lost += 1
                self._packets -= 1
                self._lose(event.arrive_ns)
            else:
                self._settled.append(event)
        self._left_out = 1

    def _lose(self, arrive_ns: int) -> None:
        if len(self._settled) < MOST_LOSSES_KEPT:
            self._settled.append(PacketLost(arrive_ns))
        else:
            self.unrecorded += 1
