"""A file that FFmpeg can read, decoded in software through PyAV: paced by its timestamps, or running free."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from fractions import Fraction
from itertools import chain
from typing import Final

import numpy as np
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from app.config.source_text import MediaSpec
from app.core.clock import NS_PER_S
from app.core.errors import SourceError
from app.engine.picture import Picture, Plane
from app.engine.sources.media_description import describe_media, nominal_rate_hz, picture_kind
from app.engine.sources.media_opening import next_packet, open_media
from app.engine.sources.pacing import PacedSource, Pacer
from app.engine.sources.source import Delivery
from app.engine.sources.timeline import Timeline
from app.ipc.messages import SourceInfo

FALLBACK_RATE_HZ: Final = Fraction(25)
"""Taken where a stream gives no believable rate; FFmpeg's own default for streams without one."""

_MOST_READ_ERRORS: Final = 16
_US_PER_S: Final = 1e6
_MOST_UNDER_WAY: Final = 256
_LONGEST_REORDERING_NS: Final = NS_PER_S

_Stamps = tuple[int, int]
"""When a packet was delivered and when it was given to the decoder, CLOCK_MONOTONIC ns."""


class MediaFileSource(PacedSource):
    """Implements `Source` for a video file.

    Live: each packet is delivered at its decode timestamp in real time and decoded at once. Time counts from the first
    picture's timestamp, and what lies before it (a stream with B-frames begins to decode earlier) comes with it: so no
    picture arrives later than its place in the film, however deep the reordering.
    The stamps keep to that schedule when the pipeline blocks: a file loses nothing, gets late, and catches up as fast
    as it decodes. Free: a packet is delivered whenever the decoder wants one.

    Args:
        spec: what to play and how.
        pacer: clock and waiting; a test gives one that does not sleep.

    Raises:
        SourceError: it cannot be played; the text says why and what to do.
    """

    def __init__(self, spec: MediaSpec, pacer: Pacer | None = None) -> None:
        super().__init__(pacer)
        self._spec = spec
        self._media, first = open_media(spec.location, low_delay=not spec.free)
        self._first_packet = _identity(self._media.probed[0])
        self._packets = self._remaining_packets()
        self._ready: deque[Delivery] = deque()
        self._notices: deque[str] = deque()
        self._counters = _Counters()
        self._under_way = _UnderWay()
        stream = self._media.stream
        rate_hz = nominal_rate_hz(stream)
        # A stream that claims an impossible rate (90 000 fps) does so because its timestamps are nonsense.
        self._timestamps_usable = rate_hz is not None or not (stream.average_rate or stream.guessed_rate)
        self._interval_ns = round(NS_PER_S / (rate_hz or FALLBACK_RATE_HZ))
        time_base = stream.time_base or 1 / (rate_hz or FALLBACK_RATE_HZ)
        self._delivery_line = Timeline(time_base, self._interval_ns)
        self._picture_line = Timeline(time_base, self._interval_ns)
        self._origin_ns: int | None = None
        self._begin_ns = 0
        self._finished = False
        self._reformatter = VideoReformatter()
        self._pictures_since_rewind = 0
        self._early_end_noted = False
        self._signature = _signature(first)
        self._kind = picture_kind(first, stream, self._media.chroma_siting)
        self._info = self._describe()
        try:
            self._picture(first)
        except SourceError:
            self.close()
            raise

    @property
    def info(self) -> SourceInfo:
        """What the file turned out to be; replaced when the stream changes its format."""
        return self._info

    def next(self) -> Delivery | None:
        """Block until the next picture is decoded; None at the end or after `interrupt`.

        A file that is cut short or damaged just ends, with a notice.

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

    def close(self) -> None:
        """Close the file; pictures still in use stay valid."""
        self._ready.clear()
        self._packets = iter(())
        self._media.container.close()

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call: repairs, damage, what cannot be shown as it is."""
        notices = [self._notices.popleft() for _ in range(len(self._notices))]
        return notices + self._counters.news(self._spec.location, self._picture_line.repaired, self._interval_ns)

    # --- reading ------------------------------------------------------------------------------------------------------

    def _decode_next_packet(self) -> None:
        packet = self._read_packet()
        if packet is None:
            self._drain_decoder()
            if not (self._spec.loop and not self._interrupted and self._rewind()):
                self._finished = True
            return
        arrive_ns = self._deliver(packet)
        if arrive_ns is not None:
            self._decode(packet, (arrive_ns, self._pacer.now_ns()))

    def _read_packet(self) -> Packet[VideoStream] | None:
        """Return the next packet of the video stream, None at the end of the file or where it cannot be read on."""
        reason = ""
        for errors in range(_MOST_READ_ERRORS):
            try:
                packet = next_packet(self._packets)
            except FFmpegError as error:
                # FFmpeg can go on after damage; PyAV's iterator cannot, so it is replaced.
                reason = error.strerror or "unknown reason"
                self._packets = self._media.container.demux(self._media.stream)
                continue
            if packet is not None:
                self._counters.corrupt_packets += errors
            if packet is not None or errors == 0:
                return packet
            break
        self._note_early_end(reason)
        return None

    def _note_early_end(self, reason: str) -> None:
        """Say once, not in every loop, that the file is damaged or was cut off."""
        if not self._early_end_noted:
            self._early_end_noted = True
            self._notices.append(f"{self._spec.location}: cut short or damaged ({reason}); played up to there")

    def _deliver(self, packet: Packet[VideoStream]) -> int | None:
        """Wait until the packet's time and return it; None after `interrupt`."""
        offset_ns = self._delivery_line.place(self._decode_timestamp(packet))
        while not self._interrupted:
            self._apply_postponement()
            if self._spec.free:
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
        if not self._timestamps_usable or packet.pts is None or packet.dts is None:
            return 0
        ahead_ns = int((packet.pts - packet.dts) * (self._media.stream.time_base or 0) * NS_PER_S)
        return min(max(ahead_ns, 0), _LONGEST_REORDERING_NS)

    def _rewind(self) -> bool:
        """Go back to the first packet so that the next loop follows without a gap; False when nothing can be read."""
        media = self._media
        if self._pictures_since_rewind == 0:
            return False
        self._pictures_since_rewind = 0
        try:
            media.decoder.flush_buffers()
            media.container.seek(media.container.start_time or 0)
            packets = media.container.demux(media.stream)
            first = next_packet(packets)
        except FFmpegError:
            first, packets = None, iter(())
        if first is not None and _identity(first) == self._first_packet:
            self._packets = chain([first], packets)
        elif not self._reopen():
            return False
        self._under_way.clear()
        self._delivery_line.restart()
        self._picture_line.restart()
        return True

    def _reopen(self) -> bool:
        """Open the file anew, where seeking does not lead back to the first packet (raw streams, some MPEG-TS)."""
        try:
            media, _ = open_media(self._spec.location, low_delay=not self._spec.free)
        except SourceError as error:
            self._notices.append(f"the loop ends: {error}")
            return False
        self._media.container.close()
        self._media = media
        self._packets = self._remaining_packets()
        return True

    def _remaining_packets(self) -> Iterator[Packet[VideoStream]]:
        return chain(self._media.probed, self._media.packets)

    # --- decoding -----------------------------------------------------------------------------------------------------

    def _decode(self, packet: Packet[VideoStream], stamps: _Stamps) -> None:
        self._under_way.put(packet, stamps)
        try:
            frames = self._media.decoder.decode(packet)
        except FFmpegError:
            self._counters.corrupt_packets += 1
            return
        self._queue(frames, stamps)

    def _drain_decoder(self) -> None:
        """Fetch the pictures that the decoder still holds back for reordering."""
        now_ns = self._pacer.now_ns()
        try:
            frames = self._media.decoder.decode(None)
        except FFmpegError:
            # At its end already, or nothing decodable left: both mean that no picture is due.
            return
        self._queue(frames, (now_ns, now_ns))

    def _queue(self, frames: list[VideoFrame], fallback: _Stamps) -> None:
        decode_end_ns = self._pacer.now_ns()
        self._pictures_since_rewind += len(frames)
        for frame in frames:
            arrive_ns, decode_start_ns = self._under_way.take(frame) or fallback
            change = self._note_format(frame)
            self._ready.append(
                Delivery(
                    self._picture(frame),
                    self._picture_line.place(self._timestamp(frame)),
                    arrive_ns,
                    decode_start_ns,
                    decode_end_ns,
                    frame.key_frame,
                    change,
                )
            )
            if frame.is_corrupt:
                self._counters.damaged_pictures += 1

    def _decode_timestamp(self, packet: Packet[VideoStream]) -> int | None:
        if not self._timestamps_usable:
            return None
        # Matroska has no decode timestamps and FFmpeg needs some packets to derive them; without reordering they are
        # the presentation timestamps.
        if packet.dts is None and not self._media.decoder.has_b_frames:
            return packet.pts
        return packet.dts

    def _timestamp(self, frame: VideoFrame) -> int | None:
        if not self._timestamps_usable:
            return None
        # AVI has decode timestamps only; a decoder gives pictures out in their order, so these serve as well.
        return frame.pts if frame.pts is not None else frame.dts

    def _note_format(self, frame: VideoFrame) -> str:
        """Follow a change of format inside the stream; return what changed, or ""."""
        signature = _signature(frame)
        if signature == self._signature:
            return ""
        before, self._signature = self._kind, signature
        self._kind = picture_kind(frame, self._media.stream, self._media.chroma_siting)
        change = self._kind.change_since(before)
        if change:
            self._info = self._describe()
        return change

    def _picture(self, frame: VideoFrame) -> Picture:
        kind = self._kind
        if kind.rearranged_to:
            frame = self._rearranged(frame)
        planes = frame.planes[: kind.format.plane_count]
        return Picture(kind.format, tuple([_plane(plane) for plane in planes]), keep=frame)

    def _rearranged(self, frame: VideoFrame) -> VideoFrame:
        try:
            return self._reformatter.reformat(frame, format=self._kind.rearranged_to)
        except FFmpegError as error:
            self._finished = True
            raise SourceError(
                f"{self._spec.location}: pixel format {self._kind.decoded_name} cannot be shown ({error.strerror}); "
                "convert it, for example with: ffmpeg -i INPUT -pix_fmt yuv420p OUTPUT.mp4"
            ) from error

    def _apply_postponement(self) -> None:
        """Move the schedule and the stamps of all that is under way by what it was put off since the last time."""
        by_ns = self._postponement.take()
        if not by_ns:
            return
        if self._origin_ns is not None:
            self._origin_ns += by_ns
            self._begin_ns += by_ns
        self._under_way.put_off(by_ns)
        for delivery in self._ready:
            delivery.put_off(by_ns)

    def _describe(self) -> SourceInfo:
        self._notices.extend(f"{self._spec.location}: {notice}" for notice in self._kind.notices)
        duration_us = self._media.container.duration
        return describe_media(
            self._spec, self._media.stream, self._kind, duration_us / _US_PER_S if duration_us else None
        )


