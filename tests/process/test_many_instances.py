"""Many runs at once on one machine: nothing is shared but the processors, and each keeps what is its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from app.cli.exit_codes import FAILED, OK
from app.config.sections import Device
from app.config.veoconfig import VeoConfig
from app.session.manifest import Manifest, RecordingState
from app.session.recording import open_recording
from app.session.session import Session
from app.session.session_state import Phase, RunRequest

PROGRAM = Path(sys.executable).with_name("veotuner")
SOURCE = "synthetic:320x180@60"
SHORT = ["run", SOURCE, "--sink", "virtual:60,process=none", "--seconds", "1", "--gpu", "none", "--warmup", "0"]
INSTANCES = 8
GPUS = ("GPU-11111111-2222-3333-4444-555555555555", "GPU-99999999-2222-3333-4444-555555555555")


class Ended:
    """What a program that ran to its end left."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.pid = process.pid
        self.output, self.errors = process.communicate(timeout=120)
        self.code = process.returncode


def run_together(home: Path, *options: list[str]) -> list[Ended]:
    """Start one program for each list of options, all before the first has ended."""
    environment = os.environ | {"XDG_DATA_HOME": str(home)}
    pipe = subprocess.PIPE
    started = [
        subprocess.Popen([PROGRAM, *SHORT, *extra], env=environment, stdout=pipe, stderr=pipe, text=True)
        for extra in options
    ]
    return [Ended(process) for process in started]


def assert_whole(run: Path) -> None:
    data = open_recording(run, recover=False)
    assert Manifest.read(run).state is RecordingState.FINISHED
    assert (
        data.counters.produced == data.counters.displayed + sum(data.counters.lost.values()) + data.counters.in_flight
    )
    assert len(data.frames) == data.counters.displayed + sum(data.counters.lost.values())
    assert data.counters.displayed >= 10


@pytest.mark.slow
def test_eight_runs_started_together_all_succeed_with_recordings_of_their_own(tmp_path: Path) -> None:
    results = [tmp_path / f"{number}.json" for number in range(INSTANCES)]
    ended = run_together(tmp_path, *[["--json", str(path)] for path in results])
    assert [program.code for program in ended] == [OK] * INSTANCES, [program.errors for program in ended]
    runs = sorted((tmp_path / "veotuner" / "runs").iterdir())
    assert {int(run.name.rpartition("_")[2]) for run in runs} == {program.pid for program in ended}
    for run in runs:
        assert_whole(run)
    told: list[dict[str, Any]] = [json.loads(path.read_text()) for path in results]
    assert all(result["metrics"]["fps_average"]["value"] > 0 for result in told)
    assert not list(Path("/dev/shm").glob("*veotuner*"))


@pytest.mark.slow
def test_of_two_runs_that_are_given_one_folder_one_has_it_and_the_other_says_so(tmp_path: Path) -> None:
    ended = run_together(tmp_path, *[["--out", str(tmp_path / "run")]] * 2)
    assert sorted(program.code for program in ended) == [OK, FAILED], [program.errors for program in ended]
    loser = next(program for program in ended if program.code)
    assert "already holds a recording" in loser.errors or "another run has just begun" in loser.errors
    assert "Traceback" not in loser.errors
    assert_whole(tmp_path / "run")


def test_two_engines_of_one_process_run_side_by_side_each_with_a_device_of_its_own(tmp_path: Path) -> None:
    def request(name: str, gpu_uuid: str) -> RunRequest:
        config = VeoConfig(device=Device(gpu_uuid=gpu_uuid))
        return RunRequest(SOURCE, "virtual:60,process=none", config, tmp_path / name, gpu="none", warmup_s=0)

    with Session(request("first", GPUS[0])) as first, Session(request("second", GPUS[1])) as second:
        sessions = (first, second)
        for session in sessions:
            session.start()
        states = [session.wait_for(lambda state: state.phase is not Phase.STARTING, 30) for session in sessions]
        assert [state.phase for state in states] == [Phase.RUNNING] * 2
        engines = [psutil.Process(state.engine_pid) for state in states]
        assert [engine.environ()["CUDA_VISIBLE_DEVICES"] for engine in engines] == list(GPUS)
        for session in sessions:
            session.wait_for(lambda _, session=session: _displayed(session) >= 20, 30)  # type: ignore[misc]
        first.stop()
        before = _displayed(second)
        second.wait_for(lambda _: _displayed(second) >= before + 20, 30)
        assert second.state.phase is Phase.RUNNING
    for name in ("first", "second"):
        assert_whole(tmp_path / name)


def _displayed(session: Session) -> int:
    counters = session.counters()
    return 0 if counters is None else counters.displayed
