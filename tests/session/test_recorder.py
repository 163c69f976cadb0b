"""The recorder writes what the ring brings, at least twice a second, and never over anything."""

from __future__ import annotations

import json
import math
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from app.config.veoconfig import VeoConfig
from app.core.errors import RecordingError
from app.core.vocabulary import LOSS_CLASSES
from app.ipc.frame_ring import FrameRingReader, FrameRingWriter, ring_bytes
from app.ipc.messages import EngineReady
from app.ipc.shared_block import SharedBlock
from app.session import recorder as recorder_module
from app.session.journal import RunEnded
from app.session.manifest import Manifest, RecordingState
from app.session.recorder import FLUSH_PERIOD_S, Recorder
from app.session.recording import open_recording
from app.telemetry.provider import Reading
from app.telemetry.sampler import TelemetryFeed
from tests.session.scripted_engine import SINK, SOURCE, frame_values
from tests.support.frame_records import record_of

STARTED = Manifest(
    source_text="synthetic:64x36@500",
    sink_text="virtual:60",
    gpu="none",
    warmup_s=0.0,
    started_at="2026-11-30T06:12:33+00:00",
    started_ns=1000,
    machine={"processor": "test"},
)


class Recorded:
    """A ring that a test writes itself, and a recorder that follows it."""

    def __init__(self, directory: Path, capacity: int) -> None:
        self.block = SharedBlock.create(ring_bytes(capacity))
        self.ring = FrameRingWriter(self.block, capacity)
        self.feed = TelemetryFeed()
        self.failures: list[str] = []
        self.recorder = Recorder(directory, STARTED, VeoConfig(name="as started"), self.failures.append)
        self.recorder.attach(FrameRingReader(self.block), self.feed)
        self.recorder.note(1500, EngineReady(SOURCE, SINK))

    def write(self, first: int, count: int) -> None:
        for frame_id in range(first, first + count):
            self.ring.write(record_of(frame_values(frame_id, 2000 + frame_id)))
        self.ring.write_counters(first + count, first + count, [0] * len(LOSS_CLASSES), None, 0, 3000)

    def finish(self) -> None:
        self.recorder.note(9000, RunEnded(9000, ""))
        self.recorder.finish()

    def close(self) -> None:
        self.ring.close()
        self.block.close()


@pytest.fixture
def recorded(tmp_path: Path) -> Iterator[Recorded]:
    recorded = Recorded(tmp_path / "run", 1024)
    yield recorded
    recorded.finish()
    recorded.close()


def test_the_flush_period_is_at_least_twice_a_second() -> None:
    assert FLUSH_PERIOD_S <= 0.5


def test_what_was_flushed_can_be_read_while_the_recorder_goes_on(recorded: Recorded) -> None:
    recorded.write(0, 5)
    assert recorded.recorder.flush()
    assert len(open_recording(recorded.recorder.directory).frames) == 5
    recorded.write(5, 5)
    assert recorded.recorder.flush()
    assert len(open_recording(recorded.recorder.directory).frames) == 10


def test_rows_reach_the_disk_without_being_asked_for(recorded: Recorded) -> None:
    recorded.write(0, 5)
    deadline = time.monotonic() + 30.0  # the period is asserted above; this only bounds a broken recorder
    while not len(open_recording(recorded.recorder.directory).frames):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_finished_recording_is_two_tables_a_journal_a_manifest_and_the_config(recorded: Recorded) -> None:
    recorded.write(0, 5)
    recorded.finish()
    assert sorted(path.name for path in recorded.recorder.directory.iterdir()) == [
        "VeoConfig.json", "events.jsonl", "frames.parquet", "manifest.json", "telemetry.parquet",
    ]  # fmt: skip


def test_the_manifest_says_what_the_run_came_to(recorded: Recorded) -> None:
    recorded.write(0, 5)
    recorded.finish()
    manifest = json.loads((recorded.recorder.directory / "manifest.json").read_text())
    assert (manifest["schema"], manifest["state"]) == ("veotuner-recording/1", "finished")
    assert (manifest["frame_rows"], manifest["counters"]["produced"], manifest["lapped_records"]) == (5, 5, 0)
    assert (manifest["source"]["description"], manifest["sinks"][0]["kind"]) == ("scripted", "virtual")
    assert (manifest["started_ns"], manifest["ended_ns"]) == (1000, 9000)


