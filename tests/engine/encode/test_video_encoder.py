"""The real libx264 behind the branch: every format it takes, what it says of the picture, live bitrates."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import av
import pytest

from app.core.errors import EngineError
from app.engine.encode.destination import parse_destination
from app.engine.encode.encoder_options import LIBX264, encoder_options
from app.engine.encode.packet_file import PacketFile
from app.engine.encode.video_encoder import VideoEncoder, takes_live_bitrate, thread_count
from app.engine.picture import ChromaLocation, Matrix, PictureFormat
from tests.engine.encode.pictures import config_of, filled_picture, yuv420p
from tests.engine.encode.test_picture_input import LAYOUTS, codes_in, codes_of, format_of

OPTIONS = encoder_options(config_of(), LIBX264)


def coded_frame(picture_format: PictureFormat, codes: tuple[int, ...], folder: Path) -> av.VideoFrame:
    """Code one picture and decode it again."""
    destination = parse_destination(str(folder / "one.mkv"))
    assert destination is not None
    file = PacketFile(destination)
    encoder = VideoEncoder(LIBX264, OPTIONS, picture_format, Fraction(60))
    file.begin(LIBX264, Fraction(60), picture_format.width, picture_format.height)
    encoder.load(filled_picture(picture_format, codes), 0)
    for packet in (*encoder.encode(), *encoder.flush()):
        file.write(packet)
    file.close()
    with av.open(str(destination.path)) as container:
        return next(container.decode(video=0))


@pytest.mark.parametrize("name", LAYOUTS)
def test_libx264_codes_pictures_of_every_format(name: str, tmp_path: Path) -> None:
    picture_format = format_of(LAYOUTS[name], 64, 48)
    is_rgb = picture_format.matrix is Matrix.RGB
    given = ((90 - 16) * 255 / 219,) * 2 if is_rgb else (90, 128)
    frame = coded_frame(picture_format, codes_of(picture_format, *given), tmp_path)
    assert (frame.width, frame.height) == (64, 48)
    luma, *chroma = codes_in(frame)
    assert luma == pytest.approx(90, abs=1)
    assert chroma == pytest.approx([128] * len(chroma), abs=1)


@pytest.mark.parametrize("full_range", [False, True])
@pytest.mark.parametrize(("matrix", "code"), [(Matrix.BT601, 6), (Matrix.BT709, 1), (Matrix.BT2020, 9)])
def test_the_stream_says_which_colours_it_holds(matrix: Matrix, code: int, full_range: bool, tmp_path: Path) -> None:
    picture_format = PictureFormat(64, 48, 3, 1, 1, 8, False, matrix, full_range, ChromaLocation.TOP_LEFT)
    frame = coded_frame(picture_format, (90, 110, 140), tmp_path)
    assert frame.colorspace == code
    assert frame.color_range == (2 if full_range else 1)
    assert codes_in(frame) == pytest.approx([90, 110, 140], abs=1)


def test_pixels_that_are_not_square_stay_so(tmp_path: Path) -> None:
    picture_format = PictureFormat(
        64, 48, 3, 1, 1, 8, False, Matrix.BT709, False, ChromaLocation.LEFT, sample_aspect=(4, 3)
    )
    coded_frame(picture_format, (90, 128, 128), tmp_path)
    with av.open(str(tmp_path / "one.mkv")) as container:
        next(container.decode(video=0))
        assert container.streams.video[0].codec_context.sample_aspect_ratio == Fraction(4, 3)


def test_an_encoder_that_does_not_open_says_why() -> None:
    with pytest.raises(EngineError, match=r"libx264 does not open: .*warp"):
        VideoEncoder(LIBX264, OPTIONS | {"preset": "warp"}, yuv420p(), Fraction(60))


@pytest.mark.parametrize(
    ("codec", "rc", "bitrate", "live"),
    [
        (LIBX264, "cbr", 4000, True),
        (LIBX264, "vbr", 4000, False),
        (LIBX264, "cbr", None, False),
        (LIBX264, "constqp", 4000, False),
        ("h264_nvenc", "cbr", 4000, True),
        ("h264_nvenc", "vbr", 4000, True),
        ("h264_nvenc", "vbr", None, False),
        ("h264_nvenc", "constqp", 4000, False),
    ],
)
def test_which_encoders_follow_a_bitrate_while_they_run(codec: str, rc: str, bitrate: int | None, live: bool) -> None:
    assert takes_live_bitrate(codec, encoder_options(config_of(rc=rc, bitrate_kbps=bitrate), codec)) is live


def test_a_software_encoder_leaves_the_preview_half_of_the_cpus(monkeypatch: pytest.MonkeyPatch) -> None:
    for cpus, threads in ((1, 1), (2, 1), (16, 8)):
        monkeypatch.setattr("os.sched_getaffinity", lambda _, cpus=cpus: set(range(cpus)))
        assert thread_count() == threads
