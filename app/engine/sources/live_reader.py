"""The thread that reads a live source for as long as it is wanted, and opens it again when it is lost."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final

from app.core.clock import NS_PER_S
from app.core.errors import SourceError
from app.engine.sources.live_packets import ConnectionLost, ConnectionMade, LivePackets, PacketsDamaged
from app.engine.sources.media_opening import OpenedMedia
from app.engine.sources.packet_reading import DirectReader

FIRST_RETRY_S: Final = 0.5
LONGEST_RETRY_S: Final = 8.0
ENDED: Final = "the sender ended the stream"


class LiveReader:
    """Reads packets as they come and stamps them; a lost source is tried again after 0.5, 1, 2, 4, then every 8 s.

    FFmpeg's read ends with the next packet, with the connection, or by its own timeout and not otherwise. So a thread
    that was stopped in a silence lives on until that timeout. It closes the container itself, once nobody uses its
    stream any more.

    Args:
        name: of the source, for messages.
        media: the source, opened.
        reopen: opens it again; raises `SourceError`.
        packets: where to put what is read.
    """

    def __init__(self, name: str, media: OpenedMedia, reopen: Callable[[], OpenedMedia], packets: LivePackets) -> None:
        self._name = name
        self._media = media
        self._reopen = reopen
        self._packets = packets
        self._notices: deque[str] = deque()
        self._stopped = threading.Event()
        self._released = threading.Event()
        self._last_arrive_ns = time.monotonic_ns()
        self._thread = threading.Thread(target=self._run, name="live reader", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """Read no more; from any thread, at once."""
        self._stopped.set()

    def close(self, timeout_s: float) -> None:
        """Let the thread close the container and end, and wait so long for it; with the next packet it does."""
        self.stop()
        self._released.set()
        self._thread.join(timeout_s)

    def take_notices(self) -> list[str]:
        """Return what became of the connection since the last call; from any thread."""
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def _run(self) -> None:
        media: OpenedMedia | None = self._media
        while media is not None:
            reason = self._read(media)
            if self._stopped.is_set():
                self._released.wait()
                media.container.close()
                return
            self._notices.append(f"{self._name}: the source was lost ({reason}); trying to reach it again")
            self._packets.announce(ConnectionLost(media))
            media = self._wait_for_return()

    def _read(self, media: OpenedMedia) -> str:
        """Read until the source is lost or no longer wanted; return why it was lost."""
        reader = DirectReader(media)
        while not self._stopped.is_set():
            packet = reader.next()
            if packet is None:
                return reader.broken_off or ENDED
            self._last_arrive_ns = time.monotonic_ns()
            self._packets.put(packet, self._last_arrive_ns)
            if corrupt := reader.take_corrupt():
                self._packets.announce(PacketsDamaged(corrupt))
        return ""

    def _wait_for_return(self) -> OpenedMedia | None:
        """Try to open the source until it works; None when it is no longer wanted."""
        pause_s, told = FIRST_RETRY_S, ""
        while not self._stopped.wait(pause_s):
            pause_s = min(2 * pause_s, LONGEST_RETRY_S)
            try:
                media = self._reopen()
            except SourceError as error:
                if str(error) != told:
                    told = str(error)
                    self._notices.append(told)
                continue
            now_ns = time.monotonic_ns()
            gap_ns = now_ns - self._last_arrive_ns
            self._notices.append(f"{self._name}: the source is back after {gap_ns / NS_PER_S:.1f} s")
            self._packets.announce(ConnectionMade(media, gap_ns))
            self._last_arrive_ns = now_ns
            return media
        return None
