"""Whether watching disturbs what is watched: the spread of frame intervals with the window open, and without it."""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import psutil

from app.export.run_result import build_run_result
from app.session.recording import open_recording
from tests.bench.rows import Row, Turns, take_turns
from tests.bench.veotuner_runs import PROGRAM, BenchError, RunCall, run_veotuner
from tests.support.x_server import XServer

SOURCE = "synthetic:960x540@60"
SECONDS = 60.0
WARMUP_S = 3.0
ROUNDS = 2

TARGET_RATIO = 2.0
TARGET_SD_MS = 0.5
TARGET_CORES = 0.5


class WindowRun(NamedTuple):
    """What one run with the window gave: spread of intervals, and processor use of the window's process in cores."""

    interval_sd_ms: float
    cores: float


def measure(build: Path) -> list[Row]:
    """Run 60 s of 60 fps on an X server with the window open and without it, in turns."""
    server = XServer()
    try:
        environment = os.environ | {"DISPLAY": server.display, "QT_QPA_PLATFORM": "xcb"}
        return _rows(build, environment)
    finally:
        server.close()


def _rows(build: Path, environment: dict[str, str]) -> list[Row]:
    cores: list[float] = []

    def ours() -> float:
        run = _with_window(build, environment)
        cores.append(run.cores)
        return run.interval_sd_ms

    turns = take_turns(ours, lambda: _without_window(build, environment), ROUNDS)
    limit_ms = max(TARGET_RATIO * statistics.median(turns.reference), TARGET_SD_MS)
    sd_ms, worst_cores = statistics.median(turns.ours), max(cores)
    return [
        Row(
            f"standard deviation of the frame interval, {SECONDS:.0f} s of 60 fps, with the window and without",
            f"{sd_ms:.2f} ms",
            f"{statistics.median(turns.reference):.2f} ms",
            f"{sd_ms:.2f} ms",
            f"≤ {limit_ms:.2f} ms (twice the reference, or {TARGET_SD_MS} ms)",
            sd_ms <= limit_ms,
            f"{SOURCE} on Xvfb, all graphs moving; {_spread_ms(turns)}",
        ),
        Row(
            "processor use of the window's process meanwhile",
            f"{worst_cores:.2f} cores",
            "",
            f"{worst_cores:.2f} cores",
            f"≤ {TARGET_CORES} cores",
            worst_cores <= TARGET_CORES,
            f"worst of {len(cores)} runs, after {WARMUP_S:.0f} s of start",
        ),
    ]


def _without_window(build: Path, environment: dict[str, str]) -> float:
    with tempfile.TemporaryDirectory(dir=build) as folder:
        run_veotuner(RunCall(SOURCE, "x11,960x540", SECONDS), Path(folder), environment)
        return _interval_sd_ms(Path(folder) / "run")


def _with_window(build: Path, environment: dict[str, str]) -> WindowRun:
    with tempfile.TemporaryDirectory(dir=build) as folder:
        home = environment | {"XDG_DATA_HOME": folder, "XDG_CONFIG_HOME": folder}
        command = [str(PROGRAM), "gui", "--source", SOURCE, "--run-for", str(SECONDS)]
        with subprocess.Popen(command, env=home, stderr=subprocess.PIPE, text=True) as window:
            cores = _cores_used(window)
            _, errors = window.communicate(timeout=SECONDS)
        if window.returncode != 0:
            raise BenchError(f"the window ended with code {window.returncode}:\n{errors[-2000:]}")
        runs = sorted((Path(folder) / "veotuner" / "runs").iterdir())
        return WindowRun(_interval_sd_ms(runs[0]), cores)


def _cores_used(window: subprocess.Popen[str]) -> float:
    process = psutil.Process(window.pid)
    time.sleep(WARMUP_S)
    before, started = process.cpu_times(), time.monotonic()
    time.sleep(SECONDS - 2 * WARMUP_S)
    after, ended = process.cpu_times(), time.monotonic()
    return (after.user + after.system - before.user - before.system) / (ended - started)


def _interval_sd_ms(run: Path) -> float:
    result = build_run_result(replace(open_recording(run), warmup_s=WARMUP_S))
    interval = result["metrics"]["display_interval_ms"]
    if "sd" not in interval:
        raise BenchError(f"no display intervals in {run}: {interval.get('missing')}")
    return float(interval["sd"])


def _spread_ms(turns: Turns) -> str:
    ours = ", ".join(f"{value:.2f}" for value in turns.ours)
    reference = ", ".join(f"{value:.2f}" for value in turns.reference)
    return f"{len(turns.ours)} turns; ours {ours} ms, reference {reference} ms"
