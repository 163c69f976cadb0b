"""The window and its engine as real processes: the death of one leaves the other sound and the machine clean."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import psutil
import pytest

from app.session.child_python import module_environment

TIMEOUT_S = 60.0
T = TypeVar("T")


def wait_until(find: Callable[[], T | None]) -> T:
    deadline = time.monotonic() + TIMEOUT_S
    while time.monotonic() < deadline:
        if (found := find()) is not None:
            return found
        time.sleep(0.05)
    pytest.fail(f"nothing found in {TIMEOUT_S} s")


def engine_of(window: psutil.Process) -> psutil.Process | None:
    for child in window.children():
        try:
            if "app.engine" in child.cmdline() and child.num_threads() > 4:
                return child
        except psutil.Error:
            continue  # a short-lived child that ended while it was looked at
    return None


@pytest.fixture
def window(x_display: str) -> Iterator[psutil.Process]:
    assert x_display
    command = [sys.executable, "-m", "app.gui", "--source", "synthetic:320x180@60"]
    process = subprocess.Popen(command, env=module_environment(), stderr=subprocess.DEVNULL)
    yield psutil.Process(process.pid)
    process.kill()
    process.wait()


def has_ended(process: psutil.Process) -> bool:
    """An orphan whose new parent has not collected it yet is a zombie: it holds nothing any more."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def shared_memory() -> set[str]:
    return {path.name for path in Path("/dev/shm").iterdir()}


@pytest.mark.x11
def test_the_engine_of_a_killed_window_is_gone_within_two_seconds_and_leaves_no_shared_memory(
    window: psutil.Process,
) -> None:
    before = shared_memory()
    engine = wait_until(lambda: engine_of(window))
    window.kill()
    deadline = time.monotonic() + 2.0
    while not has_ended(engine) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert has_ended(engine)
    assert shared_memory() <= before


@pytest.mark.x11
def test_the_window_outlives_a_killed_engine(window: psutil.Process) -> None:
    engine = wait_until(lambda: engine_of(window))
    engine.kill()
    psutil.wait_procs([engine], timeout=TIMEOUT_S)
    time.sleep(1.0)
    assert window.is_running()
    assert window.status() != psutil.STATUS_ZOMBIE
