"""Reading of a film's packets: from a file at once, from a server ahead of time in a thread of its own."""

from __future__ import annotations

import threading
from collections import deque
from typing import Final, Protocol

from av.error import ExitError, FFmpegError
from av.packet import Packet
from av.video.stream import VideoStream

from app.engine.sources.media_address import plain_reason
from app.engine.sources.media_opening import OpenedMedia, next_packet

PACKETS_AHEAD: Final = 256
"""Packets read ahead from a server: four seconds at 60 fps, to ride out a hitch of the network."""

_MOST_READ_ERRORS: Final = 16


class PacketReader(Protocol):
    """The packets of one opened film, in their order."""

    can_seek: bool
    """Whether the container may be sought in, between two calls of `next`."""

    @property
    def broken_off(self) -> str:
        """Why the film ended before its end, "" if it did not."""
        ...

    def next(self) -> Packet[VideoStream] | None:
        """Return the next packet; None at the end, where it cannot be read on, and after `interrupt`."""
        ...

    def take_corrupt(self) -> int:
        """Return how many packets could not be read since the last call, with others behind them that could."""
        ...

    def interrupt(self) -> None:
        """Make a blocked `next` return None soon, from any thread."""
        ...

    def close(self) -> None:
        """Close the container; after the last `next`."""
        ...


class DirectReader:
    """Implements `PacketReader` for what does not block: a packet is read when it is asked for."""

    can_seek = True

    def __init__(self, media: OpenedMedia) -> None:
        self._media = media
        self._corrupt = 0
        self.broken_off = ""

    def next(self) -> Packet[VideoStream] | None:
        """Return the next packet, skipping what is damaged."""
        reason = ""
        for errors in range(_MOST_READ_ERRORS):
            try:
                packet = next_packet(self._media.packets)
            except FFmpegError as error:
                reason = plain_reason(error)
                if isinstance(error, ExitError):
                    break
                self._media.packets_anew()
                continue
            if packet is not None:
                self._corrupt += errors
            if packet is not None or errors == 0:
                return packet
            break
        self.broken_off = reason
        return None

    def take_corrupt(self) -> int:
        """Return the count since the last call."""
        corrupt, self._corrupt = self._corrupt, 0
        return corrupt

    def interrupt(self) -> None:
        """Do nothing: `next` does not block for long."""

    def close(self) -> None:
        """Close the container."""
        self._media.container.close()


class PrefetchingReader:
    """Implements `PacketReader` for what may block: a thread reads ahead until `PACKETS_AHEAD` packets wait.

    FFmpeg's read can be ended by its own timeout alone, so an interrupted thread may live on for as long as that. It
    closes the container itself, once nobody uses its stream any more.
    """

    can_seek = False

    def __init__(self, media: OpenedMedia) -> None:
        self._reader = DirectReader(media)
        self._waiting: deque[Packet[VideoStream]] = deque()
        self._changed = threading.Condition()
        self._stopped = False
        self._finished = False
        self._released = threading.Event()
        self._thread = threading.Thread(target=self._read, name="prefetch", daemon=True)
        self._thread.start()

    @property
    def broken_off(self) -> str:
        """Why the film ended before its end."""
        return self._reader.broken_off

    def next(self) -> Packet[VideoStream] | None:
        """Wait for the next packet."""
        with self._changed:
            while not (self._waiting or self._finished or self._stopped):
                self._changed.wait()
            if self._stopped or not self._waiting:
                return None
            packet = self._waiting.popleft()
            self._changed.notify_all()
            return packet

    def take_corrupt(self) -> int:
        """Return the count since the last call."""
        return self._reader.take_corrupt()

    def interrupt(self) -> None:
        """End the waiting on both sides."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def close(self) -> None:
        """Let the thread close the container and end; it is not waited for."""
        self.interrupt()
        self._released.set()

    def _read(self) -> None:
        try:
            while not self._stopped and (packet := self._reader.next()) is not None:
                self._offer(packet)
        finally:
            with self._changed:
                self._finished = True
                self._changed.notify_all()
        self._released.wait()
        self._reader.close()

    def _offer(self, packet: Packet[VideoStream]) -> None:
        with self._changed:
            self._waiting.append(packet)
            self._changed.notify_all()
            while len(self._waiting) >= PACKETS_AHEAD and not self._stopped:
                self._changed.wait()
