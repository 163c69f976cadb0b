"""The text that names a source: a synthetic pattern, or a video file.

Grammar:
    synthetic:WxH@FPS[,decode_ms=MEAN[±SD]][,arrival_jitter_ms=SD][,stall=P:MS][,seed=N]
    PATH[?free][?loop][?free&loop]

A file whose name would read as something else is still reachable: `./synthetic:64x64@60` is a file, and
`clip?free?` is the file `clip?free` (one question mark after a reserved ending stands for "the name ends here").
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit
from urllib.request import url2pathname

from app.config.complaints import number_text
from app.config.spec_text import Bounds, SpecReader, refusal

SYNTHETIC_FORM: Final = (
    "synthetic:WIDTHxHEIGHT@FPS[,decode_ms=MEAN±SD][,arrival_jitter_ms=SD][,stall=PROBABILITY:MS][,seed=N]"
)
SYNTHETIC_EXAMPLE: Final = "synthetic:1280x720@60,decode_ms=4±1,stall=0.01:200"
SOURCES_BUILT: Final = "a video file (clip.mp4, clip.mp4?free, clip.mp4?loop) or synthetic:1280x720@60"

_RATE: Final = Bounds(0, 1000, "fps")
_DURATION: Final = Bounds(0, 10_000, "ms")
_STALL: Final = Bounds(0, 60_000, "ms")
_PROBABILITY: Final = Bounds(0, 1)
_SEED: Final = Bounds(0, 2**31 - 1, whole=True)
_SETTINGS: Final = ("decode_ms", "arrival_jitter_ms", "stall", "seed")

_FLAGS: Final = re.compile(r"\?(free|loop|free&loop|loop&free)")
_FLAGS_AT_END: Final = re.compile(rf"(.*){_FLAGS.pattern}", re.DOTALL)
_ESCAPED: Final = re.compile(rf".*{_FLAGS.pattern}\?+", re.DOTALL)
# At least two characters before the colon: `C:\clip.mp4` and `C:/clip.mp4` are files.
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SyntheticSpec:
    """A generated moving pattern with its frame number as a bar code.

    Attributes:
        width, height: px, 1–16384.
        rate_hz: frames a second; 0 runs free.
        decode_mean_ms, decode_sd_ms: simulated decode time, normal, cut at 0.
        arrival_jitter_ms: standard deviation of the arrival times about their schedule.
        stall_probability: of each frame, that delivery pauses for `stall_ms`.
        seed: of all of these draws.
    """

    width: int
    height: int
    rate_hz: float
    decode_mean_ms: float = 0.0
    decode_sd_ms: float = 0.0
    arrival_jitter_ms: float = 0.0
    stall_probability: float = 0.0
    stall_ms: float = 0.0
    seed: int = 0

    @property
    def free(self) -> bool:
        """Tell whether it runs as fast as it is taken, without due times."""
        return self.rate_hz == 0


@dataclass(frozen=True, slots=True)
class MediaSpec:
    """A video file.

    Attributes:
        location: path as the user gave it (a `file://` address becomes a path).
        free: as fast as possible instead of by its own time stamps.
        loop: begins again at its end.
    """

    location: str
    free: bool = False
    loop: bool = False


def parse_source(text: str) -> SyntheticSpec | MediaSpec:
    """Return what a source text names; the file itself is not looked at.

    Raises:
        InvalidInputError: the text fits no form, or names a kind of source that this version cannot open.
    """
    if not text.strip() or "\0" in text:
        raise refusal("source", text.replace("\0", "␀"), "names no source", f"give {SOURCES_BUILT}")
    kind, colon, rest = text.partition(":")
    if colon and kind.lower() == "synthetic":
        return _parse_synthetic(text, rest)
    if colon and kind.lower() == "v4l2":
        raise _not_built(text, "a camera (v4l2)")
    address = _ADDRESS.fullmatch(text)
    if address and address[1].lower() != "file":
        raise _not_built(text, f"the network or device address {address[1]}://")
    return _parse_media(text)


def source_text(spec: SyntheticSpec | MediaSpec) -> str:
    """Return the text that `parse_source` reads as this spec; what equals its default is left out."""
    return _synthetic_text(spec) if isinstance(spec, SyntheticSpec) else _media_text(spec)


def _parse_synthetic(text: str, rest: str) -> SyntheticSpec:
    reader = SpecReader("source", text, SYNTHETIC_FORM, SYNTHETIC_EXAMPLE)
    picture, *settings = rest.split(",")
    size, at, rate = picture.partition("@")
    if not at:
        raise reader.error("has no @FPS")
    width, height = reader.size(size)
    values = reader.settings(settings, _SETTINGS)
    mean, sd = _mean_and_deviation(reader, values.get("decode_ms", "0"))
    probability, stall_ms = _stall(reader, values.get("stall", "0:0"))
    return SyntheticSpec(
        width=width,
        height=height,
        rate_hz=reader.number("the rate", rate, _RATE),
        decode_mean_ms=mean,
        decode_sd_ms=sd,
        arrival_jitter_ms=reader.number("arrival_jitter_ms", values.get("arrival_jitter_ms", "0"), _DURATION),
        stall_probability=probability,
        stall_ms=stall_ms,
        seed=reader.whole("seed", values.get("seed", "0"), _SEED),
    )


def _mean_and_deviation(reader: SpecReader, text: str) -> tuple[float, float]:
    # `+-` is `±` on a keyboard that lacks it.
    mean, _, sd = text.replace("+-", "±").partition("±")
    return reader.number("decode_ms", mean, _DURATION), reader.number("decode_ms ±", sd or "0", _DURATION)


def _stall(reader: SpecReader, text: str) -> tuple[float, float]:
    probability, colon, duration = text.partition(":")
    if not colon:
        raise reader.error(f"has stall “{text}”, which is not PROBABILITY:MS")
    return reader.number("stall probability", probability, _PROBABILITY), reader.number("stall", duration, _STALL)


def _parse_media(text: str) -> MediaSpec:
    match = _FLAGS_AT_END.fullmatch(text)
    flags = match[2].split("&") if match else []
    location = match[1] if match else text
    if not match and _ESCAPED.fullmatch(text):
        location = text[:-1]
    location = _path_of_address(location)
    if not location:
        raise refusal("source", text, "names no file", f"give {SOURCES_BUILT}")
    return MediaSpec(location, free="free" in flags, loop="loop" in flags)


def _path_of_address(location: str) -> str:
    """Return the path of a `file://` address, as a file manager drops it; any other location unchanged."""
    address = _ADDRESS.fullmatch(location)
    if address is None or address[1].lower() != "file":
        return location
    parts = urlsplit(location)
    return url2pathname(parts.path)


def _synthetic_text(spec: SyntheticSpec) -> str:
    text = f"synthetic:{spec.width}x{spec.height}@{_decimal(spec.rate_hz)}"
    if spec.decode_mean_ms or spec.decode_sd_ms:
        text += f",decode_ms={_decimal(spec.decode_mean_ms)}±{_decimal(spec.decode_sd_ms)}"
    if spec.arrival_jitter_ms:
        text += f",arrival_jitter_ms={_decimal(spec.arrival_jitter_ms)}"
    if spec.stall_probability or spec.stall_ms:
        text += f",stall={_decimal(spec.stall_probability)}:{_decimal(spec.stall_ms)}"
    return text + (f",seed={spec.seed}" if spec.seed else "")


def _media_text(spec: MediaSpec) -> str:
    flags = [name for name, given in (("free", spec.free), ("loop", spec.loop)) if given]
    if flags:
        return f"{spec.location}?{'&'.join(flags)}"
    ends_reserved = _FLAGS_AT_END.fullmatch(spec.location) or _ESCAPED.fullmatch(spec.location)
    return f"{spec.location}?" if ends_reserved else spec.location


def _decimal(value: float) -> str:
    """Return a decimal without exponent, which the grammar does not have."""
    return number_text(value) if value == 0 or value >= 1e-4 else f"{value:.12f}".rstrip("0")


def _not_built(text: str, what: str) -> Exception:
    return refusal("source", text, f"names {what}, which this version cannot open", f"give {SOURCES_BUILT}")
