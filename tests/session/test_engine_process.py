"""The engine as a child process: it ends in finite time whatever it does, and its end can be told."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.core.errors import EngineError
from app.ipc.channel import ChannelClosedError
from app.ipc.messages import EngineReady, StartRun, StopRun
from app.session.engine_log import LAST_LINES, MAX_FILE_BYTES, EngineLog
from app.session.engine_process import EngineProcess

START = StartRun({}, 1, ["synthetic:64x36@500"], "virtual:60")
Spawn = Callable[..., EngineProcess]


def wait_for_ready(process: EngineProcess) -> None:
    process.send(START)
    while not isinstance(process.receive(10.0), EngineReady):
        pass


def test_an_engine_that_is_asked_to_stop_ends_with_code_0(spawned: Spawn) -> None:
    process = spawned("run")
    wait_for_ready(process)
    process.send(StopRun())
    assert process.end(10.0) == 0


def test_an_engine_that_ignores_its_channel_and_sigterm_is_killed(spawned: Spawn) -> None:
    process = spawned("deaf")
    wait_for_ready(process)
    time.sleep(0.2)
    assert process.end(0.1) == -signal.SIGKILL
    assert not psutil.pid_exists(process.pid)


def test_a_killed_engine_is_told_by_the_name_of_the_signal(spawned: Spawn) -> None:
    process = spawned("run")
    wait_for_ready(process)
    process.kill()
    process.end(5.0)
    assert process.describe_end() == "the engine ended by signal 9 (SIGKILL)"


def test_a_crash_is_told_with_the_engines_last_words(spawned: Spawn, tmp_path: Path) -> None:
    process = spawned("crash-at-start", tmp_path / "engine.log")
    process.send(START)
    process.end(10.0)
    assert process.describe_end() == "the engine ended with exit code 3; its last words: no libvulkan.so.1"
    assert (tmp_path / "engine.log").read_text() == "no libvulkan.so.1\n"


def test_the_end_of_the_engine_ends_a_waiting_receive(spawned: Spawn) -> None:
    process = spawned("crash-at-start")
    process.send(START)
    with pytest.raises(ChannelClosedError):
        process.receive(10.0)


def test_the_ring_can_be_read_after_the_engine_was_killed(spawned: Spawn) -> None:
    process = spawned("run")
    wait_for_ready(process)
    time.sleep(0.2)
    process.kill()
    process.end(5.0)
    reader = process.open_reader()
    batch = reader.read()
    assert len(batch.frames) == reader.counters().produced > 0
    reader.close()


def test_no_frames_can_be_read_before_the_engine_has_opened_its_ring(spawned: Spawn) -> None:
    with pytest.raises(EngineError, match="no frames can be read"):
        spawned("never-ready").open_reader()


def test_a_program_that_does_not_exist_is_an_engine_error_and_leaves_nothing_open() -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    with pytest.raises(EngineError, match="could not be started"):
        EngineProcess.spawn(None, ["/no/such/program"])
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_reader_left_open_keeps_its_memory_but_no_descriptor(spawned: Spawn) -> None:
    process = spawned("run")
    wait_for_ready(process)
    reader = process.open_reader()
    process.kill()
    process.end(5.0)
    process.close()
    assert len(reader.read().frames) >= 0
    reader.close()


def test_ctrl_c_in_the_terminal_does_not_reach_the_engine(spawned: Spawn) -> None:
    process = spawned("run")
    assert os.getsid(process.pid) == process.pid != os.getsid(0)


def test_an_engine_that_floods_its_standard_error_fills_neither_disk_nor_memory(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    log = EngineLog(os.fdopen(read_end, "rb"), tmp_path / "engine.log")
    with os.fdopen(write_end, "wb") as pipe:
        for _ in range(40):
            pipe.write(b"x" * 99_999 + b"\n")
        pipe.write(b"the last line\n")
    log.join(10.0)
    assert (tmp_path / "engine.log").stat().st_size < MAX_FILE_BYTES + 5000
    assert len(log.last_lines()) == LAST_LINES
    assert log.last_lines()[-1:] == ["the last line"]


def test_a_log_that_cannot_be_written_costs_the_copy_only(tmp_path: Path) -> None:
    read_end, write_end = os.pipe()
    log = EngineLog(os.fdopen(read_end, "rb"), tmp_path / "missing" / "engine.log")
    os.write(write_end, b"told\n")
    os.close(write_end)
    log.join(10.0)
    assert log.last_lines()[-1:] == ["told"]
