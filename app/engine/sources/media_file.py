"""A film that FFmpeg can read, from a file or from a server: paced by its timestamps, or running free."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from av.error import FFmpegError
from av.packet import Packet
from av.video.stream import VideoStream

from app.core.clock import NS_PER_S
from app.core.errors import SourceError
from app.engine.sources.hardware_decoding import HardwareDecoding
from app.engine.sources.media_address import MediaAddress
from app.engine.sources.media_decoding import MediaDecoder
from app.engine.sources.media_description import Playback
from app.engine.sources.media_opening import OpenedMedia, next_packet, open_media
from app.engine.sources.pacing import PacedSource, Pacer
from app.engine.sources.packet_reading import DirectReader, PacketReader
from app.engine.sources.source import Delivery
from app.ipc.messages import SourceInfo

_LONGEST_REORDERING_NS: Final = NS_PER_S


class MediaFileSource(PacedSource):
    """Implements `Source` for a film.

    Live: each packet is delivered at its decode timestamp in real time and decoded at once. Time counts from the first
    picture's timestamp, and what lies before it (a stream with B-frames begins to decode earlier) comes with it: so no
    picture arrives later than its place in the film, however deep the reordering.
    The stamps keep to that schedule when the pipeline blocks: a film loses nothing, gets late, and catches up as fast
    as it decodes. Free: a packet is delivered whenever the decoder wants one.

    Args:
        address: where the film is.
        playback: how to play it.
        pacer: clock and waiting; a test gives one that does not sleep.
        hardware: how to try NVDEC; None leaves it out.
        media: the film, where it has been opened already.
        reader: makes what reads its packets.

    Raises:
        SourceError: it cannot be played; the text says why and what to do.
    """

    def __init__(
        self,
        address: MediaAddress,
        playback: Playback,
        pacer: Pacer | None = None,
        *,
        hardware: HardwareDecoding | None = None,
        media: OpenedMedia | None = None,
        reader: Callable[[OpenedMedia], PacketReader] = DirectReader,
    ) -> None:
        super().__init__(pacer)
        self._address = address
        self._playback = playback
        self._hardware = hardware
        self._new_reader = reader
        self._probed: Iterator[Packet[VideoStream]] = iter(())
        self._media = media or self._open()
        self._first_packet = _identity(self._media.probed[0])
        try:
            self._decoder = MediaDecoder(address, self._media, playback, self._pacer.now_ns)
        except SourceError:
            self._media.container.close()
            raise
        self._delivery_line = self._decoder.timing.timeline()
        self._begin_with(self._media)
        self._ready: deque[Delivery] = deque()
        self._notices: deque[str] = deque()
        self._origin_ns: int | None = None
        self._begin_ns = 0
        self._finished = False
        self._pictures_at_rewind = 0
        self._early_end_noted = False

    @property
    def info(self) -> SourceInfo:
        """What the film turned out to be; replaced when the stream changes its format."""
        return self._decoder.info

    def next(self) -> Delivery | None:
        """Block until the next picture is decoded; None at the end or after `interrupt`.

        A film that is cut short or damaged just ends, with a notice.

        Raises:
            SourceError: the stream changed to a pixel format that cannot be shown.
        """
        while not self._interrupted:
            self._apply_postponement()
            if self._ready:
                return self._ready.popleft()
            if self._finished:
                return None
            self._decode_next_packet()
        return None

    def interrupt(self) -> None:
        """Make a blocked `next` return None soon."""
        super().interrupt()
        self._reader.interrupt()

    def close(self) -> None:
        """Close the film; pictures still in use stay valid."""
        self._ready.clear()
        self._probed = iter(())
        self._reader.close()

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call: repairs, damage, what cannot be shown as it is."""
        notices = [self._notices.popleft() for _ in range(len(self._notices))]
        return notices + self._decoder.take_notices()

    # --- reading ------------------------------------------------------------------------------------------------------

    def _open(self) -> OpenedMedia:
        return open_media(self._address, low_delay=not self._playback.free, hardware=self._hardware)

    def _begin_with(self, media: OpenedMedia) -> None:
        """Read from the first packet, whose picture was decoded to learn the format."""
        self._media = media
        media.decoder.flush_buffers()
        self._probed = iter(media.probed)
        self._reader = self._new_reader(media)

    def _decode_next_packet(self) -> None:
        packet = next(self._probed, None)
        if packet is None:
            packet = self._read_packet()
        if packet is None:
            self._ready.extend(self._decoder.drain())
            if not (self._playback.loop and not self._interrupted and self._rewind()):
                self._finished = True
            return
        arrive_ns = self._deliver(packet)
        if arrive_ns is not None:
            self._decode(packet, arrive_ns)

    def _decode(self, packet: Packet[VideoStream], arrive_ns: int) -> None:
        try:
            self._ready.extend(self._decoder.decode(packet, arrive_ns))
        except SourceError:
            self._finished = True
            raise

    def _read_packet(self) -> Packet[VideoStream] | None:
        packet = self._reader.next()
        self._decoder.count_corrupt(self._reader.take_corrupt())
        if packet is None and self._reader.broken_off:
            self._note_early_end(self._reader.broken_off)
        return packet

    def _note_early_end(self, reason: str) -> None:
        """Say once, not in every loop, that the film is damaged or was cut off."""
        if not self._early_end_noted:
            self._early_end_noted = True
            self._notices.append(f"{self._address.name}: cut short or damaged ({reason}); played up to there")

    def _deliver(self, packet: Packet[VideoStream]) -> int | None:
        """Wait until the packet's time and return it; None after `interrupt`."""
        offset_ns = self._delivery_line.place(self._decode_timestamp(packet))
        while not self._interrupted:
            self._apply_postponement()
            if self._playback.free:
                return self._pacer.now_ns()
            if self._origin_ns is None:
                self._begin_ns = self._pacer.now_ns()
                self._origin_ns = self._begin_ns - offset_ns - self._reordering_ns(packet)
            arrive_ns = max(self._begin_ns, self._origin_ns + offset_ns)
            if self._pacer.wait_until_ns(arrive_ns):
                return arrive_ns
        return None

    def _reordering_ns(self, packet: Packet[VideoStream]) -> int:
        """Return how long before its picture's time the first packet is decoded; 0 without reordering."""
        if not self._decoder.timing.usable or packet.pts is None or packet.dts is None:
            return 0
        ahead_ns = int((packet.pts - packet.dts) * (self._media.stream.time_base or 0) * NS_PER_S)
        return min(max(ahead_ns, 0), _LONGEST_REORDERING_NS)

    def _decode_timestamp(self, packet: Packet[VideoStream]) -> int | None:
        if not self._decoder.timing.usable:
            return None
        # Matroska has no decode timestamps and FFmpeg needs some packets to derive them; without reordering they are
        # the presentation timestamps.
        if packet.dts is None and not self._media.decoder.has_b_frames:
            return packet.pts
        return packet.dts

    def _rewind(self) -> bool:
        """Go back to the first packet so that the next loop follows without a gap; False when nothing can be read."""
        if self._decoder.pictures == self._pictures_at_rewind:
            return False
        self._pictures_at_rewind = self._decoder.pictures
        if not (self._reader.can_seek and self._seek_to_start()) and not self._reopen():
            return False
        self._decoder.rewound(self._media)
        self._delivery_line.restart()
        return True

    def _seek_to_start(self) -> bool:
        """Seek, and tell whether that led to the first packet; in raw streams and some MPEG-TS it does not."""
        media = self._media
        try:
            media.decoder.flush_buffers()
            media.container.seek(media.container.start_time or 0)
            first = next_packet(media.packets_anew())
        except FFmpegError:
            return False
        if first is None or _identity(first) != self._first_packet:
            return False
        self._probed = iter([first])
        return True

    def _reopen(self) -> bool:
        try:
            media = self._open()
        except SourceError as error:
            self._notices.append(f"the loop ends: {error}")
            return False
        if self._interrupted:
            media.container.close()
            return False
        self._reader.close()
        self._begin_with(media)
        return True

    def _apply_postponement(self) -> None:
        """Move the schedule and the stamps of all that is under way by what it was put off since the last time."""
        by_ns = self._postponement.take()
        if not by_ns:
            return
        if self._origin_ns is not None:
            self._origin_ns += by_ns
            self._begin_ns += by_ns
        self._decoder.put_off(by_ns)
        for delivery in self._ready:
            delivery.put_off(by_ns)


def _identity(packet: Packet[VideoStream]) -> tuple[int | None, int | None, int]:
    return packet.pts, packet.dts, packet.size
