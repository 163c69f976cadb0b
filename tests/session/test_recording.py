"""A run directory opens whatever happened to its writer, and says what did."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from app.core.encode_records import empty_encode_records
from app.core.errors import RecordingError
from app.ipc.messages import EncodeRecords
from app.session.manifest import Manifest, RecordingState
from app.session.recording import open_recording
from app.session.run_directory import create_run_directory, default_run_directory, free_directory
from tests.session.test_recorder import Recorded

Cut = Callable[[], Path]


def note_encodes(recorded: Recorded, first: int, count: int) -> None:
    """Pass on a message of the encode branch, as the session does."""
    rows = empty_encode_records(count)
    rows["frame_id"] = range(first, first + count)
    recorded.recorder.note(2000 + first, EncodeRecords(base64.b64encode(rows.tobytes()).decode()))


@pytest.fixture
def cut(tmp_path: Path) -> Path:
    """A recording as SIGKILL leaves it: a copy of the files of one that is being written."""
    recorded = Recorded(tmp_path / "live", 1024)
    recorded.write(0, 40)
    note_encodes(recorded, 0, 30)
    recorded.recorder.flush()
    recorded.write(40, 20)
    note_encodes(recorded, 30, 15)
    recorded.recorder.flush()
    shutil.copytree(tmp_path / "live", tmp_path / "cut")
    recorded.finish()
    recorded.close()
    return tmp_path / "cut"


def test_a_cut_recording_gives_every_flushed_row_and_says_that_it_was_cut(cut: Path) -> None:
    data = open_recording(cut)
    assert data.frames["frame_id"].tolist() == list(range(60))
    assert data.notices == ("recovered: its writer was ended in the middle; rows after the last flush are missing",)


def test_a_recovered_recording_is_whole_on_disk_and_opens_the_same_again(cut: Path) -> None:
    first = open_recording(cut)
    assert Manifest.read(cut).state is RecordingState.RECOVERED
    assert not list(cut.glob("*.arrows"))
    assert pq.read_metadata(cut / "frames.parquet").num_rows == 60
    again = open_recording(cut)
    assert (again.frames.tobytes(), again.notices, again.counters) == (
        first.frames.tobytes(), first.notices, first.counters,
    )  # fmt: skip


def test_encode_records_of_a_cut_recording_become_a_table_beside_the_frames(cut: Path) -> None:
    data = open_recording(cut)
    assert data.encodes["frame_id"].tolist() == list(range(45))
    assert pq.read_metadata(cut / "encode.parquet").num_rows == Manifest.read(cut).encode_rows == 45
    (cut / "events.jsonl").unlink()
    assert open_recording(cut).encodes.tobytes() == data.encodes.tobytes()


def test_a_table_of_encode_records_that_a_cut_recovery_left_is_kept(cut: Path) -> None:
    manifest = (cut / "manifest.json").read_bytes()
    rescued = open_recording(cut)
    (cut / "manifest.json").write_bytes(manifest)
    assert open_recording(cut).encodes.tobytes() == rescued.encodes.tobytes()
    assert Manifest.read(cut).encode_rows == 45


def test_encode_records_of_a_recording_still_being_written_come_from_its_journal(cut: Path) -> None:
    assert len(open_recording(cut, recover=False).encodes) == 45
    assert not (cut / "encode.parquet").exists()


def test_a_run_without_an_encode_branch_has_no_table_of_it(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "run", 1024)
    recorded.write(0, 5)
    recorded.finish()
    recorded.close()
    assert not (tmp_path / "run" / "encode.parquet").exists()
    assert Manifest.read(tmp_path / "run").encode_rows == 0
    assert len(open_recording(tmp_path / "run").encodes) == 0


def test_a_cut_recording_opened_without_recovery_is_not_touched(cut: Path) -> None:
    before = {path.name: path.read_bytes() for path in cut.iterdir()}
    assert len(open_recording(cut, recover=False).frames) == 60
    assert {path.name: path.read_bytes() for path in cut.iterdir()} == before


@pytest.mark.parametrize("bytes_lost", [1, 100, 5000])
def test_a_stream_cut_inside_a_batch_keeps_the_batches_before_and_the_balance(cut: Path, bytes_lost: int) -> None:
    stream = cut / "frames.arrows"
    stream.write_bytes(stream.read_bytes()[:-bytes_lost])
    data = open_recording(cut)
    assert len(data.frames) == 40
    counters = data.counters
    assert counters.produced == counters.displayed + sum(counters.lost.values()) + counters.in_flight == 60
    assert (counters.displayed, counters.in_flight) == (60, 0), "the engine's totals know what became of the lost rows"


def test_totals_older_than_the_rows_are_made_to_agree_with_them(cut: Path) -> None:
    journal = cut / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(line for line in lines if b'"produced": 60' not in line))
    counters = open_recording(cut).counters
    assert (counters.produced, counters.displayed, counters.in_flight) == (60, 54, 0)


def test_a_recovery_cut_between_its_steps_is_finished_by_the_next(cut: Path) -> None:
    rescued = open_recording(cut)
    manifest = json.loads((cut / "manifest.json").read_text())
    (cut / "manifest.json").write_text(json.dumps({**manifest, "state": "recording"}))
    (cut / "frames.arrows").write_bytes(b"left over: the table was complete before the stream was removed")
    data = open_recording(cut)
    assert data.frames.tobytes() == rescued.frames.tobytes()
    assert not (cut / "frames.arrows").exists()


@pytest.mark.parametrize("name", ["frames.arrows", "telemetry.arrows", "events.jsonl"])
def test_a_recording_that_lost_a_file_opens_with_what_is_left(cut: Path, name: str) -> None:
    (cut / name).unlink()
    data = open_recording(cut)
    assert len(data.frames) == (0 if name == "frames.arrows" else 60)


def test_a_folder_that_cannot_be_written_is_recovered_in_memory(cut: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("app.session.recording.stream_to_parquet", refuse)
    data = open_recording(cut)
    assert len(data.frames) == 60
    assert data.notices[-1] == "recovered in memory only, its folder cannot be written (Permission denied)"


@pytest.mark.parametrize(
    ("manifest", "sentence"),
    [
        (None, "holds no recording"),
        ("", "cannot be read"),
        ('{"schema": "veotuner-recording/2"}', "a newer version's"),
        ("[]", "cannot be read"),
    ],
)
def test_a_folder_that_is_no_recording_is_told_by_name(tmp_path: Path, manifest: str | None, sentence: str) -> None:
    if manifest is not None:
        (tmp_path / "manifest.json").write_text(manifest)
    with pytest.raises(RecordingError, match=sentence) as told:
        open_recording(tmp_path)
    assert str(tmp_path) in str(told.value)


def test_a_file_in_place_of_a_folder_is_told(tmp_path: Path) -> None:
    (tmp_path / "clip.mp4").write_text("")
    with pytest.raises(RecordingError, match="holds no recording"):
        open_recording(tmp_path / "clip.mp4")


def test_another_record_version_is_refused_with_the_version_that_can_read_it(cut: Path) -> None:
    manifest = json.loads((cut / "manifest.json").read_text())
    (cut / "manifest.json").write_text(json.dumps({**manifest, "frame_record_version": 99, "tool_version": "9.9"}))
    with pytest.raises(RecordingError, match=r"version 99.*open it with veotuner 9\.9"):
        open_recording(cut)


def test_a_run_directory_is_named_by_time_source_and_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from datetime import UTC, datetime  # noqa: PLC0415

    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    started = datetime(2026, 11, 30, 6, 12, 33, tzinfo=UTC)
    names = [
        default_run_directory(source, started).name
        for source in ("synthetic:1280x720@60,seed=3", "/videos/My clip.mp4?loop", "rtsp://host/live")
    ]
    assert names == [
        f"2026-11-30T06-12-33_synthetic-1280x720-60_{os.getpid()}",
        f"2026-11-30T06-12-33_My-clip_{os.getpid()}",
        f"2026-11-30T06-12-33_live_{os.getpid()}",
    ]


def test_a_directory_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    for name in ("run", "run-2"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "manifest.json").write_text("{}")
    assert free_directory(tmp_path / "run") == tmp_path / "run-3"


def test_a_file_in_the_way_of_a_run_directory_is_told(tmp_path: Path) -> None:
    (tmp_path / "run").write_text("")
    with pytest.raises(RecordingError, match="cannot be made"):
        create_run_directory(tmp_path / "run")
