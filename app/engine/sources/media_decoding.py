"""The decoder of a video stream: packets in, deliveries out, each with the stamps of its own packet."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from fractions import Fraction
from typing import Final

import numpy as np
from av.error import FFmpegError
from av.packet import Packet
from av.video.frame import VideoFrame
from av.video.plane import VideoPlane
from av.video.reformatter import VideoReformatter
from av.video.stream import VideoStream

from app.core.clock import NS_PER_S
from app.core.errors import SourceError
from app.engine.picture import Picture, Plane
from app.engine.sources.media_address import MediaAddress
from app.engine.sources.media_description import Playback, describe_media, nominal_rate_hz, picture_kind
from app.engine.sources.media_opening import OpenedMedia
from app.engine.sources.source import Delivery
from app.engine.sources.timeline import Timeline
from app.ipc.messages import SourceInfo

FALLBACK_RATE_HZ: Final = Fraction(25)
"""Taken where a stream gives no believable rate; FFmpeg's own default for streams without one."""

_MOST_UNDER_WAY: Final = 256

Stamps = tuple[int, int]
"""When a packet was delivered and when it was given to the decoder, CLOCK_MONOTONIC ns."""


class StreamTiming:
    """What a stream says of its times, as far as it can be believed.

    Attributes:
        usable: the timestamps are; a stream that claims an impossible rate (90 000 fps) does so because they are not.
        interval_ns: nominal frame interval.
        time_base: seconds a tick.
    """

    def __init__(self, stream: VideoStream) -> None:
        rate_hz = nominal_rate_hz(stream)
        self.usable = rate_hz is not None or not (stream.average_rate or stream.guessed_rate)
        self.interval_ns = round(NS_PER_S / (rate_hz or FALLBACK_RATE_HZ))
        self.time_base = stream.time_base or 1 / (rate_hz or FALLBACK_RATE_HZ)

    def timeline(self) -> Timeline:
        """Return a new timeline in this stream's ticks."""
        return Timeline(self.time_base, self.interval_ns)


