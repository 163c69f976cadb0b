"""A picture of every format that sources deliver reaches every encoder with its colours."""

from __future__ import annotations

from fractions import Fraction

import av
import numpy as np
import pytest
from av import VideoFrame
from av.video.codeccontext import VideoCodecContext
from av.video.format import names  # type: ignore[attr-defined]  # left out of PyAV's stub

from app.engine.encode.encoder_options import LIBX264
from app.engine.encode.picture_input import PictureInput, coded_pixel_format, coded_size, pixel_format_name
from app.engine.picture import ChromaLocation, Matrix, PictureFormat
from app.engine.sources.pixel_format import PixelLayout, layout_of
from tests.engine.encode.pictures import filled_picture, yuv420p

LAYOUTS = {name: layout for name in sorted(names) if (layout := layout_of(name)) is not None}
CODECS = [LIBX264, "h264_nvenc", "hevc_nvenc"]
"""av1_nvenc takes what hevc_nvenc takes."""


def format_of(layout: PixelLayout, width: int = 32, height: int = 16, *, full_range: bool = False) -> PictureFormat:
    matrix = Matrix.RGB if layout.is_rgb else Matrix.BT709
    return PictureFormat(width, height, *layout[:5], matrix, full_range or layout.is_rgb, ChromaLocation.LEFT)


def codes_of(picture_format: PictureFormat, luma: float, chroma: float) -> tuple[int, ...]:
    """8-bit codes in the format's own depth and alignment."""
    shift = picture_format.bit_depth - 8 + (16 - picture_format.bit_depth if picture_format.high_aligned else 0)
    return (int(luma) << shift, *[int(chroma) << shift] * 2)[: 1 if picture_format.plane_count == 1 else 3]


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_name_of_a_format_stands_for_the_layout_it_came_from(name: str) -> None:
    assert layout_of(pixel_format_name(format_of(LAYOUTS[name]))) == LAYOUTS[name]


def codes_in(frame: VideoFrame) -> list[float]:
    """The mean code of each component, on the scale of 8 bits."""
    found: list[float] = []
    deep = frame.format.components[0].bits > 8
    for plane in frame.planes:
        rows = np.frombuffer(memoryview(plane), "<u2" if deep else "u1").reshape(plane.height, -1)
        components = 2 if len(frame.planes) == 2 and found else 1
        samples = rows[:, : plane.width * components] / (256 if frame.format.name.startswith("p") else 4 if deep else 1)
        found.extend(float(samples[:, component::components].mean()) for component in range(components))
    return found


@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_colour_keeps_its_codes_in_every_format(name: str, codec: str, full_range: bool) -> None:
    picture_format = format_of(LAYOUTS[name], full_range=full_range)
    grey = picture_format.matrix is Matrix.RGB or picture_format.plane_count == 1
    given = (90, 90, 90) if grey else (90, 150)
    frame = PictureInput(picture_format, codec).frame(
        filled_picture(picture_format, codes_of(picture_format, *given[:2]), padding_bytes=24)
    )
    assert frame.format.name == coded_pixel_format(picture_format, codec)
    luma = 16 + 90 * 219 / 255 if picture_format.matrix is Matrix.RGB else 90
    chroma = 128 if grey else 150
    codes = codes_in(frame)
    assert codes == pytest.approx([luma, chroma, chroma][: len(codes)], abs=1)


@pytest.mark.parametrize("codec", CODECS)
def test_red_is_coded_as_bt709_red(codec: str) -> None:
    picture_format = format_of(LAYOUTS["gbrp"])
    frame = PictureInput(picture_format, codec).frame(filled_picture(picture_format, (0, 0, 255)))
    assert codes_in(frame) == pytest.approx([63, 102, 240], abs=2)


def test_what_an_encoder_takes_is_not_converted() -> None:
    kept = {name for name, layout in LAYOUTS.items() if coded_pixel_format(format_of(layout), LIBX264) == name}
    assert kept == {
        "gray",
        "gray10le",
        "nv12",
        "nv16",
        "nv20le",
        *(f"yuv{subsampling}p{depth}" for subsampling in ("420", "422", "444") for depth in ("", "10le")),
    }


def test_ten_bits_stay_ten_bits_where_the_codec_has_them() -> None:
    deep = format_of(LAYOUTS["p010le"])
    assert coded_pixel_format(deep, "av1_nvenc") == "p010le"
    assert [coded_pixel_format(deep, codec) for codec in CODECS] == ["yuv420p10le", "yuv420p", "p010le"]


@pytest.mark.parametrize(
    ("size", "coded"), [((321, 193), (320, 192)), ((321, 192), (320, 192)), ((320, 192), (320, 192))]
)
def test_an_odd_last_column_or_row_is_left_off(size: tuple[int, int], coded: tuple[int, int]) -> None:
    picture_format = yuv420p(*size)
    frame = PictureInput(picture_format, LIBX264).frame(filled_picture(picture_format, (60, 90, 160)))
    assert (frame.width, frame.height) == (320, 192) == coded_size(picture_format, LIBX264)
    assert codes_in(frame) == [60, 90, 160]


def test_a_picture_without_subsampling_keeps_its_odd_size() -> None:
    assert coded_size(format_of(LAYOUTS["yuv444p"], 33, 17), LIBX264) == (33, 17)
    assert coded_size(format_of(LAYOUTS["yuv444p"], 33, 17), "h264_nvenc") == (32, 16)


def test_a_frame_that_an_encoder_still_refers_to_is_not_painted_over() -> None:
    picture_format = yuv420p()
    context = av.CodecContext.create("rawvideo", "w")  # gives the frame's own memory on as its packet
    assert isinstance(context, VideoCodecContext)
    context.width, context.height, context.pix_fmt, context.time_base = 320, 192, "yuv420p", Fraction(1, 60)
    source = PictureInput(picture_format, LIBX264)
    packets = [context.encode(source.frame(filled_picture(picture_format, (luma, 128, 128))))[0] for luma in (60, 200)]
    assert [bytes(packet)[0] for packet in packets] == [60, 200]
