from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.engine.picture import ChromaLocation, Matrix, PictureFormat
from tests.engine.vulkan import reference
from tests.engine.vulkan.conftest import OpenRenderer, draw

TOLERANCE = 3
"""Of 255: rounding to 8 bits on both sides and the GPU's 8-bit filter weights."""


def worst_error(open_renderer: OpenRenderer, form: PictureFormat, tmp_path: Path, padding: int = 0) -> float:
    codes = reference.random_codes(form)
    renderer = open_renderer(form.width, form.height)
    drawn = draw(renderer, reference.make_picture(form, codes, padding), tmp_path / "drawn.png")
    return float(np.abs(drawn - reference.convert(form, codes)).max())


@pytest.mark.parametrize("full_range", [False, True], ids=["limited", "full"])
@pytest.mark.parametrize("matrix", list(Matrix), ids=lambda matrix: matrix.name)
def test_colours_match_the_standards(
    open_renderer: OpenRenderer, tmp_path: Path, matrix: Matrix, full_range: bool
) -> None:
    shift = (0, 0) if matrix is Matrix.RGB else (1, 1)
    form = reference.picture_format(64, 48, matrix=matrix, full_range=full_range, shift=shift)
    assert worst_error(open_renderer, form, tmp_path) <= TOLERANCE


@pytest.mark.parametrize("location", list(ChromaLocation), ids=lambda location: location.name)
@pytest.mark.parametrize("shift", [(1, 1), (1, 0), (0, 0), (2, 2)], ids=["420", "422", "444", "410"])
def test_chroma_sits_where_the_format_says(
    open_renderer: OpenRenderer, tmp_path: Path, location: ChromaLocation, shift: tuple[int, int]
) -> None:
    form = reference.picture_format(64, 48, shift=shift, location=location)
    assert worst_error(open_renderer, form, tmp_path) <= TOLERANCE


def test_the_reference_can_tell_one_chroma_siting_from_another() -> None:
    codes = reference.random_codes(reference.picture_format(64, 48))
    pictures = [reference.convert(reference.picture_format(64, 48, location=each), codes) for each in ChromaLocation]
    assert np.abs(pictures[0] - pictures[1]).max() > 10 * TOLERANCE
    assert np.abs(pictures[0] - pictures[2]).max() > 10 * TOLERANCE


@pytest.mark.parametrize("depth", range(9, 17))
@pytest.mark.parametrize("high_aligned", [False, True], ids=["low", "high"])
def test_deep_samples_are_read_from_the_bits_they_sit_in(
    open_renderer: OpenRenderer, tmp_path: Path, depth: int, high_aligned: bool
) -> None:
    form = reference.picture_format(32, 24, depth=depth, high_aligned=high_aligned)
    assert worst_error(open_renderer, form, tmp_path, padding=5) <= TOLERANCE


@pytest.mark.parametrize(
    "form",
    [
        reference.picture_format(50, 38, planes=1, shift=(0, 0)),
        reference.picture_format(50, 38, planes=1, shift=(0, 0), full_range=True),
        reference.picture_format(50, 38, planes=2),
        reference.picture_format(50, 38, planes=2, depth=10, high_aligned=True, matrix=Matrix.BT2020),
    ],
    ids=["grey", "grey-full", "nv12", "p010"],
)
def test_grey_and_interleaved_chroma(open_renderer: OpenRenderer, tmp_path: Path, form: PictureFormat) -> None:
    assert worst_error(open_renderer, form, tmp_path) <= TOLERANCE


@pytest.mark.parametrize("size", [(1, 1), (1, 7), (2, 1), (3, 5), (853, 479)], ids=str)
@pytest.mark.parametrize("padding", [0, 11], ids=["tight", "padded"])
def test_odd_sizes_and_line_padding(
    open_renderer: OpenRenderer, tmp_path: Path, size: tuple[int, int], padding: int
) -> None:
    for planes in (1, 2, 3):
        assert (
            worst_error(open_renderer, reference.picture_format(*size, planes=planes), tmp_path, padding) <= TOLERANCE
        )


