"""Thumbnails for the preview stream: true in shape and colour, even in time, and no burden on the process thread."""

from __future__ import annotations

import math
import threading
import time
import weakref
from collections.abc import Iterator

import av
import numpy as np
import pytest
from av.error import FFmpegError
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_MS, NS_PER_S
from app.engine.picture import ChromaLocation, Matrix, Picture, PictureFormat, Plane
from app.engine.sources.pixel_format import layout_of
from app.engine.thumbnails import ThumbnailFeed, ThumbnailScaler, fitted_size
from app.ipc.shared_block import SharedBlock
from app.ipc.thumbnail_block import Plane8, Thumbnail, ThumbnailReader, WantedThumbnail, thumbnail_block_bytes

SMALL = WantedThumbnail(320, 180, 200)


def format_of(
    width: int,
    height: int,
    name: str = "yuv420p",
    *,
    matrix: Matrix = Matrix.BT709,
    full_range: bool = False,
    rotation_degrees: int = 0,
    sample_aspect: tuple[int, int] = (1, 1),
) -> PictureFormat:
    layout = layout_of(name)
    assert layout is not None
    return PictureFormat(
        width=width,
        height=height,
        plane_count=layout.plane_count,
        chroma_shift_x=layout.chroma_shift_x,
        chroma_shift_y=layout.chroma_shift_y,
        bit_depth=layout.bit_depth,
        high_aligned=layout.high_aligned,
        matrix=Matrix.RGB if layout.is_rgb else matrix,
        full_range=full_range or layout.is_rgb,
        chroma_location=ChromaLocation.LEFT,
        rotation_degrees=rotation_degrees,
        sample_aspect=sample_aspect,
        name=name,
    )


