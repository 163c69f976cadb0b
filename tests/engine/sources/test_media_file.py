"""A file plays frame by frame as its timestamps say, in the format it is coded in, whatever is odd about it."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import av
import numpy as np
import numpy.typing as npt
import pytest

from app.core.bar_code import read_bar_code
from app.engine.picture import ChromaLocation, Matrix, Picture, PictureFormat
from app.engine.sources.file_address import FileAddress
from app.engine.sources.media_description import Playback
from app.engine.sources.media_file import MediaFileSource
from app.engine.sources.source import Delivery
from tests.engine.sources.videos import Video, write_video
from tests.engine.sources.virtual_pacer import VirtualPacer

MS = 1_000_000


@pytest.fixture(autouse=True)
def _prints_nothing(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


def opened(path: Path, *, free: bool = False, loop: bool = False, pacer: VirtualPacer | None = None) -> MediaFileSource:
    return MediaFileSource(FileAddress(str(path)), Playback(free, loop), pacer or VirtualPacer())


def play(source: MediaFileSource, most: int = 1000) -> list[Delivery]:
    frames: list[Delivery] = []
    while len(frames) < most and (delivery := source.next()) is not None:
        frames.append(delivery)
    return frames


def played(path: Path, *, free: bool = False) -> list[Delivery]:
    source = opened(path, free=free)
    frames = play(source)
    source.close()
    return frames


def samples(picture: Picture | None, plane: int = 0) -> npt.NDArray[np.uint8] | npt.NDArray[np.uint16]:
    """Return a plane as the converter would read it: rows of its stride, cut to its width."""
    assert picture is not None
    width, height = picture.format.plane_size(plane)
    data, stride_bytes = picture.planes[plane]
    view = memoryview(data).cast("B")
    assert view.nbytes >= stride_bytes * (height - 1) + width * picture.format.bytes_per_sample
    row_bytes = width * picture.format.components(plane) * picture.format.bytes_per_sample
    padded = np.zeros(stride_bytes * height, np.uint8)
    padded[: min(view.nbytes, padded.size)] = np.frombuffer(view, np.uint8)[: padded.size]
    rows = np.ascontiguousarray(padded.reshape(height, stride_bytes)[:, :row_bytes])
    return rows if picture.format.bit_depth == 8 else rows.view("<u2")


def numbers(frames: list[Delivery]) -> list[int | None]:
    """Return the bar code of each frame, whatever the bit depth."""
    return [_number(frame.picture) for frame in frames]


def _number(picture: Picture | None) -> int | None:
    assert picture is not None
    shift = 8 if picture.format.high_aligned else picture.format.bit_depth - 8
    return read_bar_code((samples(picture).astype(np.uint32) >> shift).astype(np.uint8))


def format_of(frames: list[Delivery]) -> PictureFormat:
    assert frames[0].picture is not None
    return frames[0].picture.format


# --- order and time ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("free", [False, True])
@pytest.mark.parametrize("codec", ["libx264", "libx265", "mpeg4", "mpeg2video", "libvpx-vp9", "mjpeg"])
def test_every_frame_comes_once_in_order_with_its_time(tmp_path: Path, codec: str, free: bool) -> None:
    pixel_format = "yuvj420p" if codec == "mjpeg" else "yuv420p"
    options = {"x265-params": "log-level=none"} if codec == "libx265" else {}
    path = write_video(tmp_path / "a.mkv", Video(codec=codec, pixel_format=pixel_format, options=options, frames=40))
    frames = played(path, free=free)
    assert numbers(frames) == list(range(40))
    # Matroska keeps whole milliseconds.
    assert np.abs(np.array([frame.pts_ns for frame in frames]) - np.arange(40) * 1e9 / 30).max() <= 1 * MS
    assert frames[0].key_frame


def test_a_live_file_is_delivered_at_its_decode_timestamps(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(options={"bf": "0"}))
    pacer = VirtualPacer()
    start_ns = pacer.now_ns()
    frames = play(opened(path, pacer=pacer))
    arrivals = np.array([frame.arrive_ns - start_ns for frame in frames])
    assert np.abs(arrivals - np.arange(30) * 1e9 / 30).max() <= 1
    assert all(frame.arrive_ns <= frame.decode_start_ns <= frame.decode_end_ns for frame in frames)


def test_without_reordering_the_live_decoder_holds_no_frame_back(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(options={"bf": "0"}))
    # On this clock decoding takes no time, so a frame held back would show the wait for the next packet.
    assert all(frame.decode_end_ns == frame.arrive_ns for frame in played(path))


def test_reordered_frames_keep_the_stamps_of_their_own_packets(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(options={"bf": "2", "b-adapt": "0"}, frames=20))
    frames = played(path)
    assert numbers(frames) == list(range(20))
    arrivals = [frame.arrive_ns for frame in frames]
    assert arrivals != sorted(arrivals), "with B-frames some frames arrive before those shown ahead of them"


def test_no_reordered_frame_arrives_later_than_its_place_in_the_film(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(options={"bf": "3", "b-adapt": "0", "b-pyramid": "normal"}, frames=20))
    frames = played(path)
    late_ns = [frame.arrive_ns - frames[0].arrive_ns - frame.pts_ns for frame in frames]
    assert max(late_ns) <= 1
    assert len({frame.arrive_ns for frame in frames}) > 15, "only what lies before the first picture comes at once"


def test_a_blocked_pipeline_finds_the_arrivals_where_the_schedule_put_them(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(options={"bf": "0"}))
    pacer = VirtualPacer()
    source = opened(path, pacer=pacer)
    first = play(source, 1)[0]
    pacer.pass_ms(700)
    rest = play(source)
    assert len(rest) == 29, "a file loses nothing"
    assert rest[0].arrive_ns - first.arrive_ns == pytest.approx(1e9 / 30, abs=1)
    assert rest[0].decode_start_ns - first.arrive_ns >= 700 * MS


@pytest.mark.parametrize("before", [1, 6, 7])
def test_a_pause_puts_the_schedule_off_and_changes_nothing_else(tmp_path: Path, before: int) -> None:
    path = write_video(tmp_path / "a.mp4", Video(options={"bf": "2", "b-adapt": "0"}))
    undisturbed = played(path)
    pacer = VirtualPacer()
    source = opened(path, pacer=pacer)
    first = play(source, before)
    pacer.pass_ms(60_000)
    source.put_off(60_000 * MS)
    rest = play(source)
    assert numbers(first + rest) == numbers(undisturbed)
    origins = [frames[0].arrive_ns for frames in (undisturbed, first)]
    expected = [frame.arrive_ns - origins[0] + 60_000 * MS for frame in undisturbed[before:]]
    assert [frame.arrive_ns - origins[1] for frame in rest] == expected
    assert all(frame.arrive_ns <= frame.decode_start_ns <= frame.decode_end_ns for frame in rest)
    assert source.postponed_ns == 60_000 * MS


def test_a_variable_frame_rate_is_kept(tmp_path: Path) -> None:
    times_ms = [0, 10, 50, 250, 260, 261, 1400]
    path = write_video(tmp_path / "a.mkv", Video(frames=7, times_ms=times_ms, options={"bf": "0"}))
    frames = played(path)
    assert [frame.pts_ns // MS for frame in frames] == times_ms
    assert [(frame.arrive_ns - frames[0].arrive_ns) // MS for frame in frames] == times_ms


def test_a_loop_goes_on_without_a_gap(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=10))
    source = opened(path, loop=True)
    frames = play(source, 35)
    source.close()
    assert numbers(frames) == [*range(10)] * 3 + [*range(5)]
    assert np.abs(np.diff([frame.pts_ns for frame in frames]) - 1e9 / 30).max() <= 1
    assert not any(frame.discontinuity for frame in frames)
    assert source.info.duration_s is None
    assert source.take_notices() == []


@pytest.mark.parametrize("suffix", [".ts", ".h264", ".avi", ".mkv", ".webm", ".mpg"])
@pytest.mark.parametrize("free", [False, True])
def test_every_container_loops(tmp_path: Path, suffix: str, free: bool) -> None:
    codec = {".webm": "libvpx", ".avi": "mpeg4", ".mpg": "mpeg1video"}.get(suffix, "libx264")
    path = write_video(tmp_path / f"a{suffix}", Video(frames=9, codec=codec, options={"bf": "0"}))
    source = opened(path, loop=True, free=free)
    frames = play(source, 25)
    source.close()
    assert numbers(frames) == ([*range(9)] * 3)[:25]
    assert all(later.pts_ns > earlier.pts_ns for earlier, later in pairwise(frames))


def test_a_single_picture_is_a_video_of_one_frame(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=1))
    assert numbers(played(path)) == [0]
    assert numbers(play(opened(path, loop=True), 5)) == [0] * 5


def test_another_thread_ends_a_blocked_next_for_good(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", Video(frames=2, times_ms=[0, 9000], options={"bf": "0"}))
    source = MediaFileSource(FileAddress(str(path)), Playback())
    ends: list[Delivery | None] = []

    def pull() -> None:
        while source.next() is not None:
            pass
        ends.append(None)

    puller = threading.Thread(target=pull)
    puller.start()
    source.interrupt()
    puller.join(timeout=8)
    assert ends == [None]
    assert source.next() is None
    source.close()


def test_pictures_outlive_the_source(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=60))
    assert numbers(played(path, free=True)) == list(range(60))


# --- formats ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(1, 1), (853, 479), (1281, 721), (2, 2)])
def test_odd_sizes(tmp_path: Path, size: tuple[int, int]) -> None:
    path = write_video(tmp_path / "a.mkv", Video(*size, frames=3, codec="ffv1", pixel_format="yuv420p"))
    source = opened(path)
    frames = play(source)
    assert (source.info.width, source.info.height) == size
    assert [format_of(frames).plane_size(plane) for plane in range(3)] == [
        size,
        ((size[0] + 1) // 2, (size[1] + 1) // 2),
        ((size[0] + 1) // 2, (size[1] + 1) // 2),
    ]
    assert [samples(frames[0].picture, plane).shape for plane in range(3)] == [
        (height, width) for width, height in map(format_of(frames).plane_size, range(3))
    ]


@pytest.mark.parametrize(
    ("codec", "pixel_format", "planes", "shifts", "bits"),
    [
        ("libx264", "yuv420p10le", 3, (1, 1), 10),
        ("libx264", "yuv444p", 3, (0, 0), 8),
        ("libx264", "yuv422p", 3, (1, 0), 8),
        ("libx264", "yuv444p10le", 3, (0, 0), 10),
        ("ffv1", "gray", 1, (0, 0), 8),
        ("ffv1", "yuv420p16le", 3, (1, 1), 16),
        ("ffv1", "yuv422p12le", 3, (1, 0), 12),
        ("ffv1", "yuv410p", 3, (2, 2), 8),
        ("ffv1", "yuva420p", 3, (1, 1), 8),
        ("ffv1", "gray16le", 1, (0, 0), 16),
        ("rawvideo", "nv12", 2, (1, 1), 8),
    ],
)
def test_planar_formats_go_as_they_are(
    tmp_path: Path, codec: str, pixel_format: str, planes: int, shifts: tuple[int, int], bits: int
) -> None:
    suffix = ".nut" if codec == "rawvideo" else ".mkv"
    path = write_video(tmp_path / f"a{suffix}", Video(codec=codec, pixel_format=pixel_format, frames=4))
    frames = played(path)
    got = format_of(frames)
    assert (got.name, got.plane_count, got.bit_depth) == (pixel_format, planes, bits)
    assert not got.high_aligned
    assert planes == 1 or (got.chroma_shift_x, got.chroma_shift_y) == shifts
    assert numbers(frames) == [0, 1, 2, 3]


def test_rgb_planes_are_green_blue_red_without_a_matrix(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", Video(codec="ffv1", pixel_format="gbrp10le", frames=2))
    got = format_of(played(path))
    assert (got.matrix, got.full_range, got.plane_count, got.bit_depth) == (Matrix.RGB, True, 3, 10)


@pytest.mark.parametrize(
    ("pixel_format", "planar"),
    [
        ("yuyv422", "yuv422p"),
        ("uyvy422", "yuv422p"),
        ("rgb24", "gbrp"),
        ("bgra", "gbrp"),
        ("pal8", "gbrp"),
        ("rgb48le", "gbrp16le"),
        ("gray16be", "gray16le"),
        ("yuv420p10be", "yuv420p10le"),
        ("ya8", "gray"),
        ("monow", "gray"),
        ("nv21", "yuv420p"),
    ],
)
def test_other_formats_are_rearranged_to_the_nearest_planar_one(tmp_path: Path, pixel_format: str, planar: str) -> None:
    path = write_raw(tmp_path / "a.nut", pixel_format)
    source = opened(path)
    frames = play(source)
    assert format_of(frames).name == source.info.pixel_format == planar
    assert f"{pixel_format} rearranged to {planar}" in source.info.description
    assert numbers(frames) == [0, 1, 2]


def write_raw(path: Path, pixel_format: str) -> Path:
    """Write three uncompressed frames; libswscale packs what the encoder side cannot be asked for."""
    return write_video(path, Video(codec="rawvideo", pixel_format=pixel_format, frames=3))


@pytest.mark.parametrize(
    ("height", "space", "colour_range", "matrix", "full"),
    [
        (240, None, None, Matrix.BT601, False),
        (720, None, None, Matrix.BT709, False),
        (240, 1, 1, Matrix.BT709, False),
        (720, 6, 2, Matrix.BT601, True),
        (240, 9, 1, Matrix.BT2020, False),
    ],
)
def test_colours_are_as_tagged_and_by_size_where_they_are_not(
    tmp_path: Path, height: int, space: int | None, colour_range: int | None, matrix: Matrix, full: bool
) -> None:
    path = write_video(
        tmp_path / "a.mp4",
        Video(width=height * 16 // 9 // 2 * 2, height=height, frames=2, colour_space=space, colour_range=colour_range),
    )
    source = opened(path)
    got = format_of(play(source))
    assert (got.matrix, got.full_range) == (matrix, full)
    assert (source.info.matrix, source.info.colour_range) == (matrix.name.lower(), "full" if full else "limited")


def test_jpeg_is_full_range_with_centred_chroma(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.avi", Video(codec="mjpeg", pixel_format="yuvj420p", frames=2))
    got = format_of(played(path))
    assert (got.full_range, got.chroma_location) == (True, ChromaLocation.CENTER)


@pytest.mark.parametrize(
    ("tag", "location"), [("0", ChromaLocation.LEFT), ("1", ChromaLocation.CENTER), ("2", ChromaLocation.TOP_LEFT)]
)
def test_the_chroma_siting_is_read_from_the_stream(tmp_path: Path, tag: str, location: ChromaLocation) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=2, options={"x264-params": f"chromaloc={tag}"}, audio=True))
    assert format_of(played(path)).chroma_location is location


@pytest.mark.parametrize("degrees", [0, 90, 180, 270])
def test_rotation_metadata_is_clockwise(tmp_path: Path, degrees: int) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=2, rotation_degrees=degrees))
    source = opened(path)
    got = format_of(play(source))
    assert got.rotation_degrees == source.info.rotation_degrees == degrees
    assert got.display_size == ((240, 320) if degrees in (90, 270) else (320, 240))


def test_a_mirrored_picture_is_named_as_what_cannot_be_shown(tmp_path: Path) -> None:
    source = opened(write_video(tmp_path / "a.mp4", Video(frames=2, mirrored=True)))
    assert any("mirrored" in notice for notice in source.take_notices())


def test_pixel_aspect_widens_the_display_size(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=2, sample_aspect=Fraction(4, 3)))
    got = format_of(played(path))
    assert got.sample_aspect == (4, 3)
    assert got.display_size == (427, 240)


def test_sound_beside_the_video_is_left_alone(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(frames=20, audio=True))
    assert numbers(played(path)) == list(range(20))


def test_the_description_names_codec_size_rate_colours_and_decoder(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mp4", Video(width=1280, height=720, frames=3, rate=60))
    info = opened(path).info
    assert info.description.startswith("h264 ")
    assert info.description.endswith(", 1280×720, 60 fps, yuv420p, BT.709 limited, software decoder")
    assert (info.rate_hz, info.live, info.decoder) == (60.0, True, "software")
    assert opened(path, free=True).info.rate_hz is None


# --- broken and changing streams --------------------------------------------------------------------------------------


def joined(path: Path, *parts: Path) -> Path:
    path.write_bytes(b"".join(part.read_bytes() for part in parts))
    return path


@pytest.mark.parametrize("suffix", [".h264", ".ts"])
@pytest.mark.parametrize("free", [False, True])
def test_a_change_of_resolution_begins_a_new_segment_and_loses_nothing(tmp_path: Path, suffix: str, free: bool) -> None:
    small = write_video(tmp_path / f"small{suffix}", Video(frames=10))
    large = write_video(tmp_path / f"large{suffix}", Video(width=640, height=360, frames=10))
    source = opened(joined(tmp_path / f"both{suffix}", small, large), free=free)
    assert (source.info.width, source.info.height) == (320, 240)
    frames = play(source)
    assert numbers(frames) == [*range(10), *range(10)]
    assert [frame.discontinuity for frame in frames] == [""] * 10 + ["resolution changed to 640×360"] + [""] * 9
    assert (source.info.width, source.info.height) == (640, 360)
    assert all(later.pts_ns > earlier.pts_ns for earlier, later in pairwise(frames))
    assert frames[-1].pts_ns == pytest.approx(19e9 / 30, rel=0.25)


def test_a_change_of_pixel_format_begins_a_new_segment(tmp_path: Path) -> None:
    eight = write_video(tmp_path / "a.h264", Video(frames=4))
    ten = write_video(tmp_path / "b.h264", Video(frames=4, pixel_format="yuv420p10le"))
    frames = play(opened(joined(tmp_path / "c.h264", eight, ten)))
    assert [frame.discontinuity for frame in frames if frame.discontinuity] == ["pixel format changed to yuv420p10le"]
    assert numbers(frames) == [*range(4), *range(4)]


def test_a_stream_without_timestamps_is_paced_by_its_rate_and_says_so_once(tmp_path: Path) -> None:
    source = opened(write_video(tmp_path / "a.h264", Video(frames=30, rate=50)))
    frames = play(source)
    steps = np.diff([frame.pts_ns for frame in frames])
    assert np.all(steps == steps[0])
    assert source.info.rate_hz is not None
    assert steps[0] == pytest.approx(1e9 / source.info.rate_hz, abs=1)
    assert len([notice for notice in source.take_notices() if "timestamps are missing" in notice]) == 1
    assert source.take_notices() == []


@pytest.mark.parametrize(
    "broken",
    [
        [0, 33, 67, 0, 33, 67, 100, 133],  # starts again
        [0, 33, 33, 33, 133, 167, 200, 233],  # repeats
        [0, 0, 0, 0, 0, 0, 0, 0],  # says nothing
        [0, 33, 67, 30_000, 30_033, 30_067, 30_100, 30_133],  # leaps by half a minute
        [0, 67, 33, 133, 100, 200, 167, 267],  # goes back and forth
    ],
)
def test_broken_timestamps_come_out_rising_at_about_the_rate(tmp_path: Path, broken: list[int]) -> None:
    path = with_times(tmp_path / "a.mkv", broken)
    source = opened(path)
    frames = play(source)
    assert numbers(frames) == list(range(8))
    assert all(later.pts_ns > earlier.pts_ns for earlier, later in pairwise(frames))
    assert all(later.arrive_ns > earlier.arrive_ns for earlier, later in pairwise(frames))
    assert 100 * MS < frames[-1].pts_ns < 600 * MS
    assert any("timestamps are missing or broken" in notice for notice in source.take_notices())


def with_times(path: Path, times_ms: list[int]) -> Path:
    """Write a Matroska file and patch the times of its blocks, since no muxer writes broken ones."""
    write_video(path, Video(frames=len(times_ms), gop=1000, options={"bf": "0"}))
    data = bytearray(path.read_bytes())
    position = data.index(b"\x1f\x43\xb6\x75")
    for number, time_ms in enumerate(times_ms):
        # A block begins with its track (81) and its time in ms relative to the cluster (int16).
        position = data.index(b"\x81" + struct.pack(">h", round(number * 1000 / 30)), position)
        struct.pack_into(">h", data, position + 1, time_ms)
        position += 3
    path.write_bytes(data)
    return path


def test_a_file_cut_short_plays_up_to_the_cut(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "a.mkv", Video(frames=60, codec="mjpeg", pixel_format="yuvj420p"))
    cut = tmp_path / "cut.mkv"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    frames = played(cut)
    assert 20 <= len(frames) <= 31
    assert numbers(frames[:20]) == list(range(20))


def test_an_mp4_with_its_index_ahead_plays_up_to_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "a.mp4"
    with av.open(str(path), "w", options={"movflags": "frag_keyframe+empty_moov"}) as container:
        stream = container.add_stream("libx264", rate=30)
        stream.width, stream.height, stream.pix_fmt = 320, 240, "yuv420p"
        for number in range(60):
            frame = av.VideoFrame.from_ndarray(np.full((240, 320), number * 3, np.uint8), format="gray8")
            frame.pts = number
            container.mux(stream.encode(frame.reformat(format="yuv420p")))
        container.mux(stream.encode())
    data = path.read_bytes()
    path.write_bytes(data[: len(data) * 3 // 4])
    assert 10 <= len(played(path)) < 60


def test_a_file_damaged_beyond_reading_says_so_once_and_loops_what_is_there(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.apng", Video(96, 64, 16, codec="apng", pixel_format="rgb24"))
    data = bytearray(path.read_bytes())
    position = 0
    for _ in range(7):
        position = data.index(b"fcTL", position + 4)
    struct.pack_into(">I", data, position - 4, 27)  # a frame header of an impossible length
    path.write_bytes(data)
    source = opened(path, loop=True)
    frames = play(source, 25)
    assert len(frames) == 25
    assert max(number for number in numbers(frames) if number is not None) < 7
    assert len([notice for notice in source.take_notices() if "cut short or damaged" in notice]) == 1
    play(source, 25)
    assert source.take_notices() == []


def test_corrupt_packets_are_skipped_and_counted(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.mkv", Video(frames=30, codec="mjpeg", pixel_format="yuvj420p"))
    data = bytearray(path.read_bytes())
    # A JPEG without its start marker is refused by the decoder.
    starts = [index for index in range(len(data) - 3) if data[index : index + 3] == b"\xff\xd8\xff"]
    for start in starts[10:13]:
        data[start : start + 400] = bytes(400)
    path.write_bytes(data)
    source = opened(path)
    frames = play(source)
    assert numbers(frames) == [*range(10), *range(13, 30)]
    notices = source.take_notices()
    assert any("3 corrupt packets skipped" in notice for notice in notices)
    assert source.take_notices() == []


def test_a_stream_that_begins_in_the_middle_starts_at_its_first_picture(tmp_path: Path) -> None:
    path = write_video(tmp_path / "a.ts", Video(frames=40, gop=10, options={"bf": "0"}))
    data = path.read_bytes()
    path.write_bytes(data[188 * (len(data) // 188 // 3) :])
    read = [number for number in numbers(played(path)) if number is not None]
    assert read
    assert read == list(range(read[0], 40))


def test_a_picture_stored_bottom_up_is_turned_the_right_way(tmp_path: Path) -> None:
    upright = write_video(tmp_path / "a.nut", Video(codec="rawvideo", pixel_format="gray", frames=1))
    flipped = write_video(
        tmp_path / "b.nut", Video(codec="rawvideo", pixel_format="gray", frames=1, extradata=b"BottomUp\0")
    )
    first, second = played(upright)[0].picture, played(flipped)[0].picture
    assert second is not None
    assert second.planes[0].stride_bytes > 0
    assert np.array_equal(samples(second), samples(first)[::-1])


@pytest.mark.parametrize("tagged_full", [False, True])
def test_rearranging_packed_samples_does_not_change_them(tmp_path: Path, tagged_full: bool) -> None:
    path = write_video(
        tmp_path / "a.mkv",
        Video(codec="rawvideo", pixel_format="yuyv422", frames=1, colour_range=2 if tagged_full else 1),
    )
    picture = played(path)[0].picture
    with av.open(str(path)) as container:
        packed = next(container.decode(video=0))
        expected = np.frombuffer(memoryview(packed.planes[0]), np.uint8).reshape(240, -1)[:, :640:2]
    assert np.array_equal(samples(picture), expected)
    assert picture is not None
    assert picture.format.full_range is tagged_full
