"""Opens a video through FFmpeg, decodes up to the first picture, and says in a sentence what is wrong if it cannot."""

from __future__ import annotations

import difflib
import os
import re
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import av
import av.logging
from av.codec.context import Flags, ThreadType
from av.container import InputContainer
from av.error import FFmpegError, InvalidDataError
from av.packet import Packet
from av.stream import Discard, Disposition
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from app.core.errors import SourceError

PROBE_PACKETS: Final = 500
"""Packets tried before giving up on a stream that yields no picture; about ten seconds."""

_SNIFFED_BYTES: Final = 4096
_MP4_BOXES_READ: Final = 1000

_CONVERT: Final = "convert it, for example with: ffmpeg -i INPUT -c:v libx264 OUTPUT.mp4"

_DUMPED_SITING: Final = re.compile(
    r"Stream #\d+:(\d+).*?: Video: .*?[(,] ?(left|center|topleft|top|bottomleft|bottom)\)"
)


@dataclass(slots=True)
class OpenedMedia:
    """A container that is open and known to hold at least one picture.

    Attributes:
        container, stream, decoder: PyAV's objects; the decoder has been flushed and expects `probed` first.
        probed: the packets that were read to get at the first picture, to be decoded again.
        packets: those that follow.
        chroma_siting: FFmpeg's name of the chroma location, "" when the stream does not say.
    """

    container: InputContainer
    stream: VideoStream
    decoder: VideoCodecContext
    probed: list[Packet[VideoStream]]
    packets: Iterator[Packet[VideoStream]]
    chroma_siting: str


def open_media(location: str, *, low_delay: bool) -> tuple[OpenedMedia, VideoFrame]:
    """Open a file and decode its first picture, to learn its format; playing starts with that picture again.

    Args:
        location: path.
        low_delay: let the decoder give each picture out as soon as it can (live), instead of decoding several at once
            for the highest rate.

    Raises:
        SourceError: it cannot be played; the text says why and what to do.
    """
    container = _open_container(location)
    try:
        stream = _video_stream(container, location)
        decoder = _set_up_decoder(stream, low_delay)
        probed, packets, first = _probe(container, stream, location)
        decoder.flush_buffers()
        siting = _chroma_siting(container, stream.index)
        return OpenedMedia(container, stream, decoder, probed, packets, siting), first
    except BaseException:
        container.close()
        raise


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


def _open_container(location: str) -> InputContainer:
    path = Path(location)
    _check_file(path)
    try:
        # With "file:" a colon in a file name is not taken for a protocol.
        return av.open(f"file:{location}", mode="r", metadata_errors="replace")
    except FFmpegError as error:
        raise SourceError(_open_failure(path, error)) from error


def _check_file(path: Path) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SourceError(f"{path}: there is no such file; {_similar_name(path)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(f"{path}: {_lower(reason)}; check the path and its permissions") from None
    if stat.S_ISDIR(status.st_mode):
        raise SourceError(f"{path}: this is a folder; name a video file in it")
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f"{path}: this is a device or a pipe; name a video file")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise SourceError(f"{path}: this user may not read it; allow it with: chmod u+r '{path}' (as its owner)")
    if status.st_size == 0:
        raise SourceError(f"{path}: the file is empty (0 bytes); copy or record it again")


def _similar_name(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent} either; check the path"
    similar = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.with_name(similar[0])}?" if similar else "check the path"


def _open_failure(path: Path, error: FFmpegError) -> str:
    reason = _lower(error.strerror)
    if not isinstance(error, InvalidDataError):
        return f"{path}: cannot be opened ({reason}); check the file"
    if _is_mp4_without_index(path):
        return (
            f"{path}: the MP4 has no index (moov box), its recording or copy was cut off before the end; "
            "copy it again, or record to a format that survives a cut (Matroska, MPEG-TS, fragmented MP4)"
        )
    if _is_text(path):
        return f"{path}: this is a text file, not a video; name a video file"
    return f"{path}: not a video that FFmpeg can read ({reason}); check the file with ffprobe, or {_CONVERT}"


def _is_mp4_without_index(path: Path) -> bool:
    boxes = list(_mp4_boxes(path))
    return boxes[:1] == [b"ftyp"] and not {b"moov", b"moof"} & set(boxes)


def _mp4_boxes(path: Path) -> Iterator[bytes]:
    """Yield the types of the top-level boxes (ISO/IEC 14496-12, 4.2) as far as they are whole or begun."""
    end = path.stat().st_size
    with path.open("rb") as file:
        for _ in range(_MP4_BOXES_READ):
            header = file.read(16)
            if len(header) < 8:
                return
            size, kind = struct.unpack(">I4s", header[:8])
            yield kind
            if size == 1 and len(header) == 16:
                size = struct.unpack(">Q", header[8:])[0]
            next_box = file.tell() - len(header) + size
            if size < 8 or next_box >= end:
                return
            file.seek(next_box)


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        data = file.read(_SNIFFED_BYTES)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character cut by the end of what was read is no sign against text.
        if error.start < len(data) - 3:
            return False
        text = data[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\n\r\t\f" for character in text)


def _video_stream(container: InputContainer, location: str) -> VideoStream:
    videos = [stream for stream in container.streams.video if not stream.disposition & Disposition.attached_pic]
    if not videos:
        kinds = ", ".join(sorted({stream.type for stream in container.streams}))
        found = f"no video in it, only {kinds}" if kinds else "nothing playable in it"
        raise SourceError(f"{location}: there is {found}; name a file with a video stream")
    stream = max(videos, key=lambda video: bool(video.disposition & Disposition.default))
    # A stream's codec context is None, against PyAV's annotation, when FFmpeg has no decoder for it.
    if getattr(stream, "codec_context", None) is None:
        raise SourceError(f"{location}: no decoder for its video codec in this FFmpeg; {_CONVERT}")
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
    container: InputContainer, stream: VideoStream, location: str
) -> tuple[list[Packet[VideoStream]], Iterator[Packet[VideoStream]], VideoFrame]:
    """Read until a picture comes out; return what was read, what follows, and the picture."""
    packets = container.demux(stream)
    probed: list[Packet[VideoStream]] = []
    reason = ""
    for _ in range(PROBE_PACKETS):
        try:
            packet = next_packet(packets)
        except FFmpegError as error:
            reason = reason or _lower(error.strerror)
            packets = container.demux(stream)
            continue
        try:
            pictures = stream.codec_context.decode(packet)
        except FFmpegError as error:
            reason = reason or _lower(error.strerror)
            pictures = []
        if packet is not None:
            probed.append(packet)
        if pictures:
            return probed, packets, pictures[0]
        if packet is None:
            break
    raise SourceError(
        f"{location}: no picture could be decoded from its {stream.codec_context.name} stream "
        f"({reason or 'it ends before its first picture'}); check the file with ffprobe, or copy or record it again"
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


def _lower(text: str | None) -> str:
    return (text[:1].lower() + text[1:]) if text else "unknown reason"
