"""`make bench`: VeoTuner against what it could be at best, measured in turns in one run; writes build/bench.md."""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

from tests.bench.decoding import measure as measure_decoding
from tests.bench.frame_path import measure as measure_frame_path
from tests.bench.isolation import measure as measure_isolation
from tests.bench.presenting import measure as measure_presenting
from tests.bench.rows import Row, markdown_table
from tests.bench.several_sources import measure as measure_several_sources
from tests.bench.veotuner_runs import BenchError

BUILD = Path(__file__).resolve().parents[2] / "build"

BENCHES: dict[str, Callable[[Path], list[Row]]] = {
    "presenting": measure_presenting,
    "decoding": measure_decoding,
    "isolation": measure_isolation,
    "sources": measure_several_sources,
    "frame-path": measure_frame_path,
}


def main() -> int:
    """Run the benches that are named, or all; return 1 where a target was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("benches", nargs="*", metavar="BENCH", help=f"of {', '.join(BENCHES)}; default: all")
    names = parser.parse_args().benches or list(BENCHES)
    unknown = [name for name in names if name not in BENCHES]
    if unknown:
        parser.error(f"no bench {unknown[0]!r}; there are {', '.join(BENCHES)}")
    BUILD.mkdir(exist_ok=True)
    rows: list[Row] = []
    for name in names:
        print(f"measuring {name} …", flush=True)
        try:
            rows += BENCHES[name](BUILD)
        except BenchError as error:
            print(error, file=sys.stderr)
            return 1
    text = f"# Bench of {datetime.now().astimezone():%Y-%m-%d %H:%M}\n\n{_machine()}\n\n{markdown_table(rows)}"
    (BUILD / "bench.md").write_text(text, encoding="utf-8")
    print(text)
    return 0 if all(row.met for row in rows) else 1


def _machine() -> str:
    return f"{platform.platform()}, Python {platform.python_version()}, {os.cpu_count()} processors"


if __name__ == "__main__":
    sys.exit(main())
