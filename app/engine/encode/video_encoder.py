"""A real encoder of FFmpeg's behind a small interface, so that the branch can be tried with one that hangs."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final, Protocol, cast

import av
import av.logging
from av.packet import Packet
from av.video.codeccontext import VideoCodecContext

from app.core.errors import EngineError
from app.engine.encode.encoder_options import LIBX264
from app.engine.encode.packet_file import TIME_BASE
from app.engine.encode.picture_input import (
    PictureInput,
    coded_pixel_format,
    coded_size,
    colour_range_code,
    colour_space_code,
)
from app.engine.picture import ChromaLocation, Picture, PictureFormat

_CHROMA_LOCATION: Final = {
    ChromaLocation.LEFT: "left",
    ChromaLocation.CENTER: "center",
    ChromaLocation.TOP_LEFT: "topleft",
}
RATE_WITHOUT_INTERVAL: Final = Fraction(60)
"""Rate that the rate control is told where the source names none; timestamps stay those of the frames."""


class CodedPacket(Protocol):
    """What the branch reads of a packet; `av.Packet` has it."""

    @property
    def pts(self) -> int | None:
        """Timestamp of the frame that it codes."""

    @property
    def size(self) -> int:
        """Bytes."""

    @property
    def is_keyframe(self) -> bool:
        """Whether decoding can begin here."""


class Encoder(Protocol):
    """What the branch asks of an encoder; encode thread only, every call may take as long as it likes."""

    @property
    def description(self) -> str:
        """What it codes, for a person: size and pixel format."""

    def load(self, picture: Picture, pts: int) -> None:
        """Take the next picture in; it may be let go of afterwards."""

    def encode(self) -> Sequence[CodedPacket]:
        """Code the picture and return the packets that come out, which may be none or several."""

    def flush(self) -> Sequence[CodedPacket]:
        """Return the packets still inside; the encoder takes no more pictures."""

    def set_bitrate(self, bits_per_s: int) -> bool:
        """Change the target bitrate from the next picture on; False where that needs another encoder."""


class VideoEncoder:
    """Implements `Encoder` with libx264 or NVENC through PyAV.

    Args:
        codec: FFmpeg's name of the encoder. options: as from `encoder_options`.
        picture_format: what every picture will be. rate: of the source, for the rate control.

    Raises:
        EngineError: it does not open; the text holds FFmpeg's own words.
    """

    def __init__(self, codec: str, options: dict[str, str], picture_format: PictureFormat, rate: Fraction) -> None:
        self._input = PictureInput(picture_format, codec)
        self._context = _context(codec, options, picture_format, rate)
        self._takes_bitrate = takes_live_bitrate(codec, options)
        self._frame: av.VideoFrame | None = None

    @property
    def description(self) -> str:
        """Return size and pixel format."""
        return f"{self._context.width}×{self._context.height} {self._context.pix_fmt}"

    def load(self, picture: Picture, pts: int) -> None:
        """Copy a picture, in the encoder's pixel format.

        Raises:
            FFmpegError: it cannot be converted.
        """
        self._frame = self._input.frame(picture)
        self._frame.pts = pts
        self._frame.time_base = TIME_BASE

    def encode(self) -> Sequence[Packet[av.VideoStream]]:
        """Code the loaded picture and return what comes out.

        Raises:
            FFmpegError: the encoder failed.
        """
        return self._context.encode(self._frame)

    def flush(self) -> Sequence[Packet[av.VideoStream]]:
        """Return what is still inside.

        Raises:
            FFmpegError: the encoder failed.
        """
        return self._context.encode(None)

    def set_bitrate(self, bits_per_s: int) -> bool:
        """Change the target bitrate where the encoder follows it while it runs."""
        if self._takes_bitrate:
            self._context.bit_rate = bits_per_s
        return self._takes_bitrate


def takes_live_bitrate(codec: str, options: dict[str, str]) -> bool:
    """Tell whether an encoder follows a bitrate that changes while it runs.

    NVENC is reconfigured by FFmpeg, which resets it and makes the next frame a key frame. libx264 follows only where it
    began with a constant bitrate (tried with 8.1: from 4 to 2 Mbit/s, a variable one went on at 4).
    """
    if codec == LIBX264:
        return "b" in options and options.get("maxrate") == options["b"]
    return options.get("rc") in ("cbr", "vbr") and options.get("b", "0") != "0"


def thread_count() -> int:
    """Return how many threads a software encoder may use: half the CPUs, so that the preview keeps the other half."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cpus // 2)


def _context(codec: str, options: dict[str, str], picture_format: PictureFormat, rate: Fraction) -> VideoCodecContext:
    context = cast(VideoCodecContext, av.CodecContext.create(codec, "w"))
    context.width, context.height = coded_size(picture_format, codec)
    context.pix_fmt = coded_pixel_format(picture_format, codec)
    context.time_base = TIME_BASE
    context.framerate = rate
    context.bit_rate = 0  # FFmpeg's default of 2 Mbit/s is nobody's wish
    context.sample_aspect_ratio = Fraction(*picture_format.sample_aspect)
    context.colorspace = colour_space_code(picture_format)
    context.color_range = colour_range_code(picture_format)
    context.thread_count = thread_count()
    context.options = {**options, "chroma_sample_location": _CHROMA_LOCATION[picture_format.chroma_location]}
    _open(context, codec)
    return context


def _open(context: VideoCodecContext, codec: str) -> None:
    with _ffmpeg_errors() as log:
        try:
            context.open()
        except (av.FFmpegError, ValueError) as error:
            raise EngineError(f"{codec} does not open: {_reason(error, log)}") from error
    if context.options:
        raise EngineError(f"{codec} does not know {', '.join(sorted(context.options))}: this FFmpeg is another one")


@contextlib.contextmanager
def _ffmpeg_errors() -> Iterator[list[tuple[int, str, str]]]:
    """Collect the errors that FFmpeg logs in this thread, each time anew though it said the same before."""
    level, skips = av.logging.get_level(), av.logging.get_skip_repeated()
    av.logging.set_level(av.logging.ERROR)
    av.logging.set_skip_repeated(False)
    try:
        with av.logging.Capture() as log:
            yield log
    finally:
        av.logging.set_skip_repeated(skips)
        av.logging.set_level(level)


def _reason(error: Exception, log: list[tuple[int, str, str]]) -> str:
    """Return FFmpeg's own words where it logged any: its code for a library that is missing is "not permitted"."""
    if log:
        return log[-1][2].strip()
    return getattr(error, "strerror", None) or str(error)