class _UnderWay:
    """Stamps of the packets that the decoder has been given, until their pictures come out.

    Found again by timestamp, which a decoder hands from packet to picture. FFmpeg's own mark for this (`copy_opaque`)
    is not used: PyAV frees it with the interpreter's lock in whichever thread lets go of it, and dav1d's threads, being
    waited for by a thread that holds this lock, then wait for ever (seen with PyAV 18.1).
    """

    def __init__(self) -> None:
        self._by_timestamp: dict[int, _Stamps] = {}
        self._without_timestamp: deque[_Stamps] = deque(maxlen=_MOST_UNDER_WAY)

    def put(self, packet: Packet[VideoStream], stamps: _Stamps) -> None:
        """Remember the stamps of a packet. What never became a picture is forgotten, oldest first."""
        timestamp = packet.pts if packet.pts is not None else packet.dts
        if timestamp is None:
            self._without_timestamp.append(stamps)
            return
        self._by_timestamp[timestamp] = stamps
        if len(self._by_timestamp) > _MOST_UNDER_WAY:
            del self._by_timestamp[next(iter(self._by_timestamp))]

    def take(self, frame: VideoFrame) -> _Stamps | None:
        """Return the stamps of a picture's packet, in decode order where there are no timestamps; None if unknown."""
        timestamp = frame.pts if frame.pts is not None else frame.dts
        if timestamp is not None:
            return self._by_timestamp.pop(timestamp, None)
        return self._without_timestamp.popleft() if self._without_timestamp else None

    def put_off(self, by_ns: int) -> None:
        """Move all stamps."""
        for timestamp, (arrive_ns, start_ns) in self._by_timestamp.items():
            self._by_timestamp[timestamp] = (arrive_ns + by_ns, start_ns + by_ns)
        for index, (arrive_ns, start_ns) in enumerate(self._without_timestamp):
            self._without_timestamp[index] = (arrive_ns + by_ns, start_ns + by_ns)

    def clear(self) -> None:
        """Forget everything, after the decoder was flushed."""
        self._by_timestamp.clear()
        self._without_timestamp.clear()


