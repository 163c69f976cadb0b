"""Two minutes of 120 fps: nothing of it accumulates, in the engine or in its parent. `make soak` does half an hour."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from tests.bench.soak import (
    ARENA_BYTES,
    LEAST_LEAK_BYTES_PER_S,
    MOST_PACING_DRIFT_MS,
    ProcessSlopes,
    Soak,
    soak_from_json,
    soak_rows,
    theil_sen,
)
from tests.support.disturbance import again_if_disturbed

MINUTES = 2
WARMUP_S = 20
SINK = "virtual:120,process=none"
"""Software Vulkan at 120 fps takes a whole processor; on a busy machine half of it comes a refresh too late."""

COMMAND = [
    sys.executable, "-m", "tests.bench.soak",
    "--minutes", str(MINUTES), "--warmup", str(WARMUP_S), "--sink", SINK, "--json",
]  # fmt: skip
FEWEST_FRAMES = 1000
"""Enough for a slope; a busy machine displays fewer than the 14400 that are due."""

SOUND = ProcessSlopes(0.0, 100.0, (9, 9), (15, 15))


@pytest.mark.slow
@again_if_disturbed
def test_two_minutes_leave_memory_handles_threads_and_pacing_as_they_were() -> None:
    # A process of its own: what this one holds changes with the tests that ran before.
    done = subprocess.run(COMMAND, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    soak = soak_from_json(done.stdout)
    assert soak.frames > FEWEST_FRAMES
    assert [row.what for row in soak_rows(soak) if not row.met] == []


def test_the_slope_is_that_of_most_pairs_whatever_single_samples_do() -> None:
    at = np.arange(50.0)
    values = 3.0 * at + 7.0
    values[[3, 20, 41]] += [1e6, -1e6, 1e6]
    assert theil_sen(at, values) == pytest.approx(3.0)


def test_a_step_of_an_allocator_is_no_slope() -> None:
    at = np.arange(100.0)
    assert theil_sen(at, np.where(at < 40, 0.0, 1e6)) == 0.0


@pytest.mark.parametrize(
    ("engine", "pacing_last_ms", "failing"),
    [
        (SOUND, 1.0, []),
        (
            SOUND._replace(bytes_per_second=LEAST_LEAK_BYTES_PER_S + ARENA_BYTES / 100),
            1.0,
            ["memory of the engine process"],
        ),
        (SOUND._replace(handles=(9, 10)), 1.0, ["open handles of the engine process"]),
        (SOUND._replace(threads=(14, 15)), 1.0, ["threads of the engine process"]),
        (SOUND, 1.0 + 2 * MOST_PACING_DRIFT_MS, ["median pacing error of the last 30 s against the first"]),
    ],
)
def test_the_table_names_what_was_not_flat(engine: ProcessSlopes, pacing_last_ms: float, failing: list[str]) -> None:
    soak = Soak(100.0, 100, 12_000, engine, SOUND, 1.0, pacing_last_ms, 30.0)
    assert [row.what for row in soak_rows(soak) if not row.met] == failing
