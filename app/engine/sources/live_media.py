"""A source that sends when it sends: a stream on the network, a camera."""

from __future__ import annotations

from collections import deque
from typing import Final

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.errors import SourceError
from app.engine.sources.arrival_schedule import ARRIVAL_BUFFER_FRAMES
from app.engine.sources.hardware_decoding import HardwareDecoding
from app.engine.sources.live_packets import (
    ConnectionLost,
    ConnectionMade,
    LiveEvent,
    LivePackets,
    PacketArrived,
    PacketLost,
    PacketsDamaged,
)
from app.engine.sources.live_reader import LiveReader
from app.engine.sources.media_address import MediaAddress
from app.engine.sources.media_decoding import MediaDecoder
from app.engine.sources.media_description import Playback
from app.engine.sources.media_opening import OpenedMedia, open_media
from app.engine.sources.pacing import PacedSource
from app.engine.sources.source import Delivery
from app.ipc.messages import SourceInfo

_JOIN_S: Final = 1.0
_WENT_ON: Final = "the live source went on while the display stood still"


class LiveMediaSource(PacedSource):
    """Implements `Source` for what arrives in its own time.

    A frame's `arrive_ns` is when FFmpeg handed out its packet, whatever its timestamp says. (MPEG-TS shows where a
    picture ends only by the next one's beginning, so there it is an interval after the picture's last byte.) What the
    decoder cannot take in time is lost (`decode_overflow`), as in the receive buffer of any client.

    A lost source is no end: it is tried again until `interrupt`, and the first frame after that begins a new segment.
    Nor can a live source be put off: what arrives during a pause is decoded, as later pictures are built on it, and
    left out, and what comes after it begins a new segment.

    Args:
        address: where it comes from.
        hardware: how to try NVDEC; None leaves it out.
        media: the source, where it has been opened already.
        capacity: packets that may wait for the decoder.

    Raises:
        SourceError: it cannot be opened; the text says why and what to do.
    """

    def __init__(
        self,
        address: MediaAddress,
        *,
        hardware: HardwareDecoding | None = None,
        media: OpenedMedia | None = None,
        capacity: int = ARRIVAL_BUFFER_FRAMES,
    ) -> None:
        super().__init__(None)
        self._address = address
        self._hardware = hardware
        media = media or self._open()
        self._notices = deque(address.shortcomings(media.stream))
        self._decoder = self._new_decoder(media)
        self._packets = LivePackets(capacity)
        self._reader = LiveReader(address.name, media, self._open, self._packets)
        self._ready: deque[Delivery] = deque()
        self._started = False
        self._leaving_out = True
        self._left_out = 0
        self._told_unrecorded = 0
        self._shown_from_ns = 0
        self._discontinuity = ""
        self._shift_ns: int | None = None
        self._last_pts_ns = NO_STAMP_NS
        self._last_arrive_ns = 0
        self._reader.start()

    @property
    def info(self) -> SourceInfo:
        """What the source turned out to be; replaced when the stream changes its format."""
        return self._decoder.info

    def next(self) -> Delivery | None:
        """Block until the next picture is decoded or lost; None after `interrupt`.

        Raises:
            SourceError: the stream changed to a pixel format that cannot be shown.
        """
        if not self._started:
            self._begin()
        while not self._interrupted:
            self._apply_postponement()
            if self._ready:
                return self._ready.popleft()
            event = self._packets.take()
            self._apply_postponement()
            if event is not None:
                self._handle(event)
        return None

    def put_off(self, by_ns: int) -> None:
        """Leave out what arrived until now: it came while nothing could be shown."""
        self._shown_from_ns = self._pacer.now_ns()
        super().put_off(by_ns)

    def interrupt(self) -> None:
        """Make a blocked `next` return None soon."""
        super().interrupt()
        self._reader.stop()
        self._packets.close()

    def close(self) -> None:
        """Let go of the source; pictures still in use stay valid."""
        self.interrupt()
        self._ready.clear()
        self._reader.close(_JOIN_S)

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call: losses, returns, damage, what was left out."""
        notices = [self._notices.popleft() for _ in range(len(self._notices))]
        return notices + self._reader.take_notices() + self._decoder.take_notices()

    # --- events -------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._started = True
        self._packets.skip_to_latest_key_frame()
        self._shown_from_ns = max(self._shown_from_ns, self._pacer.now_ns())

    def _handle(self, event: LiveEvent) -> None:
        match event:
            case PacketArrived(packet, arrive_ns):
                self._admit(self._decoder.decode(packet, arrive_ns))
            case PacketLost(arrive_ns):
                self._admit([Delivery(None, NO_STAMP_NS, arrive_ns, NO_STAMP_NS, NO_STAMP_NS)])
            case PacketsDamaged(packets):
                self._decoder.count_corrupt(packets)
            case ConnectionLost(media):
                self._admit(self._decoder.drain())
                media.container.close()
            case ConnectionMade(media, gap_ns):
                self._follow(media, gap_ns)

    def _follow(self, media: OpenedMedia, gap_ns: int) -> None:
        change = self._decoder.follow(media)
        self._decoder.leave_out_probed()
        self._note_discontinuity(f"the source was lost for {gap_ns / NS_PER_S:.1f} s")
        self._note_discontinuity(change)
        self._shift_ns = None
        self._leaving_out = True

    def _note_discontinuity(self, reason: str) -> None:
        self._discontinuity = ", ".join(filter(None, (self._discontinuity, reason)))

    def _admit(self, deliveries: list[Delivery]) -> None:
        for delivery in deliveries:
            if self._is_shown(delivery):
                self._ready.append(delivery if delivery.picture is None else self._placed(delivery))
            else:
                self._leave_out(delivery)

    def _is_shown(self, delivery: Delivery) -> bool:
        """Tell whether a delivery came in time to be shown; from the first that did, all are, though reordered."""
        self._leaving_out = self._leaving_out and delivery.arrive_ns < self._shown_from_ns
        return not self._leaving_out

    def _leave_out(self, delivery: Delivery) -> None:
        self._note_discontinuity(delivery.discontinuity)
        # What came before the first picture was asked for, or was read to learn the format, is nobody's loss.
        if delivery.arrive_ns > 0 and self._last_pts_ns != NO_STAMP_NS:
            self._left_out += 1

    def _placed(self, delivery: Delivery) -> Delivery:
        """Put a picture in its place on the stream's time, which goes over gaps as long as they lasted."""
        self._note_discontinuity(delivery.discontinuity)
        delivery.discontinuity, self._discontinuity = self._discontinuity, ""
        if self._shift_ns is None:
            self._shift_ns = self._resumed_pts_ns(delivery.arrive_ns) - delivery.pts_ns
            self._tell_losses()
        delivery.pts_ns += self._shift_ns
        self._last_pts_ns, self._last_arrive_ns = delivery.pts_ns, delivery.arrive_ns
        return delivery

    def _resumed_pts_ns(self, arrive_ns: int) -> int:
        if self._last_pts_ns == NO_STAMP_NS:
            return 0
        return self._last_pts_ns + max(1, arrive_ns - self._last_arrive_ns)

    def _apply_postponement(self) -> None:
        if not self._postponement.take() or self._last_pts_ns == NO_STAMP_NS:
            return
        self._shift_ns = None
        self._decoder.restart_timeline()
        if not self._discontinuity:
            self._note_discontinuity(_WENT_ON)
        self._leaving_out = True
        for delivery in [self._ready.popleft() for _ in range(len(self._ready))]:
            if self._is_shown(delivery):
                self._ready.append(delivery)
            else:
                self._leave_out(delivery)

    def _tell_losses(self) -> None:
        """Say what no record shows."""
        name = self._address.name
        if self._left_out:
            self._notices.append(
                f"{name}: {self._left_out} pictures came while nothing could be shown and are left out"
            )
            self._left_out = 0
        if unrecorded := self._packets.unrecorded - self._told_unrecorded:
            self._notices.append(f"{name}: {unrecorded} more pictures were lost than could be recorded")
            self._told_unrecorded += unrecorded

    # --- opening ------------------------------------------------------------------------------------------------------

    def _open(self) -> OpenedMedia:
        return open_media(self._address, low_delay=True, hardware=self._hardware)

    def _new_decoder(self, media: OpenedMedia) -> MediaDecoder:
        try:
            decoder = MediaDecoder(self._address, media, Playback(), self._pacer.now_ns)
        except SourceError:
            media.container.close()
            raise
        decoder.leave_out_probed()
        return decoder