class _Counters:
    """Faults of the stream, counted by the decode thread and put into words when somebody asks."""

    def __init__(self) -> None:
        self.corrupt_packets = 0
        self.damaged_pictures = 0
        self._told_packets = 0
        self._told_pictures = 0
        self._told_repairs = False

    def news(self, location: str, repaired: int, interval_ns: int) -> list[str]:
        """Return a sentence for each kind of fault that came up since the last call; repairs are told once."""
        news = []
        packets, pictures = self.corrupt_packets - self._told_packets, self.damaged_pictures - self._told_pictures
        self._told_packets += packets
        self._told_pictures += pictures
        if packets:
            news.append(f"{location}: {packets} corrupt {_plural('packet', packets)} skipped")
        if pictures:
            news.append(f"{location}: {pictures} {_plural('picture', pictures)} shown with decoding errors")
        if repaired and not self._told_repairs:
            self._told_repairs = True
            rate = f"{NS_PER_S / interval_ns:.6g} fps"
            news.append(f"{location}: timestamps are missing or broken; such frames are placed by the rate of {rate}")
        return news


def _plane(plane: VideoPlane) -> Plane:
    stride_bytes = plane.line_size
    if stride_bytes > 0:
        return Plane(plane, stride_bytes)
    # Bottom-up pictures (raw video in AVI): PyAV's buffer starts with the last row.
    rows = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, -stride_bytes)
    return Plane(np.ascontiguousarray(rows[::-1]).reshape(-1).data, -stride_bytes)


def _signature(frame: VideoFrame) -> tuple[object, ...]:
    """Return all that can change the picture format from one frame to the next; compared for every frame."""
    return (frame.width, frame.height, frame.format.name, frame.colorspace, frame.color_range, frame.rotation)


def _identity(packet: Packet[VideoStream]) -> tuple[int | None, int | None, int]:
    return packet.pts, packet.dts, packet.size


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
