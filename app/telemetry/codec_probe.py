"""Tries encoders and decoders by really using them: `python -m app.telemetry.codec_probe NAME…`.

A codec that FFmpeg lists is not one that works: hardware codecs need driver, device and a free session. Each name is
announced before it is tried and reported after, one JSON object a line, so that the parent knows which one took the
process down.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Final

import av
import av.logging
from av.codec.hwaccel import HWAccel

PROBE_SCHEMA: Final = "veotuner-codec-probe/1"

ENCODERS: Final = ("libx264", "h264_nvenc", "hevc_nvenc", "av1_nvenc")
DECODERS: Final = ("h264", "hevc", "libdav1d", "h264+cuda")
"""`CODEC+DEVICE` decodes on that FFmpeg hardware device."""

TRIALS: Final = (*(f"encode:{name}" for name in ENCODERS), *(f"decode:{name}" for name in DECODERS))

_ENCODER_OF_DECODER: Final = {"h264": "libx264", "hevc": "libx265", "libdav1d": "libsvtav1"}
_WIDTH: Final = 640
_HEIGHT: Final = 384
"""Above the smallest picture of hardware encoders, and a multiple of every block size."""


def try_encoder(name: str) -> str:
    """Encode two frames; return "" when packets came out, else why not."""
    return _fault_of(lambda: "" if _encode(name, 2) else "it took frames and gave no packet")


def try_decoder(name: str) -> str:
    """Encode two frames in software and decode them; return "" when frames came out, else why not."""
    codec, _, device = name.partition("+")
    return _fault_of(lambda: _decode(codec, device))


def main(trials: list[str]) -> int:
    """Try each `encode:NAME` or `decode:NAME` in turn."""
    av.logging.set_level(av.logging.ERROR)
    run: dict[str, Callable[[str], str]] = {"encode": try_encoder, "decode": try_decoder}
    for trial in trials:
        _say({"schema": PROBE_SCHEMA, "begun": trial})
        kind, _, name = trial.partition(":")
        _say({"schema": PROBE_SCHEMA, "trial": trial, "fault": run[kind](name)})
    return 0


def _encode(name: str, count: int) -> list[Any]:
    encoder: Any = av.CodecContext.create(name, "w")
    encoder.width, encoder.height, encoder.pix_fmt = _WIDTH, _HEIGHT, "yuv420p"
    encoder.time_base, encoder.framerate = Fraction(1, 30), Fraction(30, 1)
    packets = []
    for index in range(count):
        frame = av.VideoFrame(_WIDTH, _HEIGHT, "yuv420p")
        frame.pts = index
        packets += encoder.encode(frame)
    return [*packets, *encoder.encode(None)]


def _decode(codec: str, device: str) -> str:
    packets = _encode(_ENCODER_OF_DECODER[codec], 2)
    hardware = HWAccel(device, allow_software_fallback=False) if device else None
    decoder: Any = av.CodecContext.create(codec, "r", hwaccel=hardware)
    frames = [frame for packet in (*packets, None) for frame in decoder.decode(packet)]
    return "" if frames else "it took packets and gave no frame"


def _fault_of(trial: Callable[[], str]) -> str:
    with av.logging.Capture() as log:
        try:
            return trial()
        except av.codec.codec.UnknownCodecError:
            return "this FFmpeg was built without it"
        except (av.FFmpegError, ValueError, RuntimeError, NotImplementedError) as error:
            return _reason(error, log)


def _reason(error: Exception, log: list[tuple[int, str, str]]) -> str:
    """Return FFmpeg's own words where it logged any: its code for a library that is missing is "not permitted"."""
    if log:
        return log[-1][2].strip()
    return getattr(error, "strerror", None) or str(error)


def _say(answer: dict[str, str]) -> None:
    sys.stdout.write(json.dumps(answer) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
