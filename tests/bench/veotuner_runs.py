"""Runs of the program itself, as a user starts them, and what their result objects say."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

PROGRAM = Path(sys.executable).with_name("veotuner")


class BenchError(Exception):
    """A contender did not run; the text names the command and what it said."""


def run_program(command: list[str], environment: dict[str, str] | None = None) -> str:
    """Run a command to its end and return its output.

    Raises:
        BenchError: it failed.
    """
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise BenchError(f"{' '.join(command)} ended with code {result.returncode}:\n{result.stderr[-2000:]}")
    return result.stdout


class RunCall(NamedTuple):
    """A `veotuner run`: source, sink, duration (None: to the end of the source), and options on top of the defaults."""

    source: str
    sink: str
    seconds: float | None = None
    settings: tuple[str, ...] = ()


def run_veotuner(call: RunCall, folder: Path, environment: dict[str, str] | None = None) -> dict[str, Any]:
    """Make the run, recorded under `folder`, and return its result object."""
    result = folder / "result.json"
    command = [str(PROGRAM), "run", call.source, "--sink", call.sink, "--json", str(result), "--gpu", "none"]
    command += [] if call.seconds is None else ["--seconds", str(call.seconds)]
    command += ["--out", str(folder / "run")]
    for setting in call.settings:
        command += ["--set", setting]
    run_program(command, environment)
    result_object: dict[str, Any] = json.loads(result.read_text())
    return result_object
