"""SIGKILL of either process: the other one stays sound, the recording opens, nothing is left on the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from app.session.child_python import module_environment
from app.session.manifest import Manifest, RecordingState
from app.session.recording import open_recording
from app.session.session import Session
from app.session.session_state import Phase, RunRequest

HOLDER = Path(__file__).with_name("session_holder.py")
ENGINES = {"scripted": "run", "real": ""}


class Held:
    """A running holder, its engine's process id, and how many frames it had seen when it said so."""

    def __init__(self, directory: Path, script: str) -> None:
        command = [sys.executable, str(HOLDER), str(directory), script]
        self.process = subprocess.Popen(command, env=module_environment(), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        engine, frames = (self.process.stdout.readline() or self._failed()).split()
        self.engine = psutil.Process(int(engine))
        self.frames = int(frames)

    def _failed(self) -> str:
        self.kill()
        pytest.fail(f"the session holder ended with code {self.process.returncode}")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


@pytest.fixture(params=ENGINES)
def held(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Held]:
    held = Held(tmp_path / "run", ENGINES[request.param])
    yield held
    held.kill()


def shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir()}


def test_an_engine_whose_parent_was_killed_is_gone_within_two_seconds(held: Held) -> None:
    before = shared_memory()
    held.kill()
    _, alive = psutil.wait_procs([held.engine], timeout=2.0)
    assert not alive
    assert shared_memory() <= before
    assert not [name for name in shared_memory() if "veotuner" in name]


def test_the_recording_of_a_killed_parent_opens_with_every_row_up_to_the_last_half_second(
    held: Held, tmp_path: Path
) -> None:
    time.sleep(1.0)  # at least one flush after the frames that the holder reported
    held.kill()
    psutil.wait_procs([held.engine], timeout=2.0)
    data = open_recording(tmp_path / "run")
    assert Manifest.read(tmp_path / "run").state is RecordingState.RECOVERED
    assert len(data.frames) >= held.frames
    assert data.counters.produced == (
        data.counters.displayed + sum(data.counters.lost.values()) + data.counters.in_flight
    )
    assert data.source is not None


def test_a_killed_real_engine_fails_the_run_and_the_next_one_starts(tmp_path: Path) -> None:
    request = RunRequest(
        "synthetic:320x180@100", "virtual:100,process=none", recording_dir=tmp_path / "run", gpu="none"
    )
    with Session(request) as session:
        session.start()
        state = session.wait_for(lambda state: state.phase is Phase.RUNNING, 30.0)
        assert state.engine_pid is not None, state.failure
        while (counters := session.counters()) is None or counters.produced < 100:
            time.sleep(0.05)
        os.kill(state.engine_pid, signal.SIGKILL)
        state = session.wait_for(lambda state: not state.phase.is_live, 30.0)
        assert (state.phase, state.failure) == (
            Phase.FAILED,
            "the engine ended by signal 9 (SIGKILL); restart the run to go on",
        )
        assert len(open_recording(tmp_path / "run").frames) >= 80
        session.restart()
        assert session.wait_for(lambda state: state.phase is Phase.RUNNING, 30.0).phase is Phase.RUNNING
        session.stop()
        assert session.state.phase is Phase.FINISHED
