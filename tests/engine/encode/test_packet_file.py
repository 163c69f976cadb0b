"""Files of encoded video: whole when closed, playable when killed, never over another."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import av
import numpy as np
import pytest

from app.core.errors import EngineError, InvalidInputError
from app.engine.encode.destination import FRAGMENT_MS, parse_destination
from app.engine.encode.encoder_options import encoder_options
from app.engine.encode.packet_file import PacketFile
from app.engine.encode.video_encoder import VideoEncoder
from tests.engine.encode.pictures import config_of, moving_picture, yuv420p

KINDS = ["clip.mp4", "clip.ts", "clip.mkv"]
TICKS_60 = 1500


def packet_file(path: Path, part: int = 1) -> PacketFile:
    destination = parse_destination(str(path))
    assert destination is not None
    return PacketFile(destination, part)


def write_frames(file: PacketFile, count: int, first: int = 0, **encoder_keys: Any) -> None:
    encoder = VideoEncoder("libx264", encoder_options(config_of(**encoder_keys), "libx264"), yuv420p(), Fraction(60))
    for number in range(first, first + count):
        encoder.load(moving_picture(number), number * TICKS_60)
        for packet in encoder.encode():
            file.write(packet)
    for packet in encoder.flush():
        file.write(packet)


def decoded_times_s(path: Path, *, torn_end: bool = False) -> list[float]:
    times: list[float] = []
    with av.open(str(path)) as container, contextlib.suppress(*((av.InvalidDataError,) if torn_end else ())):
        times.extend(float(frame.time) for frame in container.decode(video=0))
    return times


@pytest.mark.parametrize("b_frames", [0, 2])
@pytest.mark.parametrize("name", KINDS)
def test_every_frame_is_in_the_file_at_its_time(tmp_path: Path, name: str, b_frames: int) -> None:
    file = packet_file(tmp_path / name)
    file.begin("libx264", Fraction(60), 320, 192)
    write_frames(file, 90, tune="hq", b_frames=b_frames)
    file.close()
    times = decoded_times_s(tmp_path / name)
    assert len(times) == 90
    assert np.diff(times) == pytest.approx(1 / 60, abs=0.0011)


@pytest.mark.parametrize("name", KINDS)
def test_another_encoder_of_the_same_size_goes_on_in_the_same_file(tmp_path: Path, name: str) -> None:
    file = packet_file(tmp_path / name)
    file.begin("libx264", Fraction(60), 320, 192)
    write_frames(file, 40, bitrate_kbps=4000)
    write_frames(file, 40, first=40, bitrate_kbps=500, preset="p4")
    file.close()
    assert len(decoded_times_s(tmp_path / name)) == 80


@pytest.mark.parametrize("name", KINDS)
def test_ffprobe_finds_the_stream_that_was_coded(tmp_path: Path, name: str) -> None:
    file = packet_file(tmp_path / name)
    file.begin("libx264", Fraction(60), 320, 192)
    write_frames(file, 30)
    file.close()
    arguments = ["ffprobe", "-v", "error", "-show_streams", "-of", "json", str(tmp_path / name)]
    found = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert found.stderr == ""
    stream = json.loads(found.stdout)["streams"][0]
    expected = {"codec_name": "h264", "width": 320, "height": 192, "color_space": "bt709", "color_range": "tv"}
    assert {key: stream[key] for key in expected} == expected


@pytest.mark.parametrize(
    ("name", "keys"),
    [*((name, {"gop_frames": 6000}) for name in KINDS), ("clip.mp4", {"tune": "hq", "b_frames": 2})],
    ids=str,
)
def test_a_process_killed_while_writing_leaves_all_but_the_last_moment(
    tmp_path: Path, name: str, keys: dict[str, Any]
) -> None:
    writer = subprocess.Popen(
        [sys.executable, "-m", "tests.engine.encode.killed_writer", str(tmp_path / name), json.dumps(keys)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert writer.stdout is not None
    last = -1
    while last < 75:
        last = int(writer.stdout.readline())
    writer.kill()
    lines = writer.stdout.read().split("\n")[:-1]
    writer.stdout.close()
    assert writer.wait(20) != 0
    coded = int(lines[-1]) if lines else last
    last_time_s = decoded_times_s(tmp_path / name, torn_end=True)[-1]
    assert last_time_s >= coded / 60 - 2 * FRAGMENT_MS / 1000
    probed = subprocess.run(
        ["ffprobe", "-v", "error", str(tmp_path / name)], capture_output=True, text=True, check=True
    )
    assert probed.stdout == ""


@pytest.mark.parametrize("part", [1, 2])
def test_a_file_that_is_there_is_not_written_over(tmp_path: Path, part: int) -> None:
    there = tmp_path / ("clip.mp4" if part == 1 else "clip.part2.mp4")
    there.write_bytes(b"kept")
    with pytest.raises(InvalidInputError, match=rf"{there.name} exists already; choose another name"):
        packet_file(tmp_path / "clip.mp4", part)
    assert there.read_bytes() == b"kept"


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "clip.ts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InvalidInputError, match="exists already"):
        packet_file(tmp_path / "clip.ts")


def test_a_place_that_takes_no_file_is_named_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot be written there \\(File name too long\\); choose another place"):
        packet_file(tmp_path / ("x" * 300 + ".ts"))


@pytest.mark.parametrize("name", KINDS)
def test_a_file_that_never_got_a_packet_is_removed(tmp_path: Path, name: str) -> None:
    unbegun, begun = packet_file(tmp_path / name), packet_file(tmp_path / name, part=2)
    begun.begin("libx264", Fraction(60), 320, 192)
    for file in (unbegun, begun):
        file.close()
        file.close()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", KINDS)
def test_a_full_disk_is_an_error_and_what_was_written_plays(tmp_path: Path, name: str) -> None:
    arguments = [sys.executable, "-m", "tests.engine.encode.full_disk_writer", str(tmp_path / name)]
    told = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert (told.stdout, told.stderr) == ("File too large\n", "")
    assert len(decoded_times_s(tmp_path / name, torn_end=True)) >= 40
