from __future__ import annotations

import numpy as np
import pytest

from app.engine.picture import Matrix
from app.engine.vulkan.colour import conversion_matrix
from tests.engine.vulkan import reference

YCBCR = [Matrix.BT601, Matrix.BT709, Matrix.BT2020]


@pytest.mark.parametrize("matrix", YCBCR, ids=lambda matrix: matrix.name)
@pytest.mark.parametrize("depth", [8, 10, 12, 16])
def test_black_and_white_are_where_the_standards_put_them(matrix: Matrix, depth: int) -> None:
    unit = 2 ** (depth - 8)
    texture = 255 if depth == 8 else 65535
    for full_range, black, white in ((False, 16 * unit, 235 * unit), (True, 0, 2**depth - 1)):
        form = reference.picture_format(8, 8, matrix=matrix, depth=depth, full_range=full_range)
        affine = conversion_matrix(form)
        neutral = 128 * unit / texture
        assert np.allclose(affine @ (black / texture, neutral, neutral, 1), 0, atol=1e-9)
        assert np.allclose(affine @ (white / texture, neutral, neutral, 1), 1, atol=1e-9)


def test_the_red_of_colour_bars_comes_out_red() -> None:
    """75 % red of BT.709 colour bars, limited range: Y 51, Cb 109, Cr 212 (ITU-R BT.709 and SMPTE RP 219)."""
    affine = conversion_matrix(reference.picture_format(8, 8))
    assert np.allclose(affine @ (51 / 255, 109 / 255, 212 / 255, 1), (0.75, 0, 0), atol=0.01)


def test_planar_rgb_is_only_put_in_order() -> None:
    form = reference.picture_format(8, 8, matrix=Matrix.RGB, full_range=True, shift=(0, 0))
    assert np.allclose(conversion_matrix(form) @ (0.2, 0.3, 0.4, 1), (0.4, 0.2, 0.3))
