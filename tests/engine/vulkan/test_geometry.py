from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.vulkan.geometry import Rectangle, grid_cells, is_exact, letterbox, letterbox_in, picture_position
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


@given(st.integers(1, 9), SIZES)
def test_cells_of_a_grid_lie_inside_in_reading_order_and_share_the_target_without_overlap(
    tiles: int, size: tuple[int, int]
) -> None:
    cells = grid_cells(tiles, *size)
    assert len(cells) == tiles
    for cell in cells:
        assert cell.width >= 1
        assert cell.height >= 1
        assert 0 <= cell.x <= size[0] - cell.width
        assert 0 <= cell.y <= size[1] - cell.height
    if min(size) >= 3:  # a cell for each pixel at least
        assert cells == sorted(cells, key=lambda cell: (cell.y, cell.x))
        widths, heights = {cell.width for cell in cells}, {cell.height for cell in cells}
        assert max(widths) - min(widths) <= 1
        assert max(heights) - min(heights) <= 1
        for one, other in itertools.combinations(cells, 2):
            assert one.x + one.width <= other.x or one.y + one.height <= other.y or other.x + other.width <= one.x


@pytest.mark.parametrize(
    ("tiles", "columns", "rows"),
    [(1, 1, 1), (2, 2, 1), (3, 2, 2), (4, 2, 2), (5, 3, 2), (6, 3, 2), (7, 3, 3), (9, 3, 3)],
)
def test_a_wide_target_has_more_columns_and_a_high_one_more_rows(tiles: int, columns: int, rows: int) -> None:
    assert grid_cells(tiles, 1800, 900)[0] == (0, 0, 1800 // columns, 900 // rows)
    assert grid_cells(tiles, 900, 1800)[0] == (0, 0, 900 // rows, 1800 // columns)


@given(SIZES, SIZES, st.integers(0, 500), st.integers(0, 500))
def test_a_picture_lies_in_a_cell_as_in_a_target_of_its_size(
    picture: tuple[int, int], size: tuple[int, int], x: int, y: int
) -> None:
    alone = letterbox(picture, size)
    assert letterbox_in(picture, Rectangle(x, y, *size)) == (x + alone.x, y + alone.y, alone.width, alone.height)
