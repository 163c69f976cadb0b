"""What the keys of `config.encoder` mean to FFmpeg's encoders: pure functions from configuration to options.

Names and arithmetic are FFmpeg 8's (`nvenc.c`, `libx264.c`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from app.config.sections import Encoder
from app.config.veoconfig import VeoConfig

LIBX264: Final = "libx264"

X264_PRESETS: Final = {
    "p1": "ultrafast",
    "p2": "superfast",
    "p3": "veryfast",
    "p4": "faster",
    "p5": "fast",
    "p6": "medium",
    "p7": "slow",
}
"""NVENC's scale of speed against quality in the names of libx264, fastest first."""

LOW_LATENCY_TUNES: Final = frozenset({"ll", "ull"})

VBV_MS: Final = {"hq": 1000, "ll": 500, "ull": 250}
"""Rate-control buffer in ms of the bitrate. It bounds a key frame's burst, and a burst is what a link of that bitrate
turns into delay: so it is shorter where delay matters more."""

DEFAULT_QUALITY: Final = 23
"""Quantiser or CRF where none is given; libx264's own default."""

_MOST_SURFACES: Final = 64
_FEWEST_SURFACES: Final = 4
_SURFACES_OF_LOOKAHEAD: Final = 1 + 4


def encoder_options(config: VeoConfig, codec: str) -> dict[str, str]:
    """Return FFmpeg's options for an encoder, name → value; what is left out stays the encoder's own default.

    Args:
        config: `encoder.*` and `nvenc_queue_depth` are read.
        codec: FFmpeg's name of the encoder (`libx264`, `h264_nvenc`, `hevc_nvenc`, `av1_nvenc`).
    """
    return _x264_options(config.encoder) if codec == LIBX264 else _nvenc_options(config)


def option_notices(config: VeoConfig, codec: str) -> tuple[str, ...]:
    """Return a sentence for every key that this encoder cannot obey as asked, and what it does instead."""
    encoder = config.encoder
    notices = _rate_notices(encoder, codec)
    if codec == LIBX264 and encoder.multipass != "disabled":
        notices.append(f"encoder.multipass {encoder.multipass}: libx264 has no second pass in real time; it makes one")
    held = encoder.b_frames + encoder.lookahead
    if encoder.tune in LOW_LATENCY_TUNES and held:
        notices.append(
            f"encoder.tune {encoder.tune}: b_frames {encoder.b_frames} and lookahead {encoder.lookahead} make the "
            f"encoder hold back {held} frames all the same; set both to 0 for the least delay"
        )
    return tuple(notices)


def target_bitrate_bits_per_s(config: VeoConfig) -> int | None:
    """Return the bitrate that the rate control aims at; None where quality is held and the bitrate follows."""
    encoder = config.encoder
    if encoder.bitrate_kbps is None or encoder.rc == "constqp":
        return None
    return encoder.bitrate_kbps * 1000


def expected_held_frames(options: Mapping[str, str]) -> int:
    """Return how many frames an NVENC encoder holds when it gives one out, that one included; 1 is at once.

    FFmpeg's `output_ready`: a packet is released once ready + pending frames reach `async_depth`, which is the lower
    of `delay` (unlimited by default) and surfaces − 1; without B-frames there are four surfaces, so it holds 3 by
    default, two frame intervals of delay. B-frames and lookahead hold their own number whatever the depth.

    Args:
        options: as from `encoder_options` for an NVENC encoder.
    """
    frame_interval = int(options.get("bf", "0")) + 1
    lookahead = int(options.get("rc-lookahead", "0"))
    surfaces = _surfaces(int(options.get("surfaces", "0")), frame_interval, lookahead)
    async_depth = min(int(options.get("delay", str(_MOST_SURFACES))), surfaces - 1)
    return max(async_depth, lookahead + frame_interval)


def _surfaces(asked: int, frame_interval: int, lookahead: int) -> int:
    """Return the surfaces FFmpeg makes (`nvenc_recalc_surfaces`)."""
    fewest = max(_FEWEST_SURFACES, 4 * frame_interval)
    if lookahead > 0:
        surfaces = max(fewest, lookahead + frame_interval + _SURFACES_OF_LOOKAHEAD, asked)
    elif frame_interval > 1:
        surfaces = max(fewest, asked)
    else:
        surfaces = asked or fewest
    return max(1, min(_MOST_SURFACES, surfaces))


