"""Which encoder is used: the one asked for or none, and for `auto` the first that really encodes a frame."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final, NamedTuple

import av

from app.config.veoconfig import VeoConfig
from app.core.errors import EngineError, InvalidInputError, Problem
from app.engine.encode.encoder_options import LIBX264, encoder_options
from app.engine.encode.video_encoder import VideoEncoder
from app.engine.picture import ChromaLocation, Matrix, Picture, PictureFormat, Plane

AUTO_CODECS: Final = ("h264_nvenc", LIBX264)
"""What `auto` tries, in this order."""

_TRIAL_FORMAT: Final = PictureFormat(640, 384, 3, 1, 1, 8, False, Matrix.BT709, False, ChromaLocation.LEFT)
"""Above the smallest picture of hardware encoders, and a multiple of every block size."""


class CodecChoice(NamedTuple):
    """The encoder in use, and why it is not the first choice, or ""."""

    codec: str
    reason: str


Trial = Callable[[str, dict[str, str]], str]
"""Codec and options → why it cannot encode, or ""."""


def try_encoder(codec: str, options: dict[str, str]) -> str:
    """Encode frames until a packet comes out; return "" when one did, else why not.

    An encoder that FFmpeg lists is not one that works: that needs driver, device and a free session.
    """
    try:
        encoder = VideoEncoder(codec, options, _TRIAL_FORMAT, Fraction(60))
        encoder.load(_grey(), 0)
        packets = list(encoder.encode()) or list(encoder.flush())
    except av.codec.codec.UnknownCodecError:
        return "this FFmpeg was built without it"
    except EngineError as error:
        return str(error).removeprefix(f"{codec} does not open: ")
    except av.FFmpegError as error:
        return error.strerror or str(error)
    return "" if packets else "it took a frame and gave no packet"


def choose_codec(config: VeoConfig, trial: Trial = try_encoder) -> CodecChoice:
    """Return the encoder to use.

    Raises:
        InvalidInputError: the one asked for does not encode here; another is never taken instead.
        EngineError: `auto` found none.
    """
    asked = config.encoder.codec
    if asked != "auto":
        fault = trial(asked, encoder_options(config, asked))
        if fault:
            raise _refusal(asked, fault)
        return CodecChoice(asked, "")
    faults: list[str] = []
    for codec in AUTO_CODECS:
        fault = trial(codec, encoder_options(config, codec))
        if not fault:
            return CodecChoice(codec, "; ".join(faults))
        faults.append(f"{codec} is not usable here ({fault})")
    raise EngineError(f"nothing can encode: {'; '.join(faults)}; turn the encode branch off (encoder.enabled false)")


def _refusal(codec: str, fault: str) -> InvalidInputError:
    cure = "use auto, or free what it needs" if codec != LIBX264 else "change the encoder settings that it names"
    return InvalidInputError([Problem("encoder.codec", codec, f"does not encode here ({fault})", cure)])


def _grey() -> Picture:
    planes = []
    for plane in range(_TRIAL_FORMAT.plane_count):
        width, height = _TRIAL_FORMAT.plane_size(plane)
        planes.append(Plane(bytes([128]) * (width * height), width))
    return Picture(_TRIAL_FORMAT, tuple(planes))