def test_a_line_stride_no_texel_divides_is_copied_line_by_line(open_renderer: OpenRenderer, tmp_path: Path) -> None:
    form = reference.picture_format(32, 24, planes=2)
    codes = reference.random_codes(form)
    assert worst_error(open_renderer, form, tmp_path, padding=1) <= TOLERANCE
    assert reference.make_picture(form, codes, 1).planes[1].stride_bytes % 2 == 1


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
@pytest.mark.parametrize("location", [ChromaLocation.LEFT, ChromaLocation.TOP_LEFT], ids=lambda each: each.name)
def test_rotation_turns_the_picture_clockwise(
    open_renderer: OpenRenderer, tmp_path: Path, rotation: int, location: ChromaLocation
) -> None:
    form = reference.picture_format(53, 31, rotation=rotation, location=location)
    codes = reference.random_codes(form)
    drawn = draw(open_renderer(*form.display_size), reference.make_picture(form, codes), tmp_path / "turned.png")
    expected = np.rot90(reference.convert(form, codes), -rotation // 90)
    assert np.abs(drawn - expected).max() <= TOLERANCE


def test_a_picture_of_another_shape_is_letterboxed_in_black(open_renderer: OpenRenderer, tmp_path: Path) -> None:
    form = reference.picture_format(80, 40, planes=1, shift=(0, 0), full_range=True)
    codes = [np.full((40, 80), 200, np.uint16)]
    drawn = draw(open_renderer(80, 60), reference.make_picture(form, codes), tmp_path / "boxed.png")
    assert np.all(drawn[10:50] == 200)
    assert np.all(drawn[:10] == 0)
    assert np.all(drawn[50:] == 0)


def test_wide_pixels_widen_the_picture(open_renderer: OpenRenderer, tmp_path: Path) -> None:
    form = reference.picture_format(40, 40, planes=1, shift=(0, 0), full_range=True, aspect=(2, 1))
    codes = [np.full((40, 40), 200, np.uint16)]
    drawn = draw(open_renderer(80, 80), reference.make_picture(form, codes), tmp_path / "wide.png")
    lit = drawn[:, :, 0] == 200
    assert lit.any(axis=1).sum() == 40
    assert lit.any(axis=0).sum() == 80


def test_scaling_is_smooth(open_renderer: OpenRenderer, tmp_path: Path) -> None:
    form = reference.picture_format(64, 16, planes=1, shift=(0, 0), full_range=True)
    ramp = np.tile(np.arange(64, dtype=np.uint16) * 4, (16, 1))
    drawn = draw(open_renderer(256, 64), reference.make_picture(form, [ramp]), tmp_path / "ramp.png")
    expected = np.clip((np.arange(256) + 0.5) / 4 - 0.5, 0, 63) * 4
    assert np.abs(drawn[:, :, 0] - expected).max() <= TOLERANCE


def test_a_new_format_replaces_the_conversion(open_renderer: OpenRenderer, tmp_path: Path) -> None:
    renderer = open_renderer(64, 48)
    planar = reference.picture_format(64, 48)
    interleaved = reference.picture_format(32, 24, planes=2, depth=10, high_aligned=True)
    codes = reference.random_codes(planar)
    pictures = [
        reference.make_picture(planar, codes),
        reference.make_picture(interleaved, reference.random_codes(interleaved)),
    ]
    drawn, objects = [], []
    for picture in [*pictures, *pictures, pictures[0]]:
        drawn.append(draw(renderer, picture, tmp_path / "drawn.png"))
        objects.append(renderer.live_objects())
    assert np.abs(drawn[2] - reference.convert(planar, codes)).max() <= TOLERANCE
    assert objects[2] == objects[4]  # both pipelines are there by then


@pytest.mark.parametrize("rotation", [0, 90, 180, 270])
def test_at_its_own_size_a_full_range_grey_picture_comes_out_bit_for_bit(
    open_renderer: OpenRenderer, tmp_path: Path, rotation: int
) -> None:
    form = reference.picture_format(853, 479, planes=1, shift=(0, 0), full_range=True, rotation=rotation)
    codes = reference.random_codes(form)
    drawn = draw(open_renderer(*form.display_size), reference.make_picture(form, codes), tmp_path / "sharp.png")
    assert np.array_equal(drawn[:, :, 0], np.rot90(codes[0], -rotation // 90))
