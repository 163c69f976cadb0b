"""Every pixel format that FFmpeg knows either goes to the GPU as it is or becomes one that does."""

from __future__ import annotations

import pytest
from av.video.format import VideoFormat, names  # type: ignore[attr-defined]  # left out of PyAV's stub

from app.engine.picture import Matrix
from app.engine.sources.pixel_format import is_full_range, layout_of, matrix_of, nearest_planar, unsupported_matrix

SOFTWARE_FORMATS = sorted(name for name in names if VideoFormat(name, 16, 16).components)


@pytest.mark.parametrize("name", SOFTWARE_FORMATS)
def test_every_software_format_has_a_way_to_the_gpu(name: str) -> None:
    pixel_format = VideoFormat(name, 64, 64)
    layout = layout_of(name)
    target = name if layout else nearest_planar(pixel_format)
    got = layout_of(target)
    assert got is not None
    if layout is not None:
        colours = [component for component in pixel_format.components if not component.is_alpha]
        assert got.bit_depth == colours[0].bits
        assert got.plane_count == len({component.plane for component in colours})
        assert not pixel_format.is_big_endian
        assert layout.plane_count == 1 or (64 >> layout.chroma_shift_x) == colours[1].width
        assert layout.plane_count == 1 or (64 >> layout.chroma_shift_y) == colours[1].height


@pytest.mark.parametrize(
    ("name", "target"),
    [
        ("yuyv422", "yuv422p"),
        ("uyyvyy411", "yuv411p"),
        ("y210le", "yuv422p10le"),
        ("p010be", "yuv420p10le"),
        ("p410be", "yuv444p10le"),
        ("nv42", "yuv444p"),
        ("yuv440p12be", "yuv440p12le"),
        ("vuya", "yuv444p"),
        ("rgba64be", "gbrp16le"),
        ("x2rgb10le", "gbrp10le"),
        ("bayer_rggb16le", "gbrp16le"),
        ("xyz12le", "gbrp12le"),
        ("grayf32le", "gray16le"),
        ("monob", "gray"),
    ],
)
def test_the_nearest_planar_format_keeps_subsampling_and_depth(name: str, target: str) -> None:
    assert nearest_planar(VideoFormat(name, 64, 64)) == target


def test_p010_keeps_its_samples_in_the_high_bits_and_yuv420p10_in_the_low_ones() -> None:
    high, low = layout_of("p010le"), layout_of("yuv420p10le")
    assert high is not None
    assert low is not None
    assert (high.plane_count, high.high_aligned, low.plane_count, low.high_aligned) == (2, True, 3, False)


@pytest.mark.parametrize(
    ("width", "height", "matrix"),
    [(720, 576, Matrix.BT601), (1280, 720, Matrix.BT709), (720, 1280, Matrix.BT709), (3840, 2160, Matrix.BT709)],
)
def test_an_untagged_matrix_goes_by_size(width: int, height: int, matrix: Matrix) -> None:
    assert matrix_of(2, False, width, height) is matrix


def test_a_matrix_without_coefficients_is_named() -> None:
    assert unsupported_matrix(8) == "YCgCo"
    assert unsupported_matrix(200) == "matrix code 200"
    assert [unsupported_matrix(code) for code in (0, 1, 2, 5, 6, 9)] == [""] * 6


def test_untagged_ranges_follow_libswscale() -> None:
    assert [is_full_range(0, name) for name in ("yuv420p", "nv12", "yuvj420p", "gbrp", "gray")] == [
        False,
        False,
        True,
        True,
        True,
    ]
    assert not is_full_range(1, "gray")
    assert is_full_range(2, "yuv420p")
