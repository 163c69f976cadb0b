"""Sessions whose engine is the scripted one, or the real one; always closed at the end of a test."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.ipc.messages import FromEngine
from app.session.engine_process import EngineProcess
from app.session.session import Session
from app.session.session_state import Phase, RunRequest, SessionChange

SCRIPTED_ENGINE = Path(__file__).with_name("scripted_engine.py")


def spawn_script(script: str) -> Callable[..., EngineProcess]:
    """Return how to spawn the scripted engine with one of its scripts; it reads no more than the log's path."""
    command = [sys.executable, str(SCRIPTED_ENGINE), script]
    return lambda log_path, **_: EngineProcess.spawn(log_path, command)


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


class Heard:
    """A listener that keeps what it was told, and by which thread."""

    def __init__(self) -> None:
        self.messages: list[object] = []
        self.threads: set[str] = set()

    def __call__(self, message: FromEngine | SessionChange) -> None:
        self.messages.append(message)
        self.threads.add(threading.current_thread().name)

    @property
    def phases(self) -> list[Phase]:
        phases = [message.state.phase for message in self.messages if isinstance(message, SessionChange)]
        return [phase for index, phase in enumerate(phases) if index == 0 or phases[index - 1] is not phase]


@pytest.fixture
def heard() -> Heard:
    return Heard()


@pytest.fixture
def scripted(heard: Heard) -> Iterator[Callable[..., Session]]:
    """Sessions on the scripted engine, without a GPU; closed with the test."""
    sessions: list[Session] = []

    def make(script: str, recording_dir: Path | None = None, **fields: Any) -> Session:
        request = RunRequest("synthetic:64x36@500", "virtual:60", recording_dir=recording_dir, gpu="none", **fields)
        sessions.append(Session(request, heard, spawn=spawn_script(script)))
        return sessions[-1]

    yield make
    for session in sessions:
        session.close()
