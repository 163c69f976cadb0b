"""From a decoded picture to the frame an encoder takes: which pixel format, which size, and the copy of the planes."""

from __future__ import annotations

from typing import Final

import numpy as np
from av import VideoFrame
from av.video.reformatter import ColorRange, Colorspace, VideoReformatter

from app.engine.encode.encoder_options import LIBX264
from app.engine.picture import Matrix, Picture, PictureFormat

_SUBSAMPLING: Final = {(1, 1): "420", (1, 0): "422", (0, 0): "444", (0, 1): "440", (2, 0): "411", (2, 2): "410"}
_SEMI_PLANAR_8_BIT: Final = {"420": "nv12", "422": "nv16", "444": "nv24"}
_SEMI_PLANAR_PREFIX: Final = {"420": "p0", "422": "p2", "444": "p4"}

_TAKEN_BY_X264: Final = frozenset(
    f"yuv{subsampling}p{depth}" for subsampling in ("420", "422", "444") for depth in ("", "10le")
) | {"nv12", "nv16", "nv20le", "gray", "gray10le"}
_TAKEN_BY_NVENC: Final = {
    "h264_nvenc": frozenset({"yuv420p", "nv12"}),
    "hevc_nvenc": frozenset({"yuv420p", "nv12", "p010le"}),
    "av1_nvenc": frozenset({"yuv420p", "nv12", "p010le"}),
}
"""Formats that every NVENC of the codec takes; 4:2:2 and 4:4:4 depend on the GPU's generation."""

_AV_COLORSPACE: Final = {Matrix.BT601: 6, Matrix.BT709: 1, Matrix.BT2020: 9, Matrix.RGB: 0}
"""ITU-T H.273 codes as FFmpeg numbers them (AVColorSpace)."""

_AV_RANGE_LIMITED: Final = 1
_AV_RANGE_FULL: Final = 2


def pixel_format_name(picture_format: PictureFormat) -> str:
    """Return FFmpeg's name of the format in which a picture's planes lie; the inverse of `layout_of`."""
    depth = "" if picture_format.bit_depth == 8 else f"{picture_format.bit_depth}le"
    if picture_format.plane_count == 1:
        return f"gray{depth}"
    if picture_format.matrix is Matrix.RGB:
        return f"gbrp{depth}"
    subsampling = _SUBSAMPLING[picture_format.chroma_shift_x, picture_format.chroma_shift_y]
    if picture_format.plane_count == 3:
        return f"yuv{subsampling}p{depth}"
    if not depth:
        return _SEMI_PLANAR_8_BIT[subsampling]
    if not picture_format.high_aligned:
        return f"nv20{depth.removeprefix('10')}"
    return f"{_SEMI_PLANAR_PREFIX[subsampling]}{depth}"


def coded_pixel_format(picture_format: PictureFormat, codec: str) -> str:
    """Return the pixel format in which an encoder codes such pictures: their own where it takes that."""
    name = pixel_format_name(picture_format)
    deep = picture_format.bit_depth > 8
    if codec != LIBX264:
        taken = _TAKEN_BY_NVENC[codec]
        if name in taken:
            return name
        return "p010le" if deep and "p010le" in taken else "yuv420p"
    if name in _TAKEN_BY_X264:
        return name
    depth = "10le" if deep else ""
    if picture_format.plane_count == 1:
        return f"gray{depth}"
    shifts = picture_format.chroma_shift_x, picture_format.chroma_shift_y
    subsampling = "444" if picture_format.matrix is Matrix.RGB else _SUBSAMPLING.get(shifts, "")
    return f"yuv{subsampling if subsampling in ('422', '444') else '420'}p{depth}"


