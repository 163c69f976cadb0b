"""What cannot be played is refused with a sentence that says why and what to do, and nothing is printed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from app.config.source_text import MediaSpec
from app.core.errors import SourceError
from app.engine.sources.opening import open_source
from tests.engine.sources.videos import Video, write_sound, write_video

NOBODY = 65_534


@pytest.fixture(autouse=True)
def _prints_nothing(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    yield
    assert capfd.readouterr() == ("", "")


def refusal(path: Path | str) -> str:
    with pytest.raises(SourceError) as caught:
        open_source(MediaSpec(location=str(path), free=False, loop=False))
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "; " in text, "an error ends with its cure"
    return text


def test_a_missing_file_with_a_similar_one_beside_it(tmp_path: Path) -> None:
    (tmp_path / "holiday.mp4").touch()
    assert f"there is no such file; did you mean {tmp_path / 'holiday.mp4'}?" in refusal(tmp_path / "holliday.mp4")


def test_a_missing_folder(tmp_path: Path) -> None:
    assert "there is no folder" in refusal(tmp_path / "nowhere" / "a.mp4")


def test_a_folder(tmp_path: Path) -> None:
    assert "this is a folder; name a video file in it" in refusal(tmp_path)


def test_a_pipe_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.mp4")
    assert "a device or a pipe" in refusal(tmp_path / "pipe.mp4")


def test_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.mp4").touch()
    assert "the file is empty (0 bytes)" in refusal(tmp_path / "empty.mp4")


def test_a_text_file_named_mp4(tmp_path: Path) -> None:
    path = tmp_path / "notes.mp4"
    path.write_text("Größe und Gewicht\n" * 1000, encoding="utf-8")
    assert "this is a text file, not a video" in refusal(path)


def test_random_bytes(tmp_path: Path) -> None:
    path = tmp_path / "noise.mp4"
    path.write_bytes(bytes(range(256)) * 64)
    assert "not a video that FFmpeg can read" in refusal(path)


def test_an_mp4_whose_recording_was_cut_off(tmp_path: Path) -> None:
    whole = write_video(tmp_path / "whole.mp4", Video())
    cut = tmp_path / "cut.mp4"
    cut.write_bytes(whole.read_bytes()[: whole.stat().st_size // 2])
    assert "no index (moov box)" in refusal(cut)


def test_a_file_with_sound_only(tmp_path: Path) -> None:
    assert "there is no video in it, only audio" in refusal(write_sound(tmp_path / "song.m4a"))


def test_a_codec_without_a_decoder(tmp_path: Path) -> None:
    path = write_video(tmp_path / "odd.mp4", Video())
    data = path.read_bytes()
    assert data.count(b"avc1") >= 1
    path.write_bytes(data.replace(b"avc1", b"zzz9"))
    assert "no decoder" in refusal(path)


def test_a_stream_without_a_single_picture(tmp_path: Path) -> None:
    path = write_video(tmp_path / "hollow.mkv", Video(frames=5))
    data = bytearray(path.read_bytes())
    # Everything after the first cluster's header: block headers survive here and there, coded pictures do not.
    start = data.index(b"\x1f\x43\xb6\x75") + 40
    data[start:] = bytes(len(data) - start)
    path.write_bytes(data)
    assert "no picture could be decoded" in refusal(path)


def test_a_file_that_this_user_may_not_read(tmp_path: Path) -> None:
    made = write_video(tmp_path / "private.mp4", Video(frames=2))
    # pytest's own folders are closed to other users altogether.
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = made.rename(Path(folder) / made.name)
        path.chmod(0)
        with as_a_user():
            assert "this user may not read it" in refusal(path)


@pytest.mark.parametrize("location", ["nul\0byte.mp4", "x" * 5000 + ".mp4"])
def test_an_impossible_path(location: str) -> None:
    assert "check the path" in refusal(location)


def test_a_colon_in_a_file_name_is_no_protocol(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_video(tmp_path / "http:clip.mp4", Video(frames=3))
    monkeypatch.chdir(tmp_path)
    source = open_source(MediaSpec(location=path.name, free=True, loop=False))
    assert source.next() is not None
    source.close()


@contextmanager
def as_a_user() -> Iterator[None]:
    """Give up root for a moment, which may read everything; any other user stays what they are."""
    was_root = os.geteuid() == 0
    if was_root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if was_root:
            os.seteuid(0)
