"""The ten-second H.264 video that the first start plays: made once by the real encoder, kept in the user's cache."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
import numpy as np
from av.error import FFmpegError

from app.core.errors import SourceError
from app.core.test_pattern import Canvas, MovingPattern

SAMPLE_WIDTH: Final = 1280
SAMPLE_HEIGHT: Final = 720
SAMPLE_RATE_HZ: Final = 60
SAMPLE_FRAMES: Final = 10 * SAMPLE_RATE_HZ

_FILE_NAME: Final = "sample-1280x720-60fps-1.mp4"
"""The last number rises when the picture or the coding changes, so that an old sample is not taken for a new one."""

_ENCODER_OPTIONS: Final = {
    "preset": "veryfast",
    "crf": "18",
    # A preview stream is coded without reordering; B-frames would show as two frames of delay that no knob removes.
    "bf": "0",
    "g": str(SAMPLE_RATE_HZ),
    "maxrate": "8M",
    "bufsize": "8M",
}
_BT709: Final = 1
_LIMITED_RANGE: Final = 1

Progress = Callable[[float], None]
"""Called with the ratio of the work that is done, 0–1."""


def ensure_sample(folder: Path, progress: Progress | None = None) -> Path:
    """Return the sample video and make it first where it is missing: 1280×720, 60 fps, ten seconds, with bar codes.

    The file appears whole or not at all, also when two processes make it at once.

    Args:
        folder: where to keep it, the user's cache; made if it does not exist.
        progress: called as the work goes on; not called when the sample is there.

    Raises:
        SourceError: it cannot be written or coded; the text says why and what to do.
    """
    path = folder / _FILE_NAME
    if path.is_file():
        return path
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent, prefix=".sample-") as workplace:
            write_sample(Path(workplace) / path.name, SAMPLE_FRAMES, progress).replace(path)
    except FFmpegError as error:
        raise SourceError(f"{path}: the sample video cannot be coded ({error}); name a video file instead") from error
    except OSError as error:
        raise SourceError(
            f"{path}: the sample video cannot be written ({error.strerror}); free some space there, "
            "or set XDG_CACHE_HOME to a folder that can be written to, or name a video file instead"
        ) from error
    return path


def write_sample(path: Path, frame_count: int, progress: Progress | None = None) -> Path:
    """Code `frame_count` frames of the moving pattern as H.264 into `path` and return it.

    Raises:
        FFmpegError: the encoder or the muxer refused.
    """
    pattern = MovingPattern(SAMPLE_WIDTH, SAMPLE_HEIGHT)
    # One buffer in the layout that PyAV takes: luma, then both chroma planes, each row as wide as the picture.
    picture = np.empty((SAMPLE_HEIGHT * 3 // 2, SAMPLE_WIDTH), np.uint8)
    picture[SAMPLE_HEIGHT:] = np.concatenate(pattern.chroma, axis=None).reshape(-1, SAMPLE_WIDTH)
    picture[:SAMPLE_HEIGHT] = pattern.new_canvas().luma
    canvas = Canvas(picture[:SAMPLE_HEIGHT])
    with av.open(f"file:{path}", "w", format="mp4", options={"movflags": "+faststart"}) as container:
        stream = _add_stream(container)
        for number in range(frame_count):
            pattern.paint(canvas, number)
            frame = av.VideoFrame.from_ndarray(picture, format="yuv420p")
            frame.pts = number
            frame.colorspace, frame.color_range = _BT709, _LIMITED_RANGE
            container.mux(stream.encode(frame))
            if progress is not None:
                progress((number + 1) / frame_count)
        container.mux(stream.encode())
    return path


def _add_stream(container: av.container.OutputContainer) -> av.VideoStream:
    stream = container.add_stream("libx264", rate=SAMPLE_RATE_HZ, options=dict(_ENCODER_OPTIONS))
    context = stream.codec_context
    context.width, context.height, context.pix_fmt = SAMPLE_WIDTH, SAMPLE_HEIGHT, "yuv420p"
    context.time_base = Fraction(1, SAMPLE_RATE_HZ)
    context.colorspace = context.color_primaries = context.color_trc = _BT709
    context.color_range = _LIMITED_RANGE
    return stream