class MediaDecoder:
    """Decodes the video stream of an opened container and follows it when its format changes.

    Args:
        address: for messages.
        media: its stream; replaced by `follow` when the container is opened again.
        playback: for the description.
        now_ns: CLOCK_MONOTONIC, or what a test has in its place.

    Attributes:
        timing: what the stream says of its times.
        pictures: how many have come out.

    Raises:
        SourceError: pictures of this format cannot be shown.
    """

    def __init__(
        self, address: MediaAddress, media: OpenedMedia, playback: Playback, now_ns: Callable[[], int]
    ) -> None:
        self._now_ns = now_ns
        self._address = address
        self._media = media
        self._playback = playback
        self.timing = StreamTiming(media.stream)
        self._line = self.timing.timeline()
        self._under_way = _UnderWay()
        self._counters = _Counters()
        self._notices: deque[str] = deque()
        self._reformatter = VideoReformatter()
        self.pictures = 0
        self._signature = _signature(media.first)
        self._kind = picture_kind(media.first, media.stream, media.chroma_siting)
        self._info = self._describe()
        self._picture(media.first)

    @property
    def info(self) -> SourceInfo:
        """What the stream is; replaced when it changes its format."""
        return self._info

    def decode(self, packet: Packet[VideoStream], arrive_ns: int) -> list[Delivery]:
        """Decode a packet and return what comes out of it, which may be earlier pictures, several or none.

        Raises:
            SourceError: the stream changed to a pixel format that cannot be shown.
        """
        stamps = (arrive_ns, self._now_ns())
        self._under_way.put(packet, stamps)
        try:
            frames = self._media.decoder.decode(packet)
        except FFmpegError:
            self._counters.corrupt_packets += 1
            return []
        return self._deliveries(frames, stamps)

    def drain(self) -> list[Delivery]:
        """Return the pictures that the decoder still holds back for reordering; it takes no more packets then."""
        now_ns = self._now_ns()
        try:
            frames = self._media.decoder.decode(None)
        except FFmpegError:
            # At its end already, or nothing decodable left: both mean that no picture is due.
            return []
        return self._deliveries(frames, (now_ns, now_ns))

    def leave_out_probed(self) -> None:
        """Go on behind the packets that were read to learn the format, which the decoder has seen already.

        What it still holds of them comes out with an arrival stamp of 0: nobody knows when they came.
        """
        for packet in self._media.probed:
            self._under_way.put(packet, (0, 0))

    def rewound(self, media: OpenedMedia) -> None:
        """Go on with the same stream from its beginning, in time right behind what came before."""
        self._media = media
        self._under_way.clear()
        self._line.restart()

    def follow(self, media: OpenedMedia) -> str:
        """Go on with the stream of another container, from time 0; return what changed in the format, or ""."""
        self._media = media
        self._under_way.clear()
        self.timing = StreamTiming(media.stream)
        self._line = self.timing.timeline()
        return self._adopt(media.first)

    def restart_timeline(self) -> None:
        """Let the next picture, whatever its timestamp, follow by one interval."""
        self._line.restart()

    def put_off(self, by_ns: int) -> None:
        """Move the stamps of all packets whose pictures have not come out."""
        self._under_way.put_off(by_ns)

    def count_corrupt(self, packets: int) -> None:
        """Count packets that could not even be read."""
        self._counters.corrupt_packets += packets

    def take_notices(self) -> list[str]:
        """Return what came up since the last call: faults of the stream, what cannot be shown as it is."""
        notices = [self._notices.popleft() for _ in range(len(self._notices))]
        return notices + self._counters.news(self._address.name, self._line.repaired, self.timing.interval_ns)

    def _deliveries(self, frames: list[VideoFrame], fallback: Stamps) -> list[Delivery]:
        decode_end_ns = self._now_ns()
        self.pictures += len(frames)
        return [self._delivery(frame, fallback, decode_end_ns) for frame in frames]

    def _delivery(self, frame: VideoFrame, fallback: Stamps, decode_end_ns: int) -> Delivery:
        arrive_ns, decode_start_ns = self._under_way.take(frame) or fallback
        change = self._adopt(frame) if _signature(frame) != self._signature else ""
        if frame.is_corrupt:
            self._counters.damaged_pictures += 1
        return Delivery(
            self._picture(frame),
            self._line.place(self._timestamp(frame)),
            arrive_ns,
            decode_start_ns,
            decode_end_ns,
            frame.key_frame,
            change,
        )

    def _timestamp(self, frame: VideoFrame) -> int | None:
        if not self.timing.usable:
            return None
        # AVI has decode timestamps only; a decoder gives pictures out in their order, so these serve as well.
        return frame.pts if frame.pts is not None else frame.dts

    def _adopt(self, frame: VideoFrame) -> str:
        """Take the format of `frame` for the stream's; return what changed, or ""."""
        before, self._signature = self._kind, _signature(frame)
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
            raise SourceError(
                f"{self._address.name}: pixel format {self._kind.decoded_name} cannot be shown ({error.strerror}); "
                f"{self._address.cures.rearrange}"
            ) from error

    def _describe(self) -> SourceInfo:
        self._notices.extend(f"{self._address.name}: {notice}" for notice in self._kind.notices)
        return describe_media(self._playback, self._media, self._kind)


class _UnderWay:
    """Stamps of the packets that the decoder has been given, until their pictures come out.

    Found again by timestamp, which a decoder hands from packet to picture. FFmpeg's own mark for this (`copy_opaque`)
    is not used: PyAV frees it with the interpreter's lock in whichever thread lets go of it, and dav1d's threads, being
    waited for by a thread that holds this lock, then wait for ever (seen with PyAV 18.1).
    """

    def __init__(self) -> None:
        self._by_timestamp: dict[int, Stamps] = {}
        self._without_timestamp: deque[Stamps] = deque(maxlen=_MOST_UNDER_WAY)

    def put(self, packet: Packet[VideoStream], stamps: Stamps) -> None:
        """Remember the stamps of a packet. What never became a picture is forgotten, oldest first."""
        timestamp = packet.pts if packet.pts is not None else packet.dts
        if timestamp is None:
            self._without_timestamp.append(stamps)
            return
        self._by_timestamp[timestamp] = stamps
        if len(self._by_timestamp) > _MOST_UNDER_WAY:
            del self._by_timestamp[next(iter(self._by_timestamp))]

    def take(self, frame: VideoFrame) -> Stamps | None:
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


def _plural(noun: str, count: int) -> str:
    return noun if count == 1 else f"{noun}s"
