"""Which pixel formats go to the GPU as they are, what the others become, and what a decoder frame's colours mean."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from av.video.format import VideoFormat

from app.engine.picture import ChromaLocation, Matrix


class PixelLayout(NamedTuple):
    """How the planes of a pixel format lie in memory; fields as in `PictureFormat`."""

    plane_count: int
    chroma_shift_x: int
    chroma_shift_y: int
    bit_depth: int
    high_aligned: bool
    is_rgb: bool


_CHROMA_SHIFTS: Final = {"420": (1, 1), "422": (1, 0), "444": (0, 0), "440": (0, 1), "411": (2, 0), "410": (2, 2)}

_PLANAR_YUV: Final = re.compile(r"yuv[aj]?(420|422|444|440|411|410)p(9|10|12|14|16)?(le)?")
_PLANAR_GREY: Final = re.compile(r"gray(9|10|12|14|16)?(le)?")
_PLANAR_RGB: Final = re.compile(r"gbra?p(9|10|12|14|16)?(le)?")

_SEMI_PLANAR: Final = {
    "nv12": PixelLayout(2, 1, 1, 8, False, False),
    "nv16": PixelLayout(2, 1, 0, 8, False, False),
    "nv24": PixelLayout(2, 0, 0, 8, False, False),
    "nv20le": PixelLayout(2, 1, 0, 10, False, False),
    "p010le": PixelLayout(2, 1, 1, 10, True, False),
    "p012le": PixelLayout(2, 1, 1, 12, True, False),
    "p016le": PixelLayout(2, 1, 1, 16, True, False),
    "p210le": PixelLayout(2, 1, 0, 10, True, False),
    "p212le": PixelLayout(2, 1, 0, 12, True, False),
    "p216le": PixelLayout(2, 1, 0, 16, True, False),
    "p410le": PixelLayout(2, 0, 0, 10, True, False),
    "p412le": PixelLayout(2, 0, 0, 12, True, False),
    "p416le": PixelLayout(2, 0, 0, 16, True, False),
}

_LIBSWSCALE_DEPTHS: Final = (8, 9, 10, 12, 14, 16)

# ITU-T H.273 codes as FFmpeg numbers them (AVColorSpace).
_SPACE_RGB: Final = 0
_SPACE_UNSPECIFIED: Final = 2
_MATRIX_BY_SPACE: Final = {
    1: Matrix.BT709,
    4: Matrix.BT601,  # FCC: 0.30/0.11, within 0.1 % of BT.601
    5: Matrix.BT601,
    6: Matrix.BT601,
    9: Matrix.BT2020,
}
_SPACE_NAMES: Final = {
    7: "SMPTE 240M",
    8: "YCgCo",
    10: "BT.2020 constant luminance",
    11: "Y′D′zD′x",
    12: "chromaticity-derived",
    13: "chromaticity-derived constant luminance",
    14: "ICtCp",
    15: "IPT-C2",
    16: "YCgCo-Re",
    17: "YCgCo-Ro",
}
_RANGE_FULL: Final = 2
_RANGE_UNSPECIFIED: Final = 0

_CHROMA_LOCATIONS: Final = {
    "left": ChromaLocation.LEFT,
    "center": ChromaLocation.CENTER,
    "topleft": ChromaLocation.TOP_LEFT,
}


def layout_of(name: str) -> PixelLayout | None:
    """Return the layout of an FFmpeg pixel format that can be uploaded as it is; None when it must be rearranged.

    An alpha plane, always the last, is left behind.
    """
    if name in _SEMI_PLANAR:
        return _SEMI_PLANAR[name]
    if match := _PLANAR_YUV.fullmatch(name):
        return PixelLayout(3, *_CHROMA_SHIFTS[match[1]], int(match[2] or 8), False, False)
    if match := _PLANAR_GREY.fullmatch(name):
        return PixelLayout(1, 0, 0, int(match[1] or 8), False, False)
    if match := _PLANAR_RGB.fullmatch(name):
        return PixelLayout(3, 0, 0, int(match[1] or 8), False, True)
    return None


def nearest_planar(pixel_format: VideoFormat) -> str:
    """Return the planar format that keeps most of one that `layout_of` refuses (packed, palette, big-endian, float)."""
    bits = [component.bits for component in pixel_format.components]
    depth = _nearest_depth(sum(bits) if pixel_format.is_bayer else max(bits))
    suffix = "" if depth == 8 else f"{depth}le"
    if pixel_format.is_rgb or pixel_format.has_palette or pixel_format.is_bayer or pixel_format.name.startswith("xyz"):
        return f"gbrp{suffix}"
    colours = [component for component in pixel_format.components if not component.is_alpha]
    if len(colours) < 3:
        return f"gray{suffix}"
    return f"yuv{_subsampling(pixel_format.name)}p{suffix}"


def matrix_of(space: int, is_rgb: bool, width: int, height: int) -> Matrix:
    """Return the matrix of an `AVColorSpace` code.

    Unspecified goes by size as players do: BT.601 up to 576 lines and less than 1280 pixels wide, BT.709 above. What
    the converter has no coefficients for is shown as BT.709; `unsupported_matrix` names it.
    """
    if is_rgb or space == _SPACE_RGB:
        return Matrix.RGB
    if space == _SPACE_UNSPECIFIED:
        return Matrix.BT709 if width >= 1280 or height > 576 else Matrix.BT601
    return _MATRIX_BY_SPACE.get(space, Matrix.BT709)


def unsupported_matrix(space: int) -> str:
    """Return the name of a matrix the converter does not have, or "" when it has it."""
    if space in (_SPACE_RGB, _SPACE_UNSPECIFIED) or space in _MATRIX_BY_SPACE:
        return ""
    return _SPACE_NAMES.get(space, f"matrix code {space}")


def is_full_range(colour_range: int, name: str) -> bool:
    """Tell whether samples use the whole code range.

    Unspecified is limited for Y′CbCr and full for RGB, grey and FFmpeg's old `yuvj` formats, as in libswscale.
    """
    if name.startswith(("yuvj", "gbr", "rgb", "bgr", "pal")):
        return True
    if colour_range == _RANGE_UNSPECIFIED:
        return name.startswith("gray")
    return colour_range == _RANGE_FULL


def chroma_location_of(tag: str, name: str, matrix: Matrix) -> ChromaLocation:
    """Return the chroma siting: as tagged (FFmpeg's name, or ""), else by convention.

    JPEG's 4:2:0 is centred, BT.2020's is at the top left, MPEG-2's and all its heirs' at the left.
    """
    if tag in _CHROMA_LOCATIONS:
        return _CHROMA_LOCATIONS[tag]
    if name.startswith("yuvj"):
        return ChromaLocation.CENTER
    return ChromaLocation.TOP_LEFT if matrix is Matrix.BT2020 else ChromaLocation.LEFT


def _nearest_depth(bits: int) -> int:
    return next((depth for depth in _LIBSWSCALE_DEPTHS if depth >= bits), _LIBSWSCALE_DEPTHS[-1])


def _subsampling(name: str) -> str:
    """Return the chroma subsampling a packed or byte-swapped Y′CbCr format stands for."""
    if name.startswith(("nv21", "p0")):
        return "420"
    if name.startswith(("nv20", "p2", "y2")):
        return "422"
    digits = re.search(r"4(20|22|40|11|10)", name)
    return digits[0] if digits and not name.startswith("p4") else "444"
