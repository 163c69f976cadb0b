"""Runs a probe as a child process: a driver that crashes or hangs there takes nothing with it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

PROBE_TIMEOUT_S: Final = 30.0
"""A cold start of a software driver on a busy two-core machine takes a few seconds; a driver that hangs, for ever."""

_PACKAGE_PARENT: Final = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """What a probe printed.

    Attributes:
        objects: the JSON objects of its standard output, one a line, as far as it came.
        fault: how it ended when not well (signal, time-out, last line of its errors); "" when well.
    """

    objects: tuple[dict[str, Any], ...]
    fault: str


def run_probe(
    module: str,
    arguments: Sequence[str] = (),
    *,
    environment: Mapping[str, str] | None = None,
    timeout_s: float = PROBE_TIMEOUT_S,
) -> ProbeAnswer:
    """Run `python -m module arguments…` to its end, at most `timeout_s`, and return what it printed.

    Args:
        environment: variables set in addition to our own.
    """
    # -P keeps a folder named app in the working directory from taking the place of ours.
    command = [sys.executable, "-P", "-m", module, *arguments]
    path = os.pathsep.join(filter(None, (str(_PACKAGE_PARENT), os.environ.get("PYTHONPATH", ""))))
    surroundings = {**os.environ, "PYTHONPATH": path, **(environment or {})}
    try:
        child = subprocess.run(
            command,
            env=surroundings,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        return ProbeAnswer(_objects(late.stdout or b""), f"gave no answer within {timeout_s:.0f} s")
    return ProbeAnswer(_objects(child.stdout), _fault(child.returncode, child.stderr))


def _objects(output: bytes) -> tuple[dict[str, Any], ...]:
    """Return the lines that are JSON objects: some drivers print greetings of their own."""
    found = []
    for line in output.decode(errors="replace").splitlines():
        try:
            value = json.loads(line)
        except json.JSONDecodeError:
            continue
        if isinstance(value, dict):
            found.append(value)
    return tuple(found)


def _fault(exit_code: int, errors: bytes) -> str:
    if exit_code == 0:
        return ""
    if exit_code < 0:
        return f"crashed ({_signal_name(-exit_code)})"
    lines = errors.decode(errors="replace").strip().splitlines()
    return f"failed: {lines[-1]}" if lines else f"failed with exit code {exit_code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:  # a real-time signal between the two that Python names
        return f"signal {number}"
