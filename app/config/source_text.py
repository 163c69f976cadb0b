"""The text that names a source: a synthetic pattern, a video file, a stream on the network, a camera.

Grammar:
    synthetic:WxH@FPS[,decode_ms=MEAN[±SD]][,arrival_jitter_ms=SD][,stall=P:MS][,seed=N]
    PATH[?free][?loop][?free&loop]
    PROTOCOL://HOST…[?free][?loop][?free&loop]      flags for http(s) only: the others are live
    v4l2:DEVICE[,size=WxH][,fps=N][,format=NAME]
    preview+ws://HOST[:PORT]/v1/preview/ID[#token=TOKEN]      and preview+wss://

A file whose name would read as something else is still reachable: `./synthetic:64x64@60` is a file, and
`clip?free?` is the file `clip?free` (one question mark after a reserved ending stands for "the name ends here").

Addresses hold passwords and tokens. No complaint and no representation of a spec shows them; whoever shows, logs or
records a source text passes it through `redacted` first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import SplitResult, quote, unquote, urlsplit
from urllib.request import url2pathname

from app.config.complaints import number_text
from app.config.spec_text import Bounds, SpecReader, refusal
from app.core.errors import InvalidInputError

SYNTHETIC_FORM: Final = (
    "synthetic:WIDTHxHEIGHT@FPS[,decode_ms=MEAN±SD][,arrival_jitter_ms=SD][,stall=PROBABILITY:MS][,seed=N]"
)
SYNTHETIC_EXAMPLE: Final = "synthetic:1280x720@60,decode_ms=4±1,stall=0.01:200"
SOURCES_BUILT: Final = (
    "a video file (clip.mp4, clip.mp4?free, clip.mp4?loop), a stream (rtsp://HOST/PATH, https://HOST/PATH), a camera "
    "(v4l2:/dev/video0), a preview stream (preview+wss://HOST/v1/preview/ID#token=TOKEN) or synthetic:1280x720@60"
)
CAMERA_FORM: Final = "v4l2:DEVICE[,size=WIDTHxHEIGHT][,fps=FPS][,format=NAME]"
CAMERA_EXAMPLE: Final = "v4l2:/dev/video0,size=1280x720,fps=30,format=mjpeg"
PREVIEW_FORM: Final = "preview+ws://HOST[:PORT]/v1/preview/ID[#token=TOKEN]"
PREVIEW_EXAMPLE: Final = "preview+wss://example.org/v1/preview/42#token=TOKEN"

FILM_PROTOCOLS: Final = ("http", "https")
"""Of these, a server may offer a film as well as a live stream; which it is shows when it is opened."""

LIVE_PROTOCOLS: Final = ("rtsp", "rtsps", "rtmp", "rtmps", "srt", "udp", "rtp", "tcp")
"""What comes from these is live: it arrives when it is sent."""

CAMERA_FORMATS: Final = (
    "mjpeg",
    "h264",
    "yuyv422",
    "uyvy422",
    "nv12",
    "yuv420p",
    "yuv422p",
    "gray",
    "rgb24",
    "bgr24",
)
"""FFmpeg's names of what cameras deliver (`input_format` of its video4linux2 device)."""

HIDDEN: Final = "***"
"""Stands for a password or token that is not shown."""

