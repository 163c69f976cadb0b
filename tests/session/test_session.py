"""A session tells the truth about its engine whatever that does, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from app.config.veoconfig import VeoConfig
from app.core.errors import EngineError, InvalidInputError, RecordingError
from app.core.vocabulary import Fate
from app.ipc.messages import ConfigApplied
from app.session import engine_watch
from app.session.recording import open_recording
from app.session.session import Session
from app.session.session_state import Phase, RunRequest, SessionState
from tests.session.conftest import Heard
from tests.session.scripted_engine import SINK, SOURCE

Make = Callable[..., Session]
WAIT_S = 20.0


def is_running(state: SessionState) -> bool:
    return state.phase is Phase.RUNNING


def is_over(state: SessionState) -> bool:
    return state.phase in (Phase.FINISHED, Phase.FAILED)


def wait_for_frames(session: Session, count: int) -> None:
    def enough(_: SessionState) -> bool:
        counters = session.counters()
        return counters is not None and counters.produced >= count

    for _ in range(100):
        if enough(session.wait_for(enough, 0.2)):
            return
    pytest.fail(f"no {count} frames came")


def run_to_end(session: Session) -> SessionState:
    session.start()
    state = session.wait_for(is_over, WAIT_S)
    assert is_over(state), state
    return state


def test_a_run_goes_from_idle_over_running_to_finished(scripted: Make, heard: Heard) -> None:
    session = scripted("run")
    assert session.state.phase is Phase.IDLE
    session.start()
    state = session.wait_for(is_running, WAIT_S)
    assert (state.source, state.sink, state.failure) == (SOURCE, SINK, "")
    assert state.engine_pid is not None
    assert psutil.pid_exists(state.engine_pid)
    session.stop()
    assert (session.state.phase, session.state.engine_pid) == (Phase.FINISHED, None)
    assert [phase for phase in heard.phases if phase is not Phase.STOPPING] == [
        Phase.STARTING,
        Phase.RUNNING,
        Phase.FINISHED,
    ]


def test_the_listener_is_called_from_the_receive_thread_only(scripted: Make, heard: Heard) -> None:
    session = scripted("run")
    session.start()
    session.wait_for(is_running, WAIT_S)
    session.set_config(VeoConfig())
    session.stop()
    assert heard.threads == {"session-receive"}


def test_a_source_that_ends_finishes_the_run_by_itself(scripted: Make) -> None:
    session = scripted("short")
    state = run_to_end(session)
    assert state.phase is Phase.FINISHED
    assert state.segments[-1].reason_ended == "end of source"


def test_an_engine_that_refuses_fails_the_run_with_its_own_sentence(scripted: Make, tmp_path: Path) -> None:
    state = run_to_end(scripted("refuse", tmp_path / "run"))
    assert state.phase is Phase.FAILED
    assert state.failure == "missing.mp4 cannot be opened; give a file that exists"
    assert state.recording_dir is None
    assert not (tmp_path / "run").exists()


def test_an_engine_that_crashes_at_its_start_leaves_its_log(scripted: Make, tmp_path: Path) -> None:
    state = run_to_end(scripted("crash-at-start", tmp_path / "run"))
    assert state.failure == (
        "the engine ended with exit code 3; its last words: no libvulkan.so.1; restart the run to go on"
    )
    assert (tmp_path / "run" / "engine.log").read_text() == "no libvulkan.so.1\n"


def test_a_source_that_breaks_off_fails_the_run_and_keeps_its_frames(scripted: Make, tmp_path: Path) -> None:
    state = run_to_end(scripted("break-off", tmp_path / "run"))
    assert state.failure == "clip.mp4 breaks off at 0.02 s; the file is truncated"
    assert len(open_recording(tmp_path / "run").frames) == 1


def test_an_engine_that_never_gets_ready_is_ended(scripted: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_watch, "START_TIMEOUT_S", 0.3)
    state = run_to_end(scripted("never-ready"))
    assert state.failure == "the engine was not ready within 0.3 s and was ended"


def test_an_engine_that_sends_nonsense_is_ended(scripted: Make) -> None:
    state = run_to_end(scripted("babble"))
    assert "sent what is no message" in state.failure


def test_an_engine_that_does_not_stop_is_killed_and_the_run_is_finished_with_a_warning(scripted: Make) -> None:
    session = scripted("deaf")
    session.start()
    pid = session.wait_for(is_running, WAIT_S).engine_pid
    session.stop(timeout_s=0.2)
    assert session.state.phase is Phase.FINISHED
    assert "engine_killed" in [event.kind for event in session.state.events]
    assert pid is not None
    assert not psutil.pid_exists(pid)


def test_a_silent_engine_is_told_once_a_while(scripted: Make, heard: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_watch, "SILENCE_S", 0.3)
    session = scripted("deaf")
    session.start()
    told = session.wait_for(lambda state: any(event.kind == "engine_silent" for event in state.events), WAIT_S)
    assert told.phase is Phase.RUNNING
    session.stop(timeout_s=0.1)


def test_a_hanging_engine_never_makes_the_caller_wait_and_can_be_stopped(scripted: Make) -> None:
    session = scripted("deaf")
    session.start()
    session.wait_for(is_running, WAIT_S)
    talker = threading.Thread(target=lambda: [session.set_config(VeoConfig()) for _ in range(500)])
    talker.start()  # far more than the channel holds
    talker.join(WAIT_S)
    assert not talker.is_alive()
    assert session.state.config_serial == 501
    session.stop(timeout_s=0.1)
    assert session.state.phase is Phase.FINISHED


def test_a_killed_engine_fails_the_run_keeps_every_frame_and_the_next_run_works(scripted: Make, tmp_path: Path) -> None:
    session = scripted("run", tmp_path / "run")
    session.start()
    pid = session.wait_for(is_running, WAIT_S).engine_pid
    assert pid is not None
    wait_for_frames(session, 300)
    os.kill(pid, signal.SIGKILL)
    state = session.wait_for(is_over, WAIT_S)
    assert state.phase is Phase.FAILED
    assert state.failure == "the engine ended by signal 9 (SIGKILL); restart the run to go on"
    data = open_recording(tmp_path / "run")
    # Shared memory outlives the engine: not even the last half second is lost, only a record it was writing.
    assert len(data.frames) == data.counters.produced - data.counters.in_flight >= 300
    assert data.notices == (f"The run broke off: {state.failure}",)
    assert data.frames["frame_id"].tolist() == list(range(len(data.frames)))
    session.restart()
    assert session.wait_for(is_running, WAIT_S).recording_dir == tmp_path / "run-2"
    session.stop()
    assert session.state.phase is Phase.FINISHED
    assert len(open_recording(tmp_path / "run").frames) == len(data.frames)


def test_produced_is_displayed_and_lost_and_in_flight_in_the_recording_too(scripted: Make, tmp_path: Path) -> None:
    run_to_end(scripted("short", tmp_path / "run"))
    data = open_recording(tmp_path / "run")
    counters = data.counters
    assert counters.produced == counters.displayed + sum(counters.lost.values()) + counters.in_flight == 200
    assert (data.frames["fate"] == Fate.DISPLAYED).sum() == counters.displayed == 180
    assert (data.frames["fate"] == Fate.SUPERSEDED).sum() == counters.lost[Fate.SUPERSEDED] == 20


def test_a_recorder_that_is_lapped_counts_what_it_lost_and_says_so(scripted: Make, tmp_path: Path) -> None:
    session = scripted("burst", tmp_path / "run")
    session.start()
    wait_for_frames(session, 400_000)
    state = session.wait_for(lambda state: state.lapped_records > 0, WAIT_S)
    assert state.lapped_records > 0
    session.stop()
    data = open_recording(tmp_path / "run")
    assert data.lapped_records + len(data.frames) == data.counters.produced
    assert data.lapped_records == session.state.lapped_records
    assert "records_lapped" in [event.kind for event in data.events]


def test_configurations_are_numbered_applied_and_recorded(scripted: Make, heard: Heard, tmp_path: Path) -> None:
    session = scripted("run", tmp_path / "run")
    session.start()
    session.wait_for(is_running, WAIT_S)
    deeper = VeoConfig(frame_queue_depth=8)
    assert [session.set_config(VeoConfig(frame_queue_depth=6)), session.set_config(deeper)] == [2, 3]
    state = session.wait_for(lambda state: state.applied_serial == 3, WAIT_S)
    assert (state.applied_serial, state.config) == (3, deeper)
    session.stop()
    data = open_recording(tmp_path / "run")
    assert data.config == deeper
    assert [change.config_serial for change in data.config_history] == [2, 3]


def test_a_configuration_set_without_an_engine_holds_from_the_next_start(scripted: Make, tmp_path: Path) -> None:
    session = scripted("short", tmp_path / "run")
    deeper = VeoConfig(frame_queue_depth=8)
    session.set_config(deeper)
    run_to_end(session)
    assert open_recording(tmp_path / "run").config == deeper


def test_pausing_is_a_phase_and_ends_the_segment(scripted: Make, heard: Heard) -> None:
    session = scripted("run")
    session.start()
    session.wait_for(is_running, WAIT_S)
    session.set_paused(True)
    assert session.state.phase is Phase.PAUSED
    state = session.wait_for(lambda state: any(span.ended_ns for span in state.segments), WAIT_S)
    assert state.segments[-1].reason_ended == "paused True"
    session.set_paused(False)
    assert session.wait_for(is_running, 0.0).phase is Phase.RUNNING


def test_an_unrecorded_run_gives_its_data_from_memory(scripted: Make) -> None:
    session = scripted("short")
    run_to_end(session)
    data = session.run_data()
    assert len(data.frames) == data.counters.produced == 200
    assert {"host_cpu_ratio"} <= set(data.telemetry.metric)


def test_live_data_and_the_recording_agree(scripted: Make, tmp_path: Path) -> None:
    session = scripted("short", tmp_path / "run")
    run_to_end(session)
    live, opened = session.run_data(), open_recording(tmp_path / "run")
    assert live.frames.tobytes() == opened.frames.tobytes()
    assert (live.segments, live.counters, live.events, live.config) == (
        opened.segments, opened.counters, opened.events, opened.config,
    )  # fmt: skip


def test_a_run_in_progress_gives_the_data_so_far_and_is_not_disturbed(scripted: Make, tmp_path: Path) -> None:
    session = scripted("run", tmp_path / "run")
    session.start()
    session.wait_for(is_running, WAIT_S)
    wait_for_frames(session, 100)
    data = session.run_data()
    assert len(data.frames) >= 100
    assert data.notices == ("still being written: this is a snapshot",)
    session.stop()
    assert not open_recording(tmp_path / "run").notices


def test_stopping_twice_and_closing_twice_do_nothing(scripted: Make) -> None:
    session = scripted("short")
    run_to_end(session)
    session.stop()
    session.close()
    session.close()


def test_only_one_run_at_a_time(scripted: Make) -> None:
    session = scripted("run")
    session.start()
    with pytest.raises(EngineError, match="in progress already"):
        session.start()
    assert session.wait_for(is_running, WAIT_S).phase is Phase.RUNNING


def test_a_listener_that_waits_for_its_own_thread_is_told_so(heard: Heard, scripted: Make) -> None:
    told: list[str] = []
    done = threading.Event()

    def stop_from_listener(message: object) -> None:
        if isinstance(message, ConfigApplied):
            try:
                session.stop()
            except EngineError as error:
                told.append(str(error))
            done.set()

    session = scripted("run")
    session._listener = stop_from_listener
    session.start()
    session.wait_for(is_running, WAIT_S)
    session.set_config(VeoConfig())
    assert done.wait(WAIT_S)
    assert told == ["a listener cannot wait for the end of its own run; use request_stop"]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"source": "synthetic:64x@60"}, InvalidInputError),
        ({"sink": "virtual:sixty"}, InvalidInputError),
        ({"recording_dir": Path("/proc/no/such/folder")}, RecordingError),
    ],
)
def test_what_cannot_be_started_is_refused_and_leaves_the_session_idle(
    fields: dict[str, object], error: type[Exception]
) -> None:
    request = replace(RunRequest("synthetic:64x36@60", "virtual:60", gpu="none"), **fields)  # type: ignore[arg-type]
    session = Session(request)
    with pytest.raises(error):
        session.start()
    assert session.state.phase is Phase.IDLE


def test_an_engine_that_cannot_be_spawned_leaves_no_recording(tmp_path: Path) -> None:
    def refuse(_: Path | None, **__: object) -> None:
        raise EngineError("no such program")

    request = RunRequest("synthetic:64x36@60", "virtual:60", recording_dir=tmp_path / "run", gpu="none")
    session = Session(request, spawn=refuse)  # type: ignore[arg-type]
    with pytest.raises(EngineError, match="no such program"):
        session.start()
    assert not (tmp_path / "run").exists()


def test_a_full_disk_stops_the_recording_and_not_the_run(scripted: Make, tmp_path: Path) -> None:
    import resource  # noqa: PLC0415 - POSIX only, as the test

    session = scripted("run", tmp_path / "run")
    session.start()
    session.wait_for(is_running, WAIT_S)
    wait_for_frames(session, 100)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (8192, limits[1]))
    try:
        state = session.wait_for(lambda state: bool(state.recording_failure), WAIT_S)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert state.phase is Phase.RUNNING
    assert state.recording_failure.startswith("recording stopped, File too large")
    session.stop()
    assert session.state.phase is Phase.FINISHED
    assert [event.severity for event in session.state.events if event.kind == "recording_stopped"] == ["error"]
    assert state.recording_failure in open_recording(tmp_path / "run").notices
