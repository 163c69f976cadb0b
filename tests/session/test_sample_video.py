"""The sample is a real H.264 video with a number in every frame, made once, whole or not at all."""

from __future__ import annotations

from pathlib import Path

import av
import numpy as np
import pytest

from app.core.bar_code import read_bar_code
from app.core.errors import SourceError
from app.session.sample_video import SAMPLE_FRAMES, ensure_sample, write_sample


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[float]]:
    """The whole sample and the progress that was reported while it was made."""
    progress: list[float] = []
    return ensure_sample(tmp_path_factory.mktemp("cache") / "veotuner", progress.append), progress


def test_the_sample_is_ten_seconds_of_720p60_h264_tagged_bt709(made: tuple[Path, list[float]]) -> None:
    with av.open(str(made[0])) as container:
        stream = container.streams.video[0]
        context = stream.codec_context
        assert (context.name, context.width, context.height, context.pix_fmt) == ("h264", 1280, 720, "yuv420p")
        assert (str(stream.average_rate), stream.frames) == ("60", SAMPLE_FRAMES)
        assert (context.colorspace, context.color_primaries, context.color_trc, context.color_range) == (1, 1, 1, 1)
        assert not context.has_b_frames
    assert 1_000_000 < made[0].stat().st_size < 10_000_000


def test_every_frame_of_the_sample_shows_its_number(made: tuple[Path, list[float]]) -> None:
    numbers = []
    with av.open(str(made[0])) as container:
        for frame in container.decode(video=0):
            plane = frame.planes[0]
            luma = np.frombuffer(memoryview(plane), np.uint8).reshape(plane.height, plane.line_size)
            numbers.append(read_bar_code(luma[:, : plane.width]))
    assert numbers == list(range(SAMPLE_FRAMES))


def test_the_progress_rises_to_the_whole(made: tuple[Path, list[float]]) -> None:
    assert made[1] == sorted(made[1])
    assert (len(made[1]), made[1][-1]) == (SAMPLE_FRAMES, 1.0)


def test_it_is_made_only_once_and_nothing_else_is_left_there(made: tuple[Path, list[float]]) -> None:
    path, _ = made
    changed_ns = path.stat().st_mtime_ns
    progress: list[float] = []
    assert ensure_sample(path.parent, progress.append) == path
    assert progress == []
    assert path.stat().st_mtime_ns == changed_ns
    assert list(path.parent.iterdir()) == [path]


def test_a_broken_off_attempt_leaves_nothing_behind(tmp_path: Path) -> None:
    def give_up(done_ratio: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ensure_sample(tmp_path, give_up)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_named_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SourceError, match=r"cannot be written .* set XDG_CACHE_HOME"):
        ensure_sample(tmp_path / "file" / "cache")


def test_a_few_frames_make_a_video_too(tmp_path: Path) -> None:
    with av.open(str(write_sample(tmp_path / "short.mp4", 5))) as container:
        assert sum(1 for _ in container.decode(video=0)) == 5
