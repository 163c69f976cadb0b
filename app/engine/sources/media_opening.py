"""Opens a video through FFmpeg, decodes up to the first picture, and says in a sentence what is wrong if it cannot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import av.logging
from av.codec.context import Flags, ThreadType
from av.container import InputContainer
from av.error import ExitError, FFmpegError
from av.packet import Packet
from av.stream import Discard, Disposition
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from app.core.errors import SourceError
from app.engine.sources.hardware_decoding import HARDWARE_NAME, HardwareDecoding, NoHardwareError
from app.engine.sources.media_address import MediaAddress, plain_reason

PROBE_PACKETS: Final = 500
"""Packets tried before giving up on a stream that yields no picture; about ten seconds."""

_DUMPED_SITING: Final = re.compile(
    r"Stream #\d+:(\d+).*?: Video: .*?[(,] ?(left|center|topleft|top|bottomleft|bottom)\)"
)


@dataclass(slots=True)
class OpenedMedia:
    """A container that is open and known to hold at least one picture.

    Attributes:
        container, stream, decoder: PyAV's objects; the decoder has been given `probed`.
        first: the picture that came out.
        probed: the packets that were read to get at it.
        packets: those that follow.
        chroma_siting: FFmpeg's name of the chroma location, "" when the stream does not say.
        hardware: `NVDEC` when the pictures are decoded there, "" in software.
        no_hardware: why they are not, "" when it was not tried.
    """

    container: InputContainer
    stream: VideoStream
    decoder: VideoCodecContext
    first: VideoFrame
    probed: list[Packet[VideoStream]]
    packets: Iterator[Packet[VideoStream]]
    chroma_siting: str
    hardware: str = ""
    no_hardware: str = ""

    @property
    def duration_s(self) -> float | None:
        """Length in seconds, None when it is not known, as of a live stream."""
        duration_us = self.container.duration
        return duration_us / 1e6 if duration_us else None

    def packets_anew(self) -> Iterator[Packet[VideoStream]]:
        """Return an iterator over what follows; PyAV's own is spent after an error, where FFmpeg can go on."""
        self.packets = self.container.demux(self.stream)
        return self.packets


def open_media(address: MediaAddress, *, low_delay: bool, hardware: HardwareDecoding | None = None) -> OpenedMedia:
    """Open a container and decode its first picture, to learn its format.

    Args:
        address: what to open.
        low_delay: let the decoder give each picture out as soon as it can (live), instead of decoding several at once
            for the highest rate.
        hardware: how to try NVDEC; None leaves it out.

    Raises:
        SourceError: it cannot be played; the text says why and what to do.
    """
    fault = hardware.device_fault() if hardware else ""
    if hardware and not fault:
        try:
            return _open(address, low_delay, hardware)
        except NoHardwareError as refusal:
            fault = str(refusal)
    media = _open(address, low_delay, None)
    media.no_hardware = fault
    return media


def next_packet(packets: Iterator[Packet[VideoStream]]) -> Packet[VideoStream] | None:
    """Return the next packet that holds data, None at the end of the file.

    Raises:
        FFmpegError: there is damage; `packets` is spent, a new iterator goes on behind it.
    """
    try:
        return next((packet for packet in packets if packet.size), None)
    except IndexError:
        # PyAV 18.1 at the end of a damaged MPEG-TS: a stream that came up while reading is missing from its list.
        return None


def _open(address: MediaAddress, low_delay: bool, hardware: HardwareDecoding | None) -> OpenedMedia:
    container = address.open(hardware.accelerator() if hardware else None)
    try:
        stream = _video_stream(container, address)
        decoder = _set_up_decoder(stream, low_delay)
        if hardware:
            hardware.set_up(decoder)
        probed, packets, first = _probe(container, stream, address)
        siting = _chroma_siting(container, stream.index)
        return OpenedMedia(
            container, stream, decoder, first, probed, packets, siting, HARDWARE_NAME if hardware else ""
        )
    except SourceError as error:
        container.close()
        if hardware is None:
            raise
        # Whether it is the stream's fault or the decoder's, the trial in software will tell.
        raise NoHardwareError("cannot decode this stream") from error
    except BaseException:
        container.close()
        raise


def _video_stream(container: InputContainer, address: MediaAddress) -> VideoStream:
    videos = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    if not videos:
        kinds = ", ".join(sorted({stream.type for stream in container.streams}))
        found = f"no video in it, only {kinds}" if kinds else "nothing playable in it"
        raise SourceError(f"{address.name}: there is {found}; {address.cures.no_video}")
    stream = max(videos, key=lambda video: bool(video.disposition & Disposition.default))
    # A stream's codec context is None, against PyAV's annotation, when FFmpeg has no decoder for it.
    if getattr(stream, "codec_context", None) is None:
        raise SourceError(f"{address.name}: no decoder for its video codec in this FFmpeg; {address.cures.no_decoder}")
    for other in container.streams:
        if other.index != stream.index:
            other.discard = Discard.all
    return stream


def _set_up_decoder(stream: VideoStream, low_delay: bool) -> VideoCodecContext:
    decoder = stream.codec_context
    # Frame threads decode n pictures at once and give each out n pictures later: best rate, worst delay.
    decoder.thread_type = ThreadType.SLICE if low_delay else ThreadType.AUTO
    # dav1d keeps its own frame threads, and this flag alone limits them. The MPEG decoders take it as a promise that
    # nothing is reordered, which a file does not give.
    if low_delay and decoder.codec.name == "libdav1d":
        decoder.flags |= Flags.low_delay
    return decoder


def _probe(
    container: InputContainer, stream: VideoStream, address: MediaAddress
) -> tuple[list[Packet[VideoStream]], Iterator[Packet[VideoStream]], VideoFrame]:
    """Read until a picture comes out; return what was read, what follows, and the picture."""
    packets = container.demux(stream)
    probed: list[Packet[VideoStream]] = []
    reason = ""
    for _ in range(PROBE_PACKETS):
        try:
            packet = next_packet(packets)
        except FFmpegError as error:
            reason = reason or plain_reason(error)
            if isinstance(error, ExitError):
                break
            packets = container.demux(stream)
            continue
        try:
            pictures = stream.codec_context.decode(packet)
        except FFmpegError as error:
            reason = reason or plain_reason(error)
            pictures = []
        if packet is not None:
            probed.append(packet)
        if pictures:
            return probed, packets, pictures[0]
        if packet is None:
            break
    raise SourceError(
        f"{address.name}: no picture could be decoded from its {stream.codec_context.name} stream "
        f"({reason or 'it ends before its first picture'}); {address.cures.no_picture}"
    )


def _chroma_siting(container: InputContainer, stream_index: int) -> str:
    """Return FFmpeg's name of the stream's chroma location, "" when it is not tagged.

    PyAV 18 has no attribute for it; FFmpeg's own dump of the container at its "verbose" level is the one place that
    shows it. PyAV's log callback is on for that call alone.
    """
    level = av.logging.get_level()
    av.logging.set_level(av.logging.VERBOSE)
    av.logging.set_libav_level(av.logging.VERBOSE)
    try:
        dump: str = container.dumps_format()  # type: ignore[attr-defined]  # left out of PyAV's stub
    finally:
        av.logging.set_libav_level(av.logging.INFO)
        av.logging.set_level(level)
    for line in dump.splitlines():
        match = _DUMPED_SITING.search(line)
        if match and int(match[1]) == stream_index:
            return match[2]
    return ""