_RATE: Final = Bounds(0, 1000, "fps")
_DURATION: Final = Bounds(0, 10_000, "ms")
_STALL: Final = Bounds(0, 60_000, "ms")
_PROBABILITY: Final = Bounds(0, 1)
_SEED: Final = Bounds(0, 2**31 - 1, whole=True)
_SETTINGS: Final = ("decode_ms", "arrival_jitter_ms", "stall", "seed")
_CAMERA_SETTINGS: Final = ("size", "fps", "format")
_CAMERA_RATE: Final = Bounds(0.1, 1000, "fps")
_CAMERA_FORMAT_ALIASES: Final = {"yuyv": "yuyv422", "uyvy": "uyvy422", "grey": "gray", "jpeg": "mjpeg"}
_PORT_NEEDED: Final = ("udp", "rtp", "tcp", "srt")
_MAY_LISTEN: Final = ("udp", "rtp", "tcp", "srt")
_PREVIEW_PATH: Final = re.compile(r"(?:/.*)?/v1/preview/([^/]+)")
BEARER_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What may follow "Bearer " in a header (RFC 6750, 2.1)."""

# FFmpeg protocols that read something else than they name: other files, descriptors, text; none is a source here.
_WRAPPERS: Final = ("async", "cache", "concat", "concatf", "crypto", "data", "fd", "ipfs", "pipe", "subfile", "tee")

_FLAGS: Final = re.compile(r"\?(free|loop|free&loop|loop&free)")
_FLAGS_AT_END: Final = re.compile(rf"(.*){_FLAGS.pattern}", re.DOTALL)
_ESCAPED: Final = re.compile(rf".*{_FLAGS.pattern}\?+", re.DOTALL)
# At least two characters before the colon: `C:\clip.mp4` and `C:/clip.mp4` are files.
_ADDRESS: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://.*", re.DOTALL)
# The first form is a password that holds a character which it should have as %XX, so that no host follows.
_USER_INFO: Final = re.compile(r"(?<=://)(?:[^/?#\s:@]*:(?![0-9]{1,5}(?:[/?#]|$))\S*|[^/?#\s]+)@")
_SECRET: Final = re.compile(
    r"([?&#;](?:access_?token|token|api_?key|key|auth|passwd|password|passphrase|pwd|secret|sig|signature|jwt)=)[^&#]*",
    re.IGNORECASE,
)


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


@dataclass(frozen=True, slots=True, repr=False)
class NetworkSpec:
    """A stream or a film at an address that FFmpeg opens.

    Attributes:
        url: with the protocol in small letters; may hold a password, so show `redacted` instead.
        free, loop: as for a file; only a film (http, https) can have them.
    """

    url: str
    free: bool = False
    loop: bool = False

    @property
    def protocol(self) -> str:
        """One of `FILM_PROTOCOLS` or `LIVE_PROTOCOLS`."""
        return self.url.partition(":")[0]

    @property
    def redacted(self) -> str:
        """The address without its secrets."""
        return redacted(self.url)

    def __repr__(self) -> str:
        return f"NetworkSpec({self.redacted!r}, free={self.free}, loop={self.loop})"


@dataclass(frozen=True, slots=True)
class CameraSpec:
    """A camera of Video4Linux.

    Attributes:
        device: path of its device file.
        size: width and height in px to ask for, None for the camera's own choice.
        rate_hz: frames a second to ask for, 0 for the camera's own choice.
        input_format: one of `CAMERA_FORMATS`, or "" for the camera's own choice.
    """

    device: str
    size: tuple[int, int] | None = None
    rate_hz: float = 0.0
    input_format: str = ""


@dataclass(frozen=True, slots=True, repr=False)
class PreviewStreamSpec:
    """A preview stream of another VeoTuner or of a generation service, as its client opens it.

    Attributes:
        url: what a WebSocket client connects to (`ws://…` or `wss://…`), without the token.
        token: bearer token for the `Authorization` header (RFC 6750 characters only), "" for none.
    """

    url: str
    token: str = ""

    @property
    def request_id(self) -> str:
        """The last part of the path, percent-decoded."""
        return unquote(urlsplit(self.url).path.rpartition("/")[2])

    @property
    def redacted(self) -> str:
        """The source text without its token."""
        return redacted(source_text(self))

    def __repr__(self) -> str:
        return f"PreviewStreamSpec({self.redacted!r})"


SourceSpec = SyntheticSpec | MediaSpec | NetworkSpec | CameraSpec | PreviewStreamSpec


def parse_source(text: str) -> SourceSpec:
    """Return what a source text names; file, camera and network are not looked at.

    Raises:
        InvalidInputError: the text fits no form, or names a kind of source that this version cannot open.
    """
    if not text.strip() or "\0" in text:
        raise _refusal(text.replace("\0", "␀"), "names no source", f"give {SOURCES_BUILT}")
    kind, colon, rest = text.partition(":")
    kind = kind.lower() if colon else ""
    if kind == "synthetic":
        return _parse_synthetic(text, rest)
    if kind == "v4l2":
        return _parse_camera(text, rest)
    address = _ADDRESS.fullmatch(text)
    if address and address[1].lower() != "file":
        return _parse_address(text, address[1].lower())
    if kind in _WRAPPERS:
        raise _refusal(
            text, f"uses FFmpeg's {kind}: protocol, which is no source", f"for a file of that name write ./{kind}:…"
        )
    return _parse_media(text)


def source_text(spec: SourceSpec) -> str:
    """Return the text that `parse_source` reads as this spec; what equals its default is left out."""
    match spec:
        case SyntheticSpec():
            return _synthetic_text(spec)
        case MediaSpec():
            return _with_flags(spec.location, spec.free, spec.loop)
        case NetworkSpec():
            return _with_flags(spec.url, spec.free, spec.loop)
        case CameraSpec():
            return _camera_text(spec)
        case PreviewStreamSpec():
            return f"preview+{spec.url}" + (f"#token={quote(spec.token, safe='')}" if spec.token else "")


def redacted(text: str) -> str:
    """Return a source text, or any text with addresses in it, with passwords and tokens replaced by `***`.

    Hidden are the user part of an address (`rtsp://***@camera/`) and the values of query and fragment keys that hold
    secrets (`token`, `key`, `password`, `passphrase`, `signature`, …). A text without an address is left as it is.
    """
    if "://" not in text:
        return text
    return _SECRET.sub(rf"\g<1>{HIDDEN}", _USER_INFO.sub(f"{HIDDEN}@", text))


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
    location, free, loop = _without_flags(text)
    location = _path_of_address(location)
    if not location:
        raise _refusal(text, "names no file", f"give {SOURCES_BUILT}")
    return MediaSpec(location, free, loop)


def _without_flags(text: str) -> tuple[str, bool, bool]:
    """Return what stands before `?free` and `?loop`, and whether each was given."""
    match = _FLAGS_AT_END.fullmatch(text)
    if match:
        flags = match[2].split("&")
        return match[1], "free" in flags, "loop" in flags
    return text[:-1] if _ESCAPED.fullmatch(text) else text, False, False


def _path_of_address(location: str) -> str:
    """Return the path of a `file://` address, as a file manager drops it; any other location unchanged."""
    address = _ADDRESS.fullmatch(location)
    if address is None or address[1].lower() != "file":
        return location
    parts = urlsplit(location)
    return url2pathname(parts.path)


def _parse_address(text: str, protocol: str) -> NetworkSpec | PreviewStreamSpec:
    if f"://{HIDDEN}@" in text or f"={HIDDEN}" in text:
        raise _refusal(
            text,
            f"holds {HIDDEN} for a password or token that was hidden when it was shown",
            "give the address in full",
        )
    if protocol in ("preview+ws", "preview+wss"):
        return _parse_preview_stream(text, protocol)
    if protocol in ("ws", "wss"):
        raise _refusal(text, "is a WebSocket address", f"for a preview stream write {PREVIEW_FORM}")
    if protocol not in FILM_PROTOCOLS + LIVE_PROTOCOLS:
        known = ", ".join(f"{name}://" for name in LIVE_PROTOCOLS + FILM_PROTOCOLS)
        raise _refusal(text, f"has the protocol {protocol}://, which is not opened", f"use one of {known}")
    url, free, loop = _without_flags(text)
    url = protocol + url[len(protocol) :]
    _check_host(text, _split(text, url), protocol)
    if protocol in LIVE_PROTOCOLS and (free or loop):
        raise _refusal(
            text, f"is live ({protocol}://), which can neither run free nor loop", "leave ?free and ?loop out"
        )
    return NetworkSpec(url, free, loop)


def _parse_preview_stream(text: str, protocol: str) -> PreviewStreamSpec:
    reader = SpecReader("source", redacted(text), PREVIEW_FORM, PREVIEW_EXAMPLE)
    parts = _split(text, text)
    _check_host(text, parts, protocol)
    if "@" in parts.netloc:
        raise reader.error("has a user before the host, which the preview stream does not know")
    if not _PREVIEW_PATH.fullmatch(parts.path):
        raise reader.error(f"has the path “{parts.path}”, which does not end with /v1/preview/ID")
    if parts.fragment and not parts.fragment.startswith("token="):
        raise reader.error("has something else than a token behind the #")
    query, tokens = [], [parts.fragment.removeprefix("token=")] if parts.fragment else []
    for item in parts.query.split("&") if parts.query else []:
        tokens.append(item.removeprefix("token=")) if item.startswith("token=") else query.append(item)
    if len(tokens) > 1:
        raise reader.error("gives a token twice")
    address = parts._replace(scheme=protocol.removeprefix("preview+"), query="&".join(query), fragment="")
    return PreviewStreamSpec(address.geturl(), _token(reader, tokens[0]) if tokens else "")


def _token(reader: SpecReader, quoted: str) -> str:
    token = unquote(quoted)
    if not BEARER_TOKEN.fullmatch(token):
        raise reader.error("has a token that is empty or holds characters which no bearer token has (RFC 6750)")
    return token


def _split(text: str, url: str) -> SplitResult:
    # FFmpeg takes an address as it stands; a blank or a line break in it would end up in a request.
    if not url.isprintable() or " " in url:
        raise _refusal(text, "has a blank or a control character in its address", "write a blank as %20")
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        # What urllib says may quote a password that was not percent-encoded.
        raise _refusal(
            text,
            "has no valid host, or a port outside 0–65535",
            "write PROTOCOL://HOST:PORT/PATH, and /, ?, #, : and @ of a password as %2F, %3F, %23, %3A and %40",
        ) from None
    return parts


def _check_host(text: str, parts: SplitResult, protocol: str) -> None:
    if not parts.hostname and protocol not in _MAY_LISTEN:
        raise _refusal(text, "names no host", f"write {protocol}://HOST/PATH")
    if protocol in _PORT_NEEDED and not parts.port:
        raise _refusal(text, "names no port", f"write {protocol}://HOST:PORT")


def _parse_camera(text: str, rest: str) -> CameraSpec:
    reader = SpecReader("source", text, CAMERA_FORM, CAMERA_EXAMPLE)
    device, *settings = rest.split(",")
    if not device.startswith("/"):
        raise reader.error(f"has the device “{device}”, which is no path")
    values = reader.settings(settings, _CAMERA_SETTINGS)
    return CameraSpec(
        device,
        size=reader.size(values["size"]) if "size" in values else None,
        rate_hz=reader.number("fps", values["fps"], _CAMERA_RATE) if "fps" in values else 0.0,
        input_format=_camera_format(reader, values["format"]) if "format" in values else "",
    )


def _camera_format(reader: SpecReader, text: str) -> str:
    name = _CAMERA_FORMAT_ALIASES.get(text.lower(), text.lower())
    if name not in CAMERA_FORMATS:
        raise reader.error(f"has format “{text}”, which is none of {', '.join(CAMERA_FORMATS)}")
    return name


def _camera_text(spec: CameraSpec) -> str:
    text = f"v4l2:{spec.device}"
    if spec.size:
        text += ",size={}x{}".format(*spec.size)
    if spec.rate_hz:
        text += f",fps={_decimal(spec.rate_hz)}"
    return text + (f",format={spec.input_format}" if spec.input_format else "")


def _synthetic_text(spec: SyntheticSpec) -> str:
    text = f"synthetic:{spec.width}x{spec.height}@{_decimal(spec.rate_hz)}"
    if spec.decode_mean_ms or spec.decode_sd_ms:
        text += f",decode_ms={_decimal(spec.decode_mean_ms)}±{_decimal(spec.decode_sd_ms)}"
    if spec.arrival_jitter_ms:
        text += f",arrival_jitter_ms={_decimal(spec.arrival_jitter_ms)}"
    if spec.stall_probability or spec.stall_ms:
        text += f",stall={_decimal(spec.stall_probability)}:{_decimal(spec.stall_ms)}"
    return text + (f",seed={spec.seed}" if spec.seed else "")


def _with_flags(location: str, free: bool, loop: bool) -> str:
    flags = [name for name, given in (("free", free), ("loop", loop)) if given]
    if flags:
        return f"{location}?{'&'.join(flags)}"
    ends_reserved = _FLAGS_AT_END.fullmatch(location) or _ESCAPED.fullmatch(location)
    return f"{location}?" if ends_reserved else location


def _decimal(value: float) -> str:
    """Return a decimal without exponent, which the grammar does not have."""
    return number_text(value) if value == 0 or value >= 1e-4 else f"{value:.12f}".rstrip("0")


def _refusal(text: str, fault: str, hint: str) -> InvalidInputError:
    return refusal("source", redacted(text), fault, hint)
