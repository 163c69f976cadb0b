"""What four sources in one window cost the engine against one, with and without a GPU in it."""

from __future__ import annotations

import statistics
import time
from pathlib import Path
from typing import NamedTuple

import psutil

from app.session.session import Session
from app.session.session_state import Phase, RunRequest
from tests.bench.rows import Row, take_turns
from tests.bench.veotuner_runs import BenchError

SOURCE = "synthetic:1280x720@60"
SOURCES = 4
SECONDS = 8.0
WARMUP_S = 2.0
ROUNDS = 3
TARGET_RATIO = 4.4
"""Four times one, and a tenth for what the window itself costs more."""

SINKS = {"without uploads (`process=none`)": "virtual:60,process=none", "converted on the GPU": "virtual:60"}


class EngineCost(NamedTuple):
    """Processor time of the engine process per second, and frames of all sources that reached the display per second.

    `cores_at_60` is the time scaled to every source's full 60 fps: a machine that is too slow for four shows fewer
    frames, and those must not look cheap.
    """

    cores: float
    displayed_hz: float
    sources: int

    @property
    def cores_at_60(self) -> float:
        """Return processor time per second for 60 displayed frames of each source."""
        return self.cores * 60 * self.sources / self.displayed_hz


def measure(build: Path) -> list[Row]:
    """Run one source and four, in turns, for each of `SINKS`."""
    del build
    return [_row(how, sink) for how, sink in SINKS.items()]


def engine_cost(sources: int, sink: str) -> EngineCost:
    """Run so many sources and return what the engine took for them, after a warm-up.

    Raises:
        BenchError: the run did not start.
    """
    with Session(RunRequest(SOURCE, sink, gpu="none", more_sources=(SOURCE,) * (sources - 1))) as session:
        session.start()
        state = session.wait_for(lambda state: state.phase is not Phase.STARTING, 60)
        if state.phase is not Phase.RUNNING or state.engine_pid is None:
            raise BenchError(f"{sources} sources did not start: {state.failure}")
        time.sleep(WARMUP_S)
        before = _look(session, state.engine_pid)
        time.sleep(SECONDS)
        seconds, cpu_s, displayed = (
            later - earlier for later, earlier in zip(_look(session, state.engine_pid), before, strict=True)
        )
    if not displayed:
        raise BenchError(f"{sources} sources showed nothing in {seconds:.0f} s")
    return EngineCost(cpu_s / seconds, displayed / seconds, sources)


def _look(session: Session, engine: int) -> tuple[float, float, int]:
    times, counters = psutil.Process(engine).cpu_times(), session.counters()
    return time.monotonic(), times.user + times.system, counters.displayed if counters else 0


def _row(how: str, sink: str) -> Row:
    costs: dict[int, list[EngineCost]] = {1: [], SOURCES: []}

    def cores(sources: int) -> float:
        costs[sources].append(engine_cost(sources, sink))
        return costs[sources][-1].cores_at_60

    turns = take_turns(lambda: cores(SOURCES), lambda: cores(1), ROUNDS)
    rates = {number: statistics.median(cost.displayed_hz for cost in each) for number, each in costs.items()}
    return Row(
        f"processor time of the engine for {SOURCES} sources of 720p60 in one window, {how}, against one",
        f"{statistics.median(turns.ours):.3f} cores",
        f"{statistics.median(turns.reference):.3f} cores",
        f"{turns.ratio:.2f}",
        f"≤ {TARGET_RATIO}",
        turns.ratio <= TARGET_RATIO,
        f"{ROUNDS} turns of {SECONDS:.0f} s, scaled to 60 fps a source; displayed {rates[SOURCES]:.0f} of "
        f"{60 * SOURCES} and {rates[1]:.0f} of 60 frames a second",
    )
