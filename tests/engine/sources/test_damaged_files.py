"""Whatever is done to a file, it is refused with a sentence or plays what is left; the engine goes on."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.errors import SourceError
from app.engine.sources.file_address import FileAddress
from app.engine.sources.media_description import Playback
from app.engine.sources.media_file import MediaFileSource
from tests.engine.sources.videos import Video, write_video
from tests.engine.sources.virtual_pacer import VirtualPacer

CODECS = {
    ".mp4": "libx264",
    ".mov": "prores_ks",
    ".mkv": "libx264",
    ".ts": "libx264",
    ".mpg": "mpeg2video",
    ".avi": "mpeg4",
    ".flv": "flv",
    ".ivf": "libvpx",
    ".obu": "libsvtav1",
    ".apng": "apng",
    ".gif": "gif",
    ".h264": "libx264",
    ".nut": "ffv1",
}
PIXEL_FORMATS = {"prores_ks": "yuv422p10le", "apng": "rgb24", "gif": "rgb8"}
OPTIONS = {"libsvtav1": {"preset": "12", "svtav1-params": "lp=1"}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("damaged")


@pytest.mark.parametrize("suffix", CODECS)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    kind=st.sampled_from(["cut", "hole", "scattered", "header"]),
    free=st.booleans(),
    loop=st.booleans(),
    seed=st.integers(0, 2**32),
)
def test_a_damaged_file_is_refused_or_plays_what_is_left(
    folder: Path, suffix: str, kind: str, free: bool, loop: bool, seed: int
) -> None:
    path = folder / f"damaged{suffix}"
    path.write_bytes(damage(pristine(folder, suffix), kind, Random(seed)))
    try:
        source = MediaFileSource(FileAddress(str(path)), Playback(free, loop), VirtualPacer())
    except SourceError:
        return
    last_pts_ns = -1
    for _ in range(40):
        delivery = source.next()
        if delivery is None:
            break
        assert delivery.pts_ns > last_pts_ns
        assert delivery.arrive_ns <= delivery.decode_start_ns <= delivery.decode_end_ns
        last_pts_ns = delivery.pts_ns
    source.take_notices()
    source.close()


def pristine(folder: Path, suffix: str) -> bytes:
    path = folder / f"whole{suffix}"
    if not path.exists():
        codec = CODECS[suffix]
        pixel_format = PIXEL_FORMATS.get(codec, "yuv420p")
        with scheduling_kept():
            write_video(path, Video(96, 64, 16, codec=codec, pixel_format=pixel_format, options=OPTIONS.get(codec, {})))
    return path.read_bytes()


@contextlib.contextmanager
def scheduling_kept() -> Iterator[None]:
    """Keep this thread's scheduling: SVT-AV1 gives its caller SCHED_FIFO 99 where it may, and never takes it back."""
    if sys.platform != "linux":
        yield
        return
    before = os.sched_getscheduler(0), os.sched_getparam(0)
    try:
        yield
    finally:
        os.sched_setscheduler(0, *before)


def damage(data: bytes, kind: str, random: Random) -> bytes:
    """Cut the end off, blank a stretch, or change single bytes everywhere or near the beginning."""
    changed = bytearray(data)
    position = random.randrange(len(data))
    if kind == "cut":
        return data[:position]
    if kind == "hole":
        length = min(300, len(data) - position)
        changed[position : position + length] = bytes(length)
        return bytes(changed)
    end = len(data) if kind == "scattered" else min(len(data), 1000)
    for _ in range(20):
        changed[random.randrange(end)] = random.randrange(256)
    return bytes(changed)
