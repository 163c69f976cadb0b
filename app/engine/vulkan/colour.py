"""Conversion of Y′CbCr samples to R′G′B′ as one affine map, and where chroma samples sit."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from app.engine.picture import ChromaLocation, Matrix, PictureFormat

LUMA_WEIGHTS: Final[dict[Matrix, tuple[float, float]]] = {
    Matrix.BT601: (0.299, 0.114),
    Matrix.BT709: (0.2126, 0.0722),
    Matrix.BT2020: (0.2627, 0.0593),
}
"""Kr and Kb of ITU-R BT.601, BT.709 and BT.2020 (non-constant luminance)."""


def conversion_matrix(picture_format: PictureFormat) -> npt.NDArray[np.float64]:
    """Return the map from components as a UNORM texture gives them to R′G′B′ in 0…1.

    Quantisation follows ITU-T H.273: limited range has luma (and R, G, B) at 16…235 and chroma at 128 ± 112, scaled by
    2^(depth−8); full range has luma at 0…2^depth−1 and chroma about 2^(depth−1).

    Returns:
        float64 of shape (3, 4): rows R, G, B; columns the three components in plane order (G, B, R for RGB), then the
        offset. Grey has zero columns for the components it lacks.
    """
    code_scale = _code_scale(picture_format)
    levels = float(2**picture_format.bit_depth - 1)
    step = float(2 ** (picture_format.bit_depth - 8))
    black, luma_span, chroma_span = (
        (0.0, levels, levels) if picture_format.full_range else (16 * step, 219 * step, 224 * step)
    )
    if picture_format.plane_count == 1:
        weights = np.array([[1.0, 0.0, 0.0]] * 3)
    elif picture_format.matrix is Matrix.RGB:
        weights = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    else:
        weights = _ycbcr_to_rgb(*LUMA_WEIGHTS[picture_format.matrix])
    if picture_format.matrix is Matrix.RGB:
        zero, span = np.full(3, black), np.full(3, luma_span)
    else:
        zero = np.array([black, 128 * step, 128 * step])
        span = np.array([luma_span, chroma_span, chroma_span])
    scaled = weights / span
    return np.hstack([scaled * code_scale, -(scaled @ zero)[:, None]])


def chroma_shift(location: ChromaLocation, shift_x: int, shift_y: int) -> tuple[float, float]:
    """Return how far a chroma texture coordinate lies from picture position / 2^shift, in chroma samples.

    A chroma sample n of subsampling factor f sits at luma sample f·n when co-sited and at f·n + (f−1)/2 when centred;
    with texel centres at n + ½ the centred case needs no offset and the co-sited one ½ − ½/f.
    """
    cosited_x = location in (ChromaLocation.LEFT, ChromaLocation.TOP_LEFT)
    cosited_y = location is ChromaLocation.TOP_LEFT
    return (
        0.5 - 0.5 / 2**shift_x if cosited_x else 0.0,
        0.5 - 0.5 / 2**shift_y if cosited_y else 0.0,
    )


def _code_scale(picture_format: PictureFormat) -> float:
    """Return the factor from a texture value in 0…1 to the sample's code value."""
    if picture_format.bit_depth == 8:
        return 255.0
    return 65535.0 / 2 ** (16 - picture_format.bit_depth) if picture_format.high_aligned else 65535.0


def _ycbcr_to_rgb(kr: float, kb: float) -> npt.NDArray[np.float64]:
    kg = 1.0 - kr - kb
    return np.array(
        [
            [1.0, 0.0, 2.0 * (1.0 - kr)],
            [1.0, -2.0 * kb * (1.0 - kb) / kg, -2.0 * kr * (1.0 - kr) / kg],
            [1.0, 2.0 * (1.0 - kb), 0.0],
        ]
    )
