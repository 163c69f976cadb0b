"""Where the picture lies in the target image, and which picture position each target pixel shows."""

from __future__ import annotations

import math
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from app.engine.picture import PictureFormat
from app.engine.vulkan.colour import chroma_shift, conversion_matrix

PUSH_CONSTANT_FLOATS: Final = 28
"""Seven vec4 of `Conversion` in assets/shaders/convert.frag: 112 of the 128 bytes every device has."""


class Rectangle(NamedTuple):
    """Whole pixels of the target image, y downwards."""

    x: int
    y: int
    width: int
    height: int


def letterbox(picture: tuple[int, int], target: tuple[int, int]) -> Rectangle:
    """Return the largest centred rectangle of the picture's shape in the target, at least one pixel in size.

    Args:
        picture, target: width and height; the picture's as shown (square pixels, after rotation).
    """
    scale = min(target[0] / picture[0], target[1] / picture[1])
    width = min(target[0], max(1, round(picture[0] * scale)))
    height = min(target[1], max(1, round(picture[1] * scale)))
    return Rectangle((target[0] - width) // 2, (target[1] - height) // 2, width, height)


def letterbox_in(picture: tuple[int, int], cell: Rectangle) -> Rectangle:
    """Return the letterboxed rectangle of a picture within a cell of the target."""
    inside = letterbox(picture, (cell.width, cell.height))
    return inside._replace(x=cell.x + inside.x, y=cell.y + inside.y)


def is_exact(picture_format: PictureFormat, rectangle: Rectangle) -> bool:
    """Tell whether every target pixel of the rectangle shows exactly one picture pixel."""
    size = picture_format.width, picture_format.height
    turned = picture_format.rotation_degrees in (90, 270)
    return (rectangle.width, rectangle.height) == (size[::-1] if turned else size)


def picture_position(picture_format: PictureFormat, rectangle: Rectangle) -> npt.NDArray[np.float64]:
    """Return the affine map from a target pixel position to a picture position, both in pixels with centres at ½.

    Returns:
        float64 of shape (2, 3): rows x and y of the picture, columns target x, target y and 1. The rotation is the
        clockwise turn the picture needs for display.
    """
    turn = {
        0: ((1, 0, 0), (0, 1, 0)),
        90: ((0, 1, 0), (-1, 0, 1)),
        180: ((-1, 0, 1), (0, -1, 1)),
        270: ((0, -1, 1), (1, 0, 0)),
    }[picture_format.rotation_degrees]
    to_unit = np.array(
        [
            [1 / rectangle.width, 0, -rectangle.x / rectangle.width],
            [0, 1 / rectangle.height, -rectangle.y / rectangle.height],
            [0, 0, 1],
        ]
    )
    size = np.array([[picture_format.width], [picture_format.height]], np.float64)
    return np.asarray(size * (np.array(turn, np.float64) @ to_unit))


def push_constants(picture_format: PictureFormat, rectangle: Rectangle) -> npt.NDArray[np.float32]:
    """Return the block `Conversion` of the fragment shader, float32 of shape (28,)."""
    block = np.zeros((7, 4), np.float32)
    block[0:3] = conversion_matrix(picture_format)
    block[3:5, 0:3] = picture_position(picture_format, rectangle)
    chroma_width, chroma_height = picture_format.plane_size(1)
    shift_x, shift_y = picture_format.chroma_shift_x, picture_format.chroma_shift_y
    block[5] = (
        1 / picture_format.width,
        1 / picture_format.height,
        1 / 2**shift_x / chroma_width,
        1 / 2**shift_y / chroma_height,
    )
    offset_x, offset_y = chroma_shift(picture_format.chroma_location, shift_x, shift_y)
    block[6, 0:2] = (offset_x / chroma_width, offset_y / chroma_height)
    return block.reshape(-1)


def grid_cells(tiles: int, width: int, height: int) -> list[Rectangle]:
    """Return the cells of a picture of one to nine tiles, in reading order, at least one pixel in size.

    The grid is 1; 2 side by side; 2×2 for 3 and 4; 3×2 for 5 and 6; 3×3 for 7 to 9; a target higher than wide has it
    turned (2 above one another, 2×3), which shows wide pictures larger. Cells share the target to the pixel.
    """
    columns = math.ceil(math.sqrt(tiles))
    rows = math.ceil(tiles / columns)
    if height > width:
        columns, rows = rows, columns
    cells = [(column, row) for row in range(rows) for column in range(columns)]
    return [_cell(column, columns, width, row, rows, height) for column, row in cells[:tiles]]


def _cell(column: int, columns: int, width: int, row: int, rows: int, height: int) -> Rectangle:
    x, cell_width = _share(column, columns, width)
    y, cell_height = _share(row, rows, height)
    return Rectangle(x, y, cell_width, cell_height)


def _share(index: int, count: int, length: int) -> tuple[int, int]:
    """Return start and length of one of `count` shares; they overlap only where there are fewer pixels than shares."""
    start = min(index * length // count, length - 1)
    return start, max(1, (index + 1) * length // count - start)