def flat(width: int, height: int, levels: tuple[int, int, int] = (126, 128, 128)) -> Picture:
    """An 8-bit 4:2:0 picture of one colour, its rows padded and its last row not."""
    planes = []
    for level, (columns, rows) in zip(levels, ((width, height), *[(-(-width // 2), -(-height // 2))] * 2), strict=True):
        stride = columns + 24
        buffer = np.full((rows - 1) * stride + columns, level, np.uint8)
        buffer[: (rows - 1) * stride].reshape(-1, stride)[:, columns:] = 0
        planes.append(Plane(buffer.data, stride))
    return Picture(format_of(width, height), tuple(planes))


def of_frame(frame: av.VideoFrame, picture_format: PictureFormat) -> Picture:
    return Picture(picture_format, tuple(Plane(plane, plane.line_size) for plane in frame.planes), keep=frame)


def left_half_bright(rotation_degrees: int, sample_aspect: tuple[int, int] = (1, 1)) -> Picture:
    picture = flat(640, 360, (16, 128, 128))
    rows = np.frombuffer(memoryview(picture.planes[0].data), np.uint8)
    luma = np.full((360, 664), 16, np.uint8)
    luma[:, :320] = 235
    np.copyto(rows, luma.reshape(-1)[: len(rows)])
    picture_format = format_of(640, 360, rotation_degrees=rotation_degrees, sample_aspect=sample_aspect)
    return Picture(picture_format, picture.planes)


# --- what a thumbnail shows -------------------------------------------------------------------------------------------


RED_BT709, RED_JPEG = (63, 102, 240), (76, 85, 255)


def test_colours_are_those_of_jpeg_and_no_padding_shows() -> None:
    planes = ThumbnailScaler().scale(flat(1280, 720, RED_BT709), 320, 180)
    assert planes[0].shape == (180, 320)
    for plane, level in zip(planes, RED_JPEG, strict=True):
        assert np.abs(plane.astype(int) - level).max() <= 2


@pytest.mark.parametrize("name", ["nv12", "p010le", "yuv422p10le", "yuv444p", "gbrp", "gbrp10le", "yuva420p"])
def test_every_kind_of_layout_keeps_its_colours(name: str) -> None:
    red = av.VideoFrame.from_ndarray(np.tile(np.array([255, 0, 0], np.uint8), (180, 322, 1)), format="rgb24")
    frame = red.reformat(format=name, dst_colorspace="ITU709")
    planes = ThumbnailScaler().scale(of_frame(frame, format_of(322, 180, name)), 160, 90)
    for plane, level in zip(planes, RED_JPEG, strict=True):
        assert abs(float(np.median(plane)) - level) <= 2


def test_grey_is_grey() -> None:
    frame = av.VideoFrame.from_ndarray(np.full((90, 160), 77, np.uint8), format="gray")
    luma, cb, cr = ThumbnailScaler().scale(of_frame(frame, format_of(160, 90, "gray", full_range=True)), 320, 180)
    assert (luma.min(), luma.max()) == (77, 77)
    assert set(np.unique([cb, cr])) == {128}


@pytest.mark.parametrize(
    ("rotation_degrees", "bright_edge"), [(0, "left"), (90, "top"), (180, "right"), (270, "bottom")]
)
def test_a_rotated_picture_stands_upright(rotation_degrees: int, bright_edge: str) -> None:
    luma, _, _ = ThumbnailScaler().scale(left_half_bright(rotation_degrees), 320, 180)
    edges = {"left": luma[:, :8], "right": luma[:, -8:], "top": luma[:8], "bottom": luma[-8:]}
    assert edges[bright_edge].min() > 250
    assert max(edges, key=lambda edge: float(edges[edge].mean())) == bright_edge
    assert luma.shape == ((180, 320) if rotation_degrees in (0, 180) else (180, 102))


def test_pixels_that_are_not_square_are_made_so() -> None:
    luma, _, _ = ThumbnailScaler().scale(left_half_bright(0, sample_aspect=(4, 3)), 320, 180)
    assert luma.shape == (136, 320)


@given(st.tuples(st.integers(1, 16384), st.integers(1, 16384)), st.sampled_from([(320, 180), (640, 360), (960, 540)]))
def test_a_size_fits_its_box_is_even_and_keeps_the_shape(size: tuple[int, int], box: tuple[int, int]) -> None:
    width, height = fitted_size(size, box)
    assert width % 2 == height % 2 == 0
    assert 2 <= width <= box[0]
    assert 2 <= height <= box[1]
    scale = min(1.0, box[0] / size[0], box[1] / size[1])
    assert abs(width - size[0] * scale) <= max(1, 2 - size[0] * scale)
    assert abs(height - size[1] * scale) <= max(1, 2 - size[1] * scale)


# --- when -------------------------------------------------------------------------------------------------------------


class Preview:
    """A feed, and the stream server's end of its block."""

    def __init__(self, wanted: WantedThumbnail = SMALL) -> None:
        self.block = SharedBlock.create(thumbnail_block_bytes())
        self.reader = ThumbnailReader(self.block)
        self.reader.set_viewers(1)
        self.feed = ThumbnailFeed(self.block, wanted)
        self.last = 0

    def next(self) -> Thumbnail:
        deadline = time.monotonic() + 10
        while (thumbnail := self.reader.newest(self.last)) is None:
            assert time.monotonic() < deadline, "no thumbnail came"
            time.sleep(0.001)
        self.last = thumbnail.serial
        return thumbnail

    def close(self) -> None:
        self.feed.close()
        self.reader.close()
        self.block.close()


@pytest.fixture
def preview() -> Iterator[Preview]:
    preview = Preview()
    yield preview
    preview.close()


def test_thumbnails_keep_their_rate_on_average_whatever_the_frame_rate(preview: Preview) -> None:
    picture = flat(64, 36)
    shown = []
    for index in range(97):  # at 24 fps, 200 ms are 4.8 frames: each thumbnail is the first frame of its interval
        before = preview.feed._last_ns
        preview.feed.offer(index, NS_PER_S + round(index * NS_PER_S / 24), picture)
        if preview.feed._last_ns != before:
            shown.append(preview.next().frame_index)
    assert shown == [math.ceil(4.8 * number) for number in range(21)]


def test_thumbnails_are_even_where_the_rates_allow_it_though_no_stamp_is_exact(preview: Preview) -> None:
    random = np.random.default_rng(0)
    shown = []
    for index in range(121):  # at 30 fps, 200 ms are 6 frames
        before = preview.feed._last_ns
        jitter_ns = round(random.uniform(-2, 2) * NS_PER_MS) if index else 0
        preview.feed.offer(index, NS_PER_S + round(index * NS_PER_S / 30) + jitter_ns, flat(64, 36))
        if preview.feed._last_ns != before:
            shown.append(preview.next().frame_index)
    assert shown == list(range(0, 121, 6))


def test_the_interval_acts_at_once_and_so_does_the_size(preview: Preview) -> None:
    preview.feed.offer(0, 1_000 * NS_PER_MS, flat(1920, 1080))
    assert preview.next().width == 320
    preview.feed.configure(WantedThumbnail(640, 360, 2_000))
    assert preview.reader.wanted() == WantedThumbnail(640, 360, 2_000)
    preview.feed.offer(1, 1_300 * NS_PER_MS, flat(1920, 1080))  # due by the old interval, not by the new one
    preview.feed.offer(2, 3_000 * NS_PER_MS, flat(1920, 1080))
    thumbnail = preview.next()
    assert (thumbnail.frame_index, thumbnail.width, thumbnail.height) == (2, 640, 360)


def test_nothing_is_made_while_nobody_looks_on_and_the_first_viewer_gets_the_next_frame(preview: Preview) -> None:
    preview.reader.set_viewers(0)
    for index in range(100):
        preview.feed.offer(index, index * 100 * NS_PER_MS, flat(64, 36))
    preview.reader.set_viewers(1)
    preview.feed.offer(100, 10_000 * NS_PER_MS, flat(64, 36))
    assert (preview.next().frame_index, preview.last) == (100, 1)


def test_both_times_of_a_thumbnail_are_the_same_instant(preview: Preview) -> None:
    now_ns, unix_ns = time.monotonic_ns(), time.time_ns()
    preview.feed.offer(0, now_ns, flat(64, 36))
    thumbnail = preview.next()
    assert thumbnail.at_ns == now_ns
    assert abs(thumbnail.unix_ns - unix_ns) < NS_PER_S


# --- what it must not do ----------------------------------------------------------------------------------------------


class StuckScaler:
    """Stands for a machine on which scaling takes for ever."""

    def __init__(self) -> None:
        self.entered = threading.Event()
        self.go_on = threading.Event()
        self._scaler = ThumbnailScaler()

    def scale(self, picture: Picture, width: int, height: int) -> tuple[Plane8, Plane8, Plane8]:
        self.entered.set()
        self.go_on.wait()
        return self._scaler.scale(picture, width, height)


def test_a_scaler_that_hangs_holds_up_no_frame_and_the_newest_is_shown_after_it(
    preview: Preview, monkeypatch: pytest.MonkeyPatch
) -> None:
    stuck = StuckScaler()
    monkeypatch.setattr(preview.feed, "_scaler", stuck)
    preview.feed.offer(0, NS_PER_S, flat(64, 36))
    assert stuck.entered.wait(10)
    pictures = [flat(64, 36) for _ in range(200)]
    for index, picture in enumerate(pictures, 1):
        preview.feed.offer(index, NS_PER_S + index * NS_PER_S, picture)  # returns: that is the claim
    assert len(preview.feed._offers) == 1
    stuck.go_on.set()
    indexes = [preview.next().frame_index]
    while indexes[-1] != 200:
        indexes.append(preview.next().frame_index)
    assert indexes in ([0, 200], [200])


def test_a_picture_is_given_back_when_it_has_been_copied(preview: Preview) -> None:
    class Lease:
        pass

    lease = Lease()
    given_back = weakref.ref(lease)
    picture = flat(64, 36)
    picture.keep = lease
    preview.feed.offer(0, NS_PER_S, picture)
    del picture, lease
    preview.next()
    deadline = time.monotonic() + 10
    while given_back() is not None and time.monotonic() < deadline:
        time.sleep(0.001)
    assert given_back() is None


class FailingScaler:
    def __init__(self, error: Exception) -> None:
        self._error = error

    def scale(self, *_: object) -> tuple[Plane8, Plane8, Plane8]:
        raise self._error


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (FFmpegError(95, "Operation not supported"), "no thumbnail can be made of pixel format yuv420p"),
        (RuntimeError("of its own"), "the preview stream gets no more pictures (RuntimeError: of its own)"),
    ],
)
def test_a_fault_of_the_scaler_is_told_and_the_frames_go_on(
    preview: Preview, monkeypatch: pytest.MonkeyPatch, error: Exception, told: str
) -> None:
    monkeypatch.setattr(preview.feed, "_scaler", FailingScaler(error))
    preview.feed.offer(0, NS_PER_S, flat(64, 36))
    deadline = time.monotonic() + 10
    notices: list[str] = []
    while not notices and time.monotonic() < deadline:
        notices = preview.feed.take_notices()
        time.sleep(0.001)
    assert len(notices) == 1
    assert told in notices[0]
    preview.feed.offer(1, 2 * NS_PER_S, flat(64, 36))
