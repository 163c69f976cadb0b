"""Messages of the preview stream as they come from another machine: judged first, then decoded."""

from __future__ import annotations

import base64
import binascii
import json
from collections import deque
from dataclasses import dataclass
from typing import Any, Final

from av.codec.context import CodecContext
from av.error import FFmpegError
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.reformatter import VideoReformatter

from app.engine.picture import Picture, Plane
from app.engine.sources.media_description import PictureKind, picture_kind

MAX_MESSAGE_BYTES: Final = 8 << 20
"""Of a message; a JPEG of 4K in good quality is half of that in Base64."""

_MAX_PIXELS: Final = 8192 * 8192
"""Of a picture: a few bytes can claim any size, and the decoder would reserve memory for it."""

_MAX_TIMESTAMP_MS: Final = 1e14  # the year 5138
_MAX_INDEX: Final = 2**63 - 1


class MalformedMessageError(ValueError):
    """A message that does not keep to the protocol; the text says in what."""


@dataclass(frozen=True, slots=True)
class PreviewMessage:
    """One message.

    Attributes:
        frame_index: position of the frame in the whole video, from 0.
        timestamp_ms: the server's time of the frame, in ms from an instant of its own choice.
        jpeg: the picture, not yet looked at.
    """

    frame_index: int
    timestamp_ms: float
    jpeg: bytes


def parse_preview_message(data: bytes) -> PreviewMessage:
    """Return what a message says.

    Raises:
        MalformedMessageError: it does not keep to the protocol.
    """
    try:
        fields = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise MalformedMessageError("it is no JSON") from error
    if not isinstance(fields, dict):
        raise MalformedMessageError("it is no JSON object")
    return PreviewMessage(_frame_index(fields), _timestamp_ms(fields), _jpeg(fields))


class MalformedCount:
    """Messages that could not be read: counted by the threads that find them, put into words when somebody asks.

    Attributes:
        last: what was wrong with the last one; "" while there was none.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._untold: deque[str] = deque()
        self.last = ""

    def add(self, reason: str) -> None:
        """Count one."""
        self.last = reason
        self._untold.append(reason)

    def news(self) -> list[str]:
        """Return a sentence when there were any since the last call."""
        reasons = [self._untold.popleft() for _ in range(len(self._untold))]
        if not reasons:
            return []
        count = "1 message" if len(reasons) == 1 else f"{len(reasons)} messages"
        return [f"{self._name}: {count} could not be read and had to be skipped; of the last: {reasons[-1]}"]


class JpegDecoder:
    """Decodes the pictures of one stream; belongs to one thread.

    Attributes:
        kind: what the last picture was; None before the first.
    """

    def __init__(self) -> None:
        self._context = _new_context()
        self._reformatter = VideoReformatter()
        self.kind: PictureKind | None = None

    def decode(self, jpeg: bytes) -> Picture:
        """Return the picture; `kind` says what it is.

        Raises:
            MalformedMessageError: it is no JPEG picture that can be decoded.
        """
        try:
            frames = self._context.decode(Packet(jpeg))
        except FFmpegError as error:
            self._context = _new_context()  # it may be waiting for the other half of a picture that never comes
            raise MalformedMessageError(f"its picture cannot be decoded ({error.strerror})") from error
        if len(frames) != 1:
            self._context = _new_context()
            raise MalformedMessageError(f"it holds {len(frames)} pictures instead of one")
        return self._picture(frames[0])

    def _picture(self, frame: VideoFrame) -> Picture:
        self.kind = kind = picture_kind(frame, self._context, "")
        if kind.rearranged_to:
            frame = self._reformatter.reformat(frame, format=kind.rearranged_to)
        planes = frame.planes[: kind.format.plane_count]
        return Picture(kind.format, tuple([Plane(plane, plane.line_size) for plane in planes]), keep=frame)


def _new_context() -> VideoCodecContext:
    context = CodecContext.create("mjpeg", "r")
    assert isinstance(context, VideoCodecContext)
    context.options = {"max_pixels": str(_MAX_PIXELS)}
    return context


def _frame_index(fields: dict[str, Any]) -> int:
    value = fields.get("frame_index")
    if type(value) is not int or not 0 <= value <= _MAX_INDEX:  # bool is an int to isinstance
        raise MalformedMessageError("its frame_index is no whole number from 0")
    return value


def _timestamp_ms(fields: dict[str, Any]) -> float:
    value: Any = fields.get("timestamp_ms")
    # The bounds refuse NaN and infinity too, which JSON does not have and Python reads.
    if type(value) not in (int, float) or not 0 <= value <= _MAX_TIMESTAMP_MS:
        raise MalformedMessageError("its timestamp_ms is no time in ms")
    return float(value)


def _jpeg(fields: dict[str, Any]) -> bytes:
    value = fields.get("data")
    try:
        jpeg = base64.b64decode(value, validate=True) if isinstance(value, str) else b""
    except (ValueError, binascii.Error) as error:
        raise MalformedMessageError("its data is no Base64") from error
    if not jpeg:
        raise MalformedMessageError("it holds no picture in data")
    return jpeg
