"""Sessions whose engine is the scripted one, or the real one; always closed at the end of a test."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.session.engine_process import EngineProcess

SCRIPTED_ENGINE = Path(__file__).with_name("scripted_engine.py")


def spawn_script(script: str) -> Callable[[Path | None], EngineProcess]:
    """Return how to spawn the scripted engine with one of its scripts."""
    return lambda log_path: EngineProcess.spawn(log_path, [sys.executable, str(SCRIPTED_ENGINE), script])


@pytest.fixture
def spawned() -> Iterator[Callable[..., EngineProcess]]:
    """Spawn engine processes that are ended and freed with the test."""
    processes: list[EngineProcess] = []

    def spawn(script: str, log_path: Path | None = None) -> EngineProcess:
        processes.append(spawn_script(script)(log_path))
        return processes[-1]

    yield spawn
    for process in processes:
        process.kill()
        process.end(5.0)
        process.close()
