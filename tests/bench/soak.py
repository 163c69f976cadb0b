"""`make soak`: half an hour of 120 fps on the simulated display; memory, handles, threads and pacing must stay flat.

`python -m tests.bench.soak --minutes 30` prints the table; `--json` prints what was measured. The parent that is
watched is this process, which runs the session and nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import psutil

from app.analysis.latency import pacing_error_ms
from app.core.clock import NS_PER_S
from app.core.records import FrameArray
from app.core.vocabulary import Fate
from app.session.recording import open_recording
from app.session.session import Session
from app.session.session_state import Phase, RunRequest
from tests.bench.rows import Row, markdown_table
from tests.bench.veotuner_runs import BenchError

RATE_HZ: Final = 120
SOURCE: Final = f"synthetic:320x180@{RATE_HZ}"
SINK: Final = f"virtual:{RATE_HZ}"
SAMPLE_PERIOD_S: Final = 1.0
PACING_WINDOW_S: Final = 60.0
SHORT_PACING_WINDOW_S: Final = 30.0

SHARED_BLOCK: Final = "/memfd:veotuner"
"""How the kernel names a mapping of `SharedBlock`."""

LEAST_LEAK_BYTES: Final = 32
"""A frame that leaves anything behind leaves one object of Python and the place that keeps it: 24 and 8 bytes."""

LEAST_LEAK_BYTES_PER_S: Final = LEAST_LEAK_BYTES * RATE_HZ
"""What grows slower is no leak of the frame path. The parent keeps an hour of engine statuses on purpose: 1 kB/s."""

ARENA_BYTES: Final = 2**20
"""The interpreter takes memory in arenas of this size (ARENA_BITS of CPython's obmalloc.h); one begun is no leak."""

MOST_PACING_DRIFT_MS: Final = 0.1


class Usage(NamedTuple):
    """What one process held at one time.

    Attributes:
        resident_bytes: its memory without shared blocks: the pages of the frame ring are touched one after the other
            until it is full, which takes nine minutes, and are then written over.
        handles: open file descriptors. threads: of the process.
    """

    resident_bytes: int
    handles: int
    threads: int


class Sample(NamedTuple):
    """One look at both processes.

    Attributes:
        at_s: since the first frame.
    """

    at_s: float
    engine: Usage
    parent: Usage


class ProcessSlopes(NamedTuple):
    """How one process changed after the warm-up.

    Attributes:
        bytes_per_second: Theil–Sen slope of its memory: the median over all pairs of samples, which steps of an
            allocator and single outliers do not move. resident_mib: at the end.
        handles, threads: medians of the first and of the last quarter; a file that is open for a moment is no leak.
    """

    bytes_per_second: float
    resident_mib: float
    handles: tuple[int, int]
    threads: tuple[int, int]


@dataclass(frozen=True, slots=True)
class Soak:
    """What a soak came to.

    Attributes:
        seconds: measured after the warm-up. samples: looks taken in it. frames: displayed in the whole run.
        pacing_first_ms, pacing_last_ms: medians of pacing_error_ms in the first and in the last window.
        pacing_window_s: how long these are.
    """

    seconds: float
    samples: int
    frames: int
    engine: ProcessSlopes
    parent: ProcessSlopes
    pacing_first_ms: float
    pacing_last_ms: float
    pacing_window_s: float

    @property
    def most_bytes_per_second(self) -> float:
        """Return the slope that is no leak: shorter than minutes, one arena looks like one."""
        return LEAST_LEAK_BYTES_PER_S + ARENA_BYTES / self.seconds


def run_soak(sink: str, seconds: float, warmup_s: float, folder: Path) -> Soak:
    """Run on a sink for `seconds` after the first frame and return what changed after the first `warmup_s` of them.

    Raises:
        BenchError: the run did not start, or broke off.
    """
    request = RunRequest(SOURCE, sink, recording_dir=folder / "run", gpu="none")
    with Session(request) as session:
        session.start()
        state = session.wait_for(lambda state: state.phase is not Phase.STARTING, 60)
        samples = list(_watch(session, seconds)) if state.phase is Phase.RUNNING else []
        session.stop()
        if session.state.phase is not Phase.FINISHED:
            raise BenchError(f"the soak broke off: {session.state.failure}")
    steady = [sample for sample in samples if sample.at_s >= warmup_s]
    window_s = PACING_WINDOW_S if seconds - warmup_s >= 4 * PACING_WINDOW_S else SHORT_PACING_WINDOW_S
    frames = open_recording(folder / "run").frames
    first_ms, last_ms = _pacing(frames, warmup_s, window_s)
    return Soak(
        seconds=steady[-1].at_s - steady[0].at_s,
        samples=len(steady),
        frames=int(np.count_nonzero(frames["fate"] == Fate.DISPLAYED)),
        engine=_slopes(steady, [sample.engine for sample in steady]),
        parent=_slopes(steady, [sample.parent for sample in steady]),
        pacing_first_ms=first_ms,
        pacing_last_ms=last_ms,
        pacing_window_s=window_s,
    )


def soak_rows(soak: Soak) -> list[Row]:
    """Return the table of a soak."""
    rows = []
    for name, slopes in (("engine", soak.engine), ("parent", soak.parent)):
        rows += [_memory_row(name, slopes, soak), *_count_rows(name, slopes)]
    drift_ms = abs(soak.pacing_last_ms - soak.pacing_first_ms)
    return [*rows, _pacing_row(soak, drift_ms)]


def theil_sen(at: npt.NDArray[np.float64], values: npt.NDArray[np.float64]) -> float:
    """Return the median slope over all pairs (Theil 1950, Sen 1968)."""
    earlier, later = np.triu_indices(len(at), 1)
    return float(np.median((values[later] - values[earlier]) / (at[later] - at[earlier])))


def main() -> int:
    """Soak, print, and return 1 where something was not flat."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--warmup", type=float, default=60.0, metavar="SECONDS")
    parser.add_argument("--sink", default=SINK, help=f"a simulated display of {RATE_HZ} Hz; default: {SINK}")
    parser.add_argument("--json", action="store_true", help="print what was measured as JSON and judge nothing")
    arguments = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory() as folder:
            soak = run_soak(arguments.sink, arguments.minutes * 60, arguments.warmup, Path(folder))
    except BenchError as error:
        print(error, file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(asdict(soak)))
        return 0
    rows = soak_rows(soak)
    print(markdown_table(rows))
    return 0 if all(row.met for row in rows) else 1


def _watch(session: Session, seconds: float) -> Iterator[Sample]:
    assert session.state.engine_pid is not None
    engine, parent = psutil.Process(session.state.engine_pid), psutil.Process()
    started = time.monotonic()
    while (at_s := time.monotonic() - started) < seconds:
        state = session.wait_for(lambda state: not state.phase.is_live, SAMPLE_PERIOD_S)
        if not state.phase.is_live:
            raise BenchError(f"the soak broke off after {at_s:.0f} s: {state.failure or 'the source ended'}")
        yield Sample(at_s, _usage(engine), _usage(parent))


def _usage(process: psutil.Process) -> Usage:
    mapped = process.memory_maps(grouped=True)
    own_bytes = sum(part.rss for part in mapped if not part.path.startswith(SHARED_BLOCK))
    return Usage(own_bytes, process.num_fds(), process.num_threads())


def _slopes(samples: Sequence[Sample], usages: Sequence[Usage]) -> ProcessSlopes:
    resident = np.array([usage.resident_bytes for usage in usages], np.float64)
    at_s = np.array([sample.at_s for sample in samples], np.float64)
    handles, threads = [usage.handles for usage in usages], [usage.threads for usage in usages]
    return ProcessSlopes(
        bytes_per_second=theil_sen(at_s, resident),
        resident_mib=float(resident[-1]) / 2**20,
        handles=_first_and_last(handles),
        threads=_first_and_last(threads),
    )


def _first_and_last(counts: Sequence[int]) -> tuple[int, int]:
    quarter = max(1, len(counts) // 4)
    return statistics.median_low(counts[:quarter]), statistics.median_low(counts[-quarter:])


def _pacing(frames: FrameArray, warmup_s: float, window_s: float) -> tuple[float, float]:
    """Return the median pacing error, ms, of the first window after the warm-up and of the last one."""
    shown = frames[frames["fate"] == Fate.DISPLAYED]
    at_ns, error_ms = shown["displayed_ns"], pacing_error_ms(shown)
    begin_ns, window_ns = at_ns.min() + round(warmup_s * NS_PER_S), round(window_s * NS_PER_S)
    first = error_ms[(at_ns >= begin_ns) & (at_ns < begin_ns + window_ns)]
    last = error_ms[at_ns > at_ns.max() - window_ns]
    return float(np.nanmedian(first)), float(np.nanmedian(last))


def _memory_row(name: str, slopes: ProcessSlopes, soak: Soak) -> Row:
    how = f"{soak.frames} frames, {soak.samples} samples over {soak.seconds:.0f} s after the warm-up"
    return Row(
        f"memory of the {name} process",
        f"{slopes.resident_mib:.1f} MiB at the end",
        "",
        f"{slopes.bytes_per_second:+.0f} bytes a second",
        f"< {soak.most_bytes_per_second:.0f} bytes a second ({LEAST_LEAK_BYTES} bytes a frame, and one arena)",
        slopes.bytes_per_second < soak.most_bytes_per_second,
        f"Theil–Sen slope, shared blocks left out; {how}",
    )


def _count_rows(name: str, slopes: ProcessSlopes) -> list[Row]:
    counted: tuple[tuple[str, tuple[int, int]], ...] = (("open handles", slopes.handles), ("threads", slopes.threads))
    how = "medians of the last and the first quarter"
    return [
        Row(f"{what} of the {name} process", str(last), str(first), f"{last - first:+}", "≤ 0", last <= first, how)
        for what, (first, last) in counted
    ]


def _pacing_row(soak: Soak, drift_ms: float) -> Row:
    return Row(
        f"median pacing error of the last {soak.pacing_window_s:.0f} s against the first",
        f"{soak.pacing_last_ms:.3f} ms",
        f"{soak.pacing_first_ms:.3f} ms",
        f"{drift_ms:.3f} ms",
        f"≤ {MOST_PACING_DRIFT_MS} ms",
        drift_ms <= MOST_PACING_DRIFT_MS,
        f"exact display times; whole refreshes ({1000 / RATE_HZ:.3f} ms) are a machine that was busy in one of the two",
    )


def soak_from_json(text: str) -> Soak:
    """Return what `--json` printed."""
    fields: dict[str, Any] = json.loads(text)
    slopes = {name: _from_list(fields[name]) for name in ("engine", "parent")}
    return Soak(**(fields | slopes))


def _from_list(told: list[Any]) -> ProcessSlopes:
    bytes_per_second, resident_mib, handles, threads = told
    return ProcessSlopes(bytes_per_second, resident_mib, tuple(handles), tuple(threads))


if __name__ == "__main__":
    sys.exit(main())
