"""The moving pattern shows its number, its bars have the colours of BT.709, and a canvas forgets the frame before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.bar_code import read_bar_code
from app.core.test_pattern import MovingPattern


@given(st.integers(1, 300), st.integers(1, 200), st.lists(st.integers(0, 2**33), min_size=1, max_size=6))
def test_a_recycled_canvas_looks_like_a_fresh_one(width: int, height: int, numbers: list[int]) -> None:
    pattern = MovingPattern(width, height)
    recycled, fresh = pattern.new_canvas(), pattern.new_canvas()
    for number in numbers:
        pattern.paint(recycled, number)
    pattern.paint(fresh, numbers[-1])
    assert np.array_equal(recycled.luma, fresh.luma)


def test_the_picture_carries_its_number_and_moves() -> None:
    pattern = MovingPattern(1280, 720)
    first, second = pattern.new_canvas(), pattern.new_canvas()
    pattern.paint(first, 59)
    pattern.paint(second, 60)
    assert [read_bar_code(canvas.luma) for canvas in (first, second)] == [59, 60]
    assert np.mean(first.luma != second.luma) > 0.1


@pytest.mark.parametrize("size", [(1, 1), (853, 479), (2, 3), (63, 480)])
def test_chroma_planes_of_odd_sizes_are_rounded_up(size: tuple[int, int]) -> None:
    pattern = MovingPattern(*size)
    assert all(plane.shape == (-(-size[1] // 2), -(-size[0] // 2)) for plane in pattern.chroma)
    assert pattern.has_bar_code is (size == (853, 479))


def test_the_bars_are_75_percent_colour_bars_in_bt709_limited_range() -> None:
    pattern = MovingPattern(1280, 720)
    canvas = pattern.new_canvas()
    row = 100
    cb, cr = pattern.chroma
    bars = [(canvas.luma[row, x], cb[row // 2, x // 2], cr[row // 2, x // 2]) for x in range(80, 1280, 160)]
    # SMPTE RP 219 / ITU-R BT.709 75 % bars in 8-bit codes.
    expected = [
        (180, 128, 128),
        (168, 44, 136),
        (145, 147, 44),
        (133, 63, 52),
        (63, 193, 204),
        (51, 109, 212),
        (28, 212, 120),
        (16, 128, 128),
    ]
    assert np.abs(np.array(bars, int) - expected).max() <= 1


def test_chroma_is_neutral_under_the_bar_code() -> None:
    pattern = MovingPattern(1280, 720)
    assert all(np.all(plane[:20] == 128) for plane in pattern.chroma)