def _nvenc_options(config: VeoConfig) -> dict[str, str]:
    encoder = config.encoder
    low_latency = encoder.tune in LOW_LATENCY_TUNES
    options = {
        "preset": encoder.preset,
        "tune": encoder.tune,
        "rc": _nvenc_rate_control(encoder),
        **_nvenc_rates(encoder),
        "g": str(encoder.gop_frames),
        "bf": str(encoder.b_frames),
        "rc-lookahead": str(encoder.lookahead),
        "multipass": encoder.multipass,
        "surfaces": str(config.nvenc_queue_depth),
        "delay": "0" if low_latency else str(config.nvenc_queue_depth - 1),
    }
    if low_latency and encoder.b_frames == 0:
        options["zerolatency"] = "1"
    return options


def _nvenc_rate_control(encoder: Encoder) -> str:
    """Return the rate control; NVENC aims at a constant quality in its variable one only."""
    return "vbr" if encoder.rc == "cbr" and encoder.cq is not None else encoder.rc


def _nvenc_rates(encoder: Encoder) -> dict[str, str]:
    if encoder.rc == "constqp":
        return {"qp": str(_quality(encoder))}
    if encoder.cq is not None:
        return {"cq": str(encoder.cq), "b": "0", **_ceiling(encoder)}
    if encoder.bitrate_kbps is None:
        return _ceiling(encoder)
    rates = {"b": _bits(encoder.bitrate_kbps), "bufsize": _vbv_bits(encoder, encoder.bitrate_kbps)}
    return rates | _ceiling(encoder)


def _x264_options(encoder: Encoder) -> dict[str, str]:
    options = {
        "preset": X264_PRESETS[encoder.preset],
        **_x264_rates(encoder),
        "g": str(encoder.gop_frames),
        "bf": str(encoder.b_frames),
        "rc-lookahead": str(encoder.lookahead),
    }
    if encoder.lookahead:
        # The fast presets and zerolatency turn off what the lookahead is for, and with it the lookahead.
        options["mbtree"] = "1"
    if encoder.tune in LOW_LATENCY_TUNES:
        # Key frames come on the grid of gop_frames only: one more at a scene cut is a burst that nobody asked for.
        return options | {"tune": "zerolatency", "sc_threshold": "0", "thread_type": "slice"}
    # Threads that each code another frame compress better than slices and hold back a frame each.
    return options | {"thread_type": "frame"}


def _x264_rates(encoder: Encoder) -> dict[str, str]:
    if encoder.rc == "constqp":
        return {"qp": str(_quality(encoder))}
    if encoder.bitrate_kbps is None:
        return {"crf": str(_quality(encoder)), **_ceiling(encoder)}
    if encoder.rc == "cbr":
        bits = _bits(encoder.bitrate_kbps)
        return {"b": bits, "maxrate": bits, "bufsize": _vbv_bits(encoder, encoder.bitrate_kbps)}
    return {"b": _bits(encoder.bitrate_kbps), **_ceiling(encoder)}


def _ceiling(encoder: Encoder) -> dict[str, str]:
    """Return the options of the ceiling of a variable bitrate; a ceiling needs the buffer over which it is kept."""
    if encoder.max_rate_kbps is None or (encoder.rc == "cbr" and encoder.bitrate_kbps is not None):
        return {}
    return {"maxrate": _bits(encoder.max_rate_kbps), "bufsize": _vbv_bits(encoder, encoder.max_rate_kbps)}


def _rate_notices(encoder: Encoder, codec: str) -> list[str]:
    notices = []
    if encoder.rc == "constqp" and encoder.bitrate_kbps is not None:
        notices.append(
            f"encoder.bitrate_kbps {encoder.bitrate_kbps}: constqp has no bitrate; the quantiser is {_quality(encoder)}"
        )
    if encoder.rc == "cbr" and encoder.cq is not None:
        notices.append(f"encoder.rc cbr: a constant quality (cq {encoder.cq}) is coded at a variable bitrate")
    if encoder.rc == "cbr" and codec == LIBX264 and encoder.bitrate_kbps is None and encoder.cq is None:
        notices.append(
            f"encoder.rc cbr: libx264 holds a constant quality (CRF {DEFAULT_QUALITY}) until bitrate_kbps is given"
        )
    if encoder.max_rate_kbps is not None and not _has_ceiling(encoder):
        notices.append(f"encoder.max_rate_kbps {encoder.max_rate_kbps}: {encoder.rc} has no ceiling; vbr has one")
    return notices


def _has_ceiling(encoder: Encoder) -> bool:
    return encoder.rc != "constqp" and bool(_ceiling(encoder))


def _quality(encoder: Encoder) -> int:
    return DEFAULT_QUALITY if encoder.cq is None else encoder.cq


def _bits(kbps: int) -> str:
    return str(kbps * 1000)


def _vbv_bits(encoder: Encoder, kbps: int) -> str:
    """Return the size of the rate-control buffer; ms × kbit/s is bits."""
    return str(VBV_MS[encoder.tune] * kbps)
