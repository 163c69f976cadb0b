"""What a decoded frame is, in the pipeline's terms, and what a stream is, in a sentence."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from av.sidedata.sidedata import SideData
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame
from av.video.stream import VideoStream

from app.engine.picture import Matrix, PictureFormat
from app.engine.sources.hardware_decoding import HARDWARE_NAME
from app.engine.sources.media_opening import OpenedMedia
from app.engine.sources.pixel_format import (
    chroma_location_of,
    is_full_range,
    layout_of,
    matrix_of,
    nearest_planar,
    unsupported_matrix,
)
from app.ipc.messages import SourceInfo

MATRIX_NAMES: Final = {Matrix.BT601: "bt601", Matrix.BT709: "bt709", Matrix.BT2020: "bt2020", Matrix.RGB: "rgb"}
_MATRIX_TITLES: Final = {Matrix.BT601: "BT.601", Matrix.BT709: "BT.709", Matrix.BT2020: "BT.2020", Matrix.RGB: "RGB"}


@dataclass(frozen=True, slots=True)
class Playback:
    """How a stream is played.

    Attributes:
        free: as fast as possible instead of by its own time stamps.
        loop: begins again at its end.
    """

    free: bool = False
    loop: bool = False


@dataclass(frozen=True, slots=True)
class PictureKind:
    """What all frames have in common until the stream changes.

    Attributes:
        format: as the pipeline gets it.
        decoded_name: FFmpeg's pixel format as decoded.
        rearranged_to: planar pixel format that libswscale makes of it first, or "" when it goes as it is.
        notices: what cannot be shown as the stream means it.
    """

    format: PictureFormat
    decoded_name: str
    rearranged_to: str = ""
    notices: tuple[str, ...] = ()

    def change_since(self, before: PictureKind) -> str:
        """Return what is different (`resolution changed to 640×360`), or "" when the pipeline need not care."""
        now, then = self.format, before.format
        if now == then:
            return ""
        changes = []
        if (now.width, now.height) != (then.width, then.height):
            changes.append(f"resolution changed to {now.width}×{now.height}")
        if self.decoded_name != before.decoded_name:
            changes.append(f"pixel format changed to {self.decoded_name}")
        if now.rotation_degrees != then.rotation_degrees:
            changes.append(f"rotation changed to {now.rotation_degrees}°")
        if now.sample_aspect != then.sample_aspect:
            changes.append("pixel aspect changed to {}:{}".format(*now.sample_aspect))
        return ", ".join(changes) or f"colours changed to {colours_title(now)}"


def picture_kind(frame: VideoFrame, stream: VideoStream | VideoCodecContext, chroma_siting: str) -> PictureKind:
    """Return what `frame` is.

    Args:
        frame: as decoded.
        stream: gives the pixel aspect ratio; the decoder, where there is no container.
        chroma_siting: FFmpeg's name of the stream's chroma location, or "".
    """
    decoded = frame.format.name
    layout = layout_of(decoded)
    rearranged_to = "" if layout else nearest_planar(frame.format)
    name = rearranged_to or decoded
    layout = layout or layout_of(name)
    assert layout is not None, f"nearest_planar gave {name}, which cannot be uploaded"
    matrix = matrix_of(frame.colorspace, layout.is_rgb, frame.width, frame.height)
    picture_format = PictureFormat(
        width=frame.width,
        height=frame.height,
        plane_count=layout.plane_count,
        chroma_shift_x=layout.chroma_shift_x,
        chroma_shift_y=layout.chroma_shift_y,
        bit_depth=layout.bit_depth,
        high_aligned=layout.high_aligned,
        matrix=matrix,
        full_range=is_full_range(frame.color_range, name),
        chroma_location=chroma_location_of(chroma_siting, decoded, matrix),
        rotation_degrees=_clockwise_quarter(frame.rotation),
        sample_aspect=_sample_aspect(stream.sample_aspect_ratio),
        name=name,
    )
    return PictureKind(picture_format, decoded, rearranged_to, tuple(_shortcomings(frame, layout.is_rgb)))


def describe_media(playback: Playback, media: OpenedMedia, kind: PictureKind) -> SourceInfo:
    """Return what the session is told about a stream.

    Args:
        playback: how it is played.
        media: the stream.
        kind: what its frames are.
    """
    rate_hz = nominal_rate_hz(media.stream)
    picture_format = kind.format
    return SourceInfo(
        description=", ".join(_description(playback, media, kind, rate_hz)),
        width=picture_format.width,
        height=picture_format.height,
        rate_hz=None if playback.free or rate_hz is None else float(rate_hz),
        free_running=playback.free,
        live=not playback.free,
        pixel_format=picture_format.name,
        matrix=MATRIX_NAMES[picture_format.matrix],
        colour_range="full" if picture_format.full_range else "limited",
        rotation_degrees=picture_format.rotation_degrees,
        decoder=media.hardware or "software",
        duration_s=None if playback.loop else media.duration_s,
    )


def nominal_rate_hz(stream: VideoStream) -> Fraction | None:
    """Return the frame rate a stream claims, None when it claims none that can be believed (0.1–1000 fps)."""
    rate_hz = stream.average_rate or stream.guessed_rate
    return rate_hz if rate_hz and Fraction(1, 10) <= rate_hz <= 1000 else None


def colours_title(picture_format: PictureFormat) -> str:
    """Return matrix and range for people (`BT.709 limited`)."""
    return f"{_MATRIX_TITLES[picture_format.matrix]} {'full' if picture_format.full_range else 'limited'}"


def _description(playback: Playback, media: OpenedMedia, kind: PictureKind, rate_hz: Fraction | None) -> list[str]:
    decoder = media.decoder
    picture_format = kind.format
    parts = [
        f"{decoder.name} {decoder.profile or ''}".strip(),
        f"{picture_format.width}×{picture_format.height}",
        f"{float(rate_hz):.6g} fps" if rate_hz else "rate unknown",
        f"{kind.decoded_name} rearranged to {kind.rearranged_to}" if kind.rearranged_to else kind.decoded_name,
        colours_title(picture_format),
    ]
    if picture_format.rotation_degrees:
        parts.append(f"rotated {picture_format.rotation_degrees}°")
    if picture_format.sample_aspect != (1, 1):
        parts.append("pixel aspect {}:{}".format(*picture_format.sample_aspect))
    parts += [text for wanted, text in ((playback.free, "free-running"), (playback.loop, "looped")) if wanted]
    return [*parts, _decoder_title(media, kind)]


def _decoder_title(media: OpenedMedia, kind: PictureKind) -> str:
    if media.hardware:
        return f"{media.hardware} decoder, downloaded as {kind.decoded_name.upper().removesuffix('LE')}"
    return f"software decoder ({HARDWARE_NAME}: {media.no_hardware})" if media.no_hardware else "software decoder"


def _shortcomings(frame: VideoFrame, is_rgb: bool) -> list[str]:
    notices = []
    if not is_rgb and (missing := unsupported_matrix(frame.colorspace)):
        notices.append(f"the stream's colour matrix {missing} is not supported; shown as BT.709, colours are wrong")
    if frame.rotation % 90:
        notices.append(f"the stream asks for a rotation of {-frame.rotation}°; shown at the nearest quarter turn")
    if _is_mirrored(frame):
        notices.append("the stream asks for a mirrored picture; shown unmirrored")
    if frame.interlaced_frame:
        notices.append("the video is interlaced; its fields are shown woven together")
    return notices


def _is_mirrored(frame: VideoFrame) -> bool:
    """Tell whether the display matrix (ISO/IEC 14496-12, 6.2.2, 16.16 fixed point) flips the picture."""
    matrix = frame.side_data.get("DISPLAYMATRIX")
    if not isinstance(matrix, SideData):
        return False
    a, b, _, c, d, *_ = struct.unpack("=9i", bytes(matrix))
    return bool(a * d - b * c < 0)


def _clockwise_quarter(counter_clockwise_degrees: int) -> int:
    return round(-counter_clockwise_degrees / 90) * 90 % 360


def _sample_aspect(ratio: Fraction | None) -> tuple[int, int]:
    return (ratio.numerator, ratio.denominator) if ratio and ratio > 0 else (1, 1)
