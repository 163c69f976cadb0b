"""Real video files of every awkward kind, made by real encoders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np

from app.core.bar_code import BarCodePainter

AUDIO_RATE_HZ = 44_100


@dataclass
class Video:
    """What to encode; every frame carries its number as a bar code where the picture is large enough.

    Attributes:
        times_ms: presentation times, or None for an even grid.
        threads: of the encoder; 1 keeps the bytes the same from run to run.
    """

    width: int = 320
    height: int = 240
    frames: int = 30
    rate: int = 30
    codec: str = "libx264"
    pixel_format: str = "yuv420p"
    options: dict[str, str] = field(default_factory=dict)
    times_ms: Sequence[int] | None = None
    rotation_degrees: int = 0
    mirrored: bool = False
    sample_aspect: Fraction | None = None
    colour_space: int | None = None
    colour_range: int | None = None
    gop: int = 12
    extradata: bytes = b""
    audio: bool = False


def write_video(path: Path, video: Video) -> Path:
    """Encode `video` into `path`; the container goes by its suffix."""
    with av.open(str(path), "w") as container:
        stream = container.add_stream(video.codec, rate=video.rate, options=video.options)
        assert isinstance(stream, av.VideoStream)
        context = stream.codec_context
        context.width, context.height, context.pix_fmt = video.width, video.height, video.pixel_format
        context.gop_size = video.gop
        context.thread_count = 1
        context.time_base = Fraction(1, 1000) if video.times_ms is not None else Fraction(1, video.rate)
        if video.extradata:
            context.extradata = video.extradata
        if video.colour_space is not None:
            context.colorspace = video.colour_space
        if video.colour_range is not None:
            context.color_range = video.colour_range
        if video.sample_aspect is not None:
            context.sample_aspect_ratio = video.sample_aspect
        if video.rotation_degrees or video.mirrored:
            # PyAV counts counter-clockwise.
            stream.set_display_rotation(-video.rotation_degrees, hflip=video.mirrored)
        sound = container.add_stream("aac", rate=AUDIO_RATE_HZ) if video.audio else None
        for number in range(video.frames):
            frame = _frame(video, number)
            frame.pts = video.times_ms[number] if video.times_ms is not None else number
            frame.time_base = context.time_base
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
        if sound is not None:
            _write_silence(container, sound, video.frames / video.rate)
    return path


def write_sound(path: Path) -> Path:
    """Write half a second of AAC alone."""
    with av.open(str(path), "w") as container:
        _write_silence(container, container.add_stream("aac", rate=AUDIO_RATE_HZ), 0.5)
    return path


def _frame(video: Video, number: int) -> av.VideoFrame:
    luma = np.full((video.height, video.width), 90, np.uint8)
    left = number * 5 % video.width
    luma[:, left : left + 40] = 200
    BarCodePainter(video.width, video.height, 16, 235).draw(luma, number)
    if video.pixel_format == "pal8":
        greys = np.repeat(np.arange(256, dtype=np.uint8)[:, None], 4, axis=1)
        pair: Any = (luma, greys)  # a picture and its palette, which PyAV takes and its stub does not know
        return av.VideoFrame.from_ndarray(pair, format="pal8")
    frame = av.VideoFrame.from_ndarray(luma, format="gray8")
    if video.pixel_format != "gray":
        # Grey is full range to libswscale; saying so twice keeps the levels as they are.
        frame = frame.reformat(format=video.pixel_format, src_color_range="JPEG", dst_color_range="JPEG")
    if video.colour_space is not None:
        frame.colorspace = video.colour_space
    if video.colour_range is not None:
        frame.color_range = video.colour_range
    return frame


def _write_silence(container: av.container.OutputContainer, stream: av.AudioStream, seconds: float) -> None:
    samples = np.zeros((1, 1024), np.float32)
    for block in range(int(seconds * AUDIO_RATE_HZ / 1024)):
        frame = av.AudioFrame.from_ndarray(samples, format="fltp", layout="mono")
        frame.sample_rate = AUDIO_RATE_HZ
        frame.pts = block * 1024
        container.mux(stream.encode(frame))
    container.mux(stream.encode())