def coded_size(picture_format: PictureFormat, codec: str) -> tuple[int, int]:
    """Return width and height as coded: an odd last column or row is left off where chroma is subsampled.

    No encoder takes a picture that its chroma grid does not divide.
    """
    halved = "420" in coded_pixel_format(picture_format, codec) or coded_pixel_format(picture_format, codec) in (
        "nv12",
        "p010le",
    )
    shift_x = max(picture_format.chroma_shift_x, int(halved))
    shift_y = max(picture_format.chroma_shift_y, int(halved))
    return picture_format.width >> shift_x << shift_x, picture_format.height >> shift_y << shift_y


def colour_space_code(picture_format: PictureFormat) -> int:
    """Return FFmpeg's number of the matrix of the coded picture; R′G′B′ is coded as BT.709."""
    return _AV_COLORSPACE[Matrix.BT709 if picture_format.matrix is Matrix.RGB else picture_format.matrix]


def colour_range_code(picture_format: PictureFormat) -> int:
    """Return FFmpeg's number of the range of the coded picture; R′G′B′ is coded in the limited range."""
    full = picture_format.full_range and picture_format.matrix is not Matrix.RGB
    return _AV_RANGE_FULL if full else _AV_RANGE_LIMITED


class PictureInput:
    """Turns pictures of one format into frames that an encoder takes; encode thread only.

    The planes are copied. That takes some tens of microseconds at 1080p, with the interpreter released, and lets the
    decoder have its buffer back at once: kept by reference, pictures held by an encoder that looks ahead would exhaust
    a decoder's pool. One frame serves all copies; FFmpeg gives it new memory when the encoder still refers to the old.
    """

    def __init__(self, picture_format: PictureFormat, codec: str) -> None:
        self._format = picture_format
        self._width, self._height = coded_size(picture_format, codec)
        self._target = coded_pixel_format(picture_format, codec)
        source_name = pixel_format_name(picture_format)
        self._frame = VideoFrame(self._width, self._height, source_name)
        self._frame.colorspace = _AV_COLORSPACE[picture_format.matrix]
        self._frame.color_range = _AV_RANGE_FULL if picture_format.full_range else _AV_RANGE_LIMITED
        self._reformatter = VideoReformatter() if source_name != self._target else None
        self._row_bytes = [
            (self._plane_width(plane), self._plane_height(plane)) for plane in range(picture_format.plane_count)
        ]

    def frame(self, picture: Picture) -> VideoFrame:
        """Return a frame with the picture's samples, valid until the next call."""
        self._frame.make_writable()
        for target, source, (row_bytes, rows) in zip(self._frame.planes, picture.planes, self._row_bytes, strict=True):
            shape = rows, row_bytes
            np.copyto(
                np.ndarray(shape, np.uint8, memoryview(target), strides=(target.line_size, 1)),
                np.ndarray(shape, np.uint8, memoryview(source.data), strides=(source.stride_bytes, 1)),
            )
        return self._frame if self._reformatter is None else self._reformatted(self._reformatter)

    def _reformatted(self, reformatter: VideoReformatter) -> VideoFrame:
        """Convert by libswscale, whose defaults are no good here: it guesses ranges from the names of formats.

        R′G′B′ uses the whole range and becomes limited; everything else keeps the range that it has, which for grey
        has to be called full on both sides, since libswscale takes grey for nothing else.
        """
        if self._format.matrix is Matrix.RGB:
            return reformatter.reformat(
                self._frame,
                format=self._target,
                dst_colorspace=Colorspace.ITU709,
                src_color_range=ColorRange.JPEG,
                dst_color_range=ColorRange.MPEG,
                threads=1,
            )
        kept = ColorRange.JPEG if self._format.full_range or self._format.plane_count == 1 else ColorRange.MPEG
        return reformatter.reformat(
            self._frame, format=self._target, src_color_range=kept, dst_color_range=kept, threads=1
        )

    def _plane_width(self, plane: int) -> int:
        samples = self._width if plane == 0 else -(-self._width >> self._format.chroma_shift_x)
        return samples * self._format.components(plane) * self._format.bytes_per_sample

    def _plane_height(self, plane: int) -> int:
        return self._height if plane == 0 else -(-self._height >> self._format.chroma_shift_y)
