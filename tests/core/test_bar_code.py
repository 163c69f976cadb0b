"""The bar code is read back from screenshots, and never read wrongly."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.bar_code import BarCodePainter, bar_code_rows, read_bar_code

NUMBERS = st.integers(0, 2**32 - 1)


def picture_with(number: int, width: int, height: int) -> npt.NDArray[np.uint8]:
    luma = np.full((height, width), 100, np.uint8)
    luma[:, ::3] = 180
    BarCodePainter(width, height, 0, 255).draw(luma, number)
    return luma


def scaled(grey: npt.NDArray[np.uint8], scale: float, offset: float = 0.0) -> npt.NDArray[np.uint8]:
    """Scale bilinearly like a GPU sampler (no prefilter), misplaced by `offset` output pixels."""
    height, width = (max(1, round(size * scale)) for size in grey.shape)
    y = np.clip((np.arange(height) + 0.5 + offset) * grey.shape[0] / height - 0.5, 0, grey.shape[0] - 1)
    x = np.clip((np.arange(width) + 0.5 + offset) * grey.shape[1] / width - 0.5, 0, grey.shape[1] - 1)
    y0, x0 = y.astype(int), x.astype(int)
    y1, x1 = np.minimum(y0 + 1, grey.shape[0] - 1), np.minimum(x0 + 1, grey.shape[1] - 1)
    fy, fx = (y - y0)[:, None], x - x0
    values = grey.astype(float)
    upper = values[y0][:, x0] * (1 - fx) + values[y0][:, x1] * fx
    lower = values[y1][:, x0] * (1 - fx) + values[y1][:, x1] * fx
    mixed: npt.NDArray[np.float64] = np.rint(upper * (1 - fy) + lower * fy)
    return mixed.astype(np.uint8)


def as_rgb(grey: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    return np.repeat(grey[:, :, None], 3, axis=2)


@given(NUMBERS, st.integers(64, 700), st.integers(32, 500))
def test_a_number_is_read_back_at_every_size_from_64_pixels_wide(number: int, width: int, height: int) -> None:
    assert read_bar_code(as_rgb(picture_with(number, width, height))) == number


@settings(deadline=None)
@given(
    NUMBERS,
    st.sampled_from([(64, 36), (64, 64), (320, 240), (853, 479), (1280, 720)]),
    st.floats(0.4, 3.0),
    st.floats(0.0, 6.0),
    st.integers(0, 2**16),
)
def test_a_scaled_screenshot_with_mild_noise_shows_the_number(
    number: int, size: tuple[int, int], scale: float, noise_sd: float, seed: int
) -> None:
    shot = scaled(picture_with(number, *size), scale).astype(float)
    shot += np.random.default_rng(seed).normal(0, noise_sd, shot.shape)
    assert read_bar_code(as_rgb(np.clip(np.rint(shot), 0, 255).astype(np.uint8))) == number


@pytest.mark.parametrize("offset", [-1.0, -0.5, 0.5, 1.0])
@pytest.mark.parametrize("scale", [0.4, 0.6, 1.0, 2.5])
def test_a_rectangle_misplaced_by_a_pixel_is_still_read(scale: float, offset: float) -> None:
    assert read_bar_code(as_rgb(scaled(picture_with(123_456_789, 1280, 720), scale, offset))) == 123_456_789


@given(NUMBERS, st.integers(0, 2**32 - 1), st.floats(0.0, 1.0), st.floats(20.0, 120.0))
def test_a_damaged_code_is_read_rightly_or_not_at_all(number: int, seed: int, part: float, noise_sd: float) -> None:
    rng = np.random.default_rng(seed)
    shot = picture_with(number, 320, 240).astype(float)
    damaged = rng.random(shot.shape) < part
    shot[damaged] += rng.normal(0, noise_sd, int(damaged.sum()))
    assert read_bar_code(as_rgb(np.clip(shot, 0, 255).astype(np.uint8))) in (number, None)


@given(NUMBERS, st.sets(st.tuples(st.integers(0, 4), st.integers(0, 15)), min_size=1, max_size=6))
def test_flipped_cells_are_noticed(number: int, flipped: set[tuple[int, int]]) -> None:
    grey = picture_with(number, 320, 360)
    for row, column in flipped:
        cell = grey[row * 4 : row * 4 + 4, column * 20 : column * 20 + 20]
        cell[:] = 255 - cell
    assert read_bar_code(as_rgb(grey)) is None


@given(st.integers(16, 200), st.integers(16, 200), st.integers(0, 2**32 - 1))
def test_a_picture_without_a_code_has_no_number(width: int, height: int, seed: int) -> None:
    noise = np.random.default_rng(seed).integers(0, 256, (height, width, 3), np.uint8)
    assert read_bar_code(noise) is None


def test_two_codes_mixed_by_tearing_or_blending_are_not_a_third_number() -> None:
    first, second = picture_with(41, 320, 240), picture_with(42, 320, 240)
    torn = first.copy()
    torn[30:] = second[30:]
    blended = ((first.astype(int) + second) // 2).astype(np.uint8)
    assert read_bar_code(as_rgb(torn)) in (41, 42, None)
    assert read_bar_code(as_rgb(blended)) is None


def test_limited_range_sixteen_bit_samples_are_drawn_alike() -> None:
    eight, ten = np.zeros((240, 320), np.uint8), np.zeros((240, 320), np.uint16)
    BarCodePainter(320, 240, 16, 235).draw(eight, 7)
    BarCodePainter(320, 240, 64, 940, np.uint16).draw(ten, 7)
    assert np.array_equal(eight.astype(np.uint16) * 4, ten)
    assert read_bar_code(eight) == 7


@pytest.mark.parametrize("size", [(63, 480), (640, 31), (1, 1)])
def test_a_picture_too_small_for_a_code_stays_as_it_is(size: tuple[int, int]) -> None:
    luma = np.full((size[1], size[0]), 77, np.uint8)
    BarCodePainter(*size, 0, 255).draw(luma, 5)
    assert bar_code_rows(*size) == 0
    assert np.all(luma == 77)


@given(st.integers(64, 4096), st.integers(32, 2304))
def test_the_code_stays_within_the_rows_it_claims(width: int, height: int) -> None:
    luma = np.full((height, width), 77, np.uint8)
    painter = BarCodePainter(width, height, 0, 255)
    painter.draw(luma, 0xDEADBEEF)
    assert 20 <= painter.rows <= height * 5 // 8 + 1
    assert not np.any(luma[: painter.rows] == 77)
    assert np.all(luma[painter.rows :] == 77)


def test_numbers_wrap_at_32_bits() -> None:
    assert read_bar_code(as_rgb(picture_with(2**32 + 9, 320, 240))) == 9