def test_missing_stamps_are_null_in_the_table(recorded: Recorded) -> None:
    recorded.write(0, 10)
    recorded.finish()
    table = pq.read_table(recorded.recorder.directory / "frames.parquet")
    assert table["displayed_ns"].null_count == 1
    assert table["decode_start_ns"].null_count == 10
    assert table["frame_id"].to_pylist() == list(range(10))


def test_a_missing_reading_keeps_its_reason_and_is_never_zero(recorded: Recorded) -> None:
    recorded.feed.put(
        [
            Reading("gpu_temperature_c", math.nan, "no sensor", 5, 2.0, "nvml", "GPU-1"),
            Reading("power_w", 0.0, "", 5, math.nan, "nvml", "GPU-1"),
        ]
    )
    recorded.finish()
    table = pq.read_table(recorded.recorder.directory / "telemetry.parquet")
    assert table["value"].to_pylist() == [None, 0.0]
    data = open_recording(recorded.recorder.directory)
    assert data.telemetry.reason.tolist() == ["no sensor", ""]
    assert math.isnan(data.telemetry.value[0])
    assert math.isnan(data.telemetry.cost_us[1])


def test_a_lapped_recorder_keeps_the_newest_records_and_counts_the_rest(tmp_path: Path) -> None:
    recorded = Recorded(tmp_path / "run", 64)
    recorded.recorder.flush()
    for first in range(0, 10_000, 1000):
        recorded.write(first, 1000)
    recorded.finish()
    data = open_recording(tmp_path / "run")
    assert data.lapped_records == recorded.recorder.lapped > 0
    assert data.lapped_records + len(data.frames) == 10_000
    assert data.frames["frame_id"][-1] == 9_999
    recorded.close()


def test_the_config_on_disk_follows_the_run(recorded: Recorded) -> None:
    recorded.recorder.save_config(VeoConfig(name="as changed"))
    recorded.recorder.flush()
    assert open_recording(recorded.recorder.directory).config.name == "as changed"


def test_an_existing_recording_is_refused_and_left_alone(recorded: Recorded) -> None:
    before = (recorded.recorder.directory / "manifest.json").read_bytes()
    with pytest.raises(RecordingError, match="already holds a recording"):
        Recorder(recorded.recorder.directory, STARTED, VeoConfig(), recorded.failures.append)
    assert (recorded.recorder.directory / "manifest.json").read_bytes() == before


def test_of_two_runs_that_both_found_the_folder_free_the_later_one_leaves_the_other_alone(
    recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_module, "create_run_directory", lambda _: False)  # as both saw it
    held = sorted(path.name for path in recorded.recorder.directory.iterdir())
    with pytest.raises(RecordingError, match="another run has just begun to record into"):
        Recorder(recorded.recorder.directory, STARTED, VeoConfig(), recorded.failures.append)
    assert sorted(path.name for path in recorded.recorder.directory.iterdir()) == held


def test_a_discarded_recording_leaves_other_peoples_files(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    recorder = Recorder(tmp_path, STARTED, VeoConfig(), print)
    recorder.discard()
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_disk_that_is_full_at_the_start_leaves_the_folder_as_it_was(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # the manifest is longer than that
    try:
        with pytest.raises(RecordingError, match=r"nothing can be recorded in .*: File too large; choose a folder"):
            Recorder(tmp_path / "run", STARTED, VeoConfig(), print)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


def test_a_discarded_recording_leaves_the_empty_folder_that_was_there(tmp_path: Path) -> None:
    Recorder(tmp_path, STARTED, VeoConfig(), print).discard()
    assert tmp_path.is_dir()


def test_finishing_twice_does_nothing(recorded: Recorded) -> None:
    recorded.finish()
    recorded.finish()
    assert Manifest.read(recorded.recorder.directory).state is RecordingState.FINISHED
