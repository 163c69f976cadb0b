from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.vulkan.geometry import Rectangle, is_exact, letterbox, picture_position
from tests.engine.vulkan import reference

SIZES = st.tuples(st.integers(1, 8192), st.integers(1, 8192))


@given(SIZES, SIZES)
def test_a_letterboxed_picture_is_inside_centred_touching_and_of_its_own_shape(
    picture: tuple[int, int], target: tuple[int, int]
) -> None:
    x, y, width, height = letterbox(picture, target)
    assert 0 <= x <= target[0] - width
    assert 0 <= y <= target[1] - height
    assert abs(2 * x + width - target[0]) <= 1
    assert abs(2 * y + height - target[1]) <= 1
    assert width == target[0] or height == target[1]
    exact = min(target[0] / picture[0], target[1] / picture[1])
    assert abs(width - max(1, picture[0] * exact)) <= 0.5
    assert abs(height - max(1, picture[1] * exact)) <= 0.5


@given(SIZES)
def test_a_target_of_the_picture_s_size_is_filled(size: tuple[int, int]) -> None:
    assert letterbox(size, size) == (0, 0, *size)


@pytest.mark.parametrize(
    ("rotation", "source_of_top_left"), [(0, (0, 0)), (90, (0, 30)), (180, (40, 30)), (270, (40, 0))]
)
def test_the_top_left_of_the_screen_shows_the_corner_a_clockwise_turn_brings_there(
    rotation: int, source_of_top_left: tuple[int, int]
) -> None:
    form = reference.picture_format(40, 30, rotation=rotation)
    position = picture_position(form, Rectangle(5, 7, *form.display_size)) @ (5, 7, 1)
    assert np.allclose(position, source_of_top_left)


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_only_one_pixel_for_one_pixel_is_exact(rotation: int) -> None:
    form = reference.picture_format(40, 30, rotation=rotation)
    width, height = form.display_size
    assert is_exact(form, Rectangle(3, 4, width, height))
    assert not is_exact(form, Rectangle(3, 4, height, width))
    assert not is_exact(form, Rectangle(3, 4, width + 1, height))
