"""The session: starts and restarts the engine, and owns the one mutable state of a run.

Threads. `state` is a frozen snapshot that is replaced whole; any thread may read it. The other public methods may be
called from any thread; those that wait (`start`, `stop`, `restart`, `wait_for`, `close`) not from the listener. The
listener is called on the session's receive thread only, one call at a time and in order; it must return soon.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from app.analysis.run_data import RunData
from app.config.sink_text import parse_sink
from app.config.source_text import parse_source
from app.config.veoconfig import VeoConfig
from app.core.errors import EngineError, InvalidInputError, Problem
from app.ipc.frame_ring import FrameCounters, FrameRingReader
from app.ipc.messages import (
    CaptureFrame,
    ConfigApplied,
    EngineReady,
    FromEngine,
    Resize,
    SetConfig,
    SetOccluded,
    SetPaused,
    SetScreen,
    ToEngine,
)
from app.session.active_run import ActiveRun, Spawn
from app.session.engine_process import EngineProcess
from app.session.run_directory import free_directory
from app.session.run_stream import RunStream
from app.session.session_state import Phase, RunRequest, SessionChange, SessionState
from app.telemetry.sampler import Sampler

Listener = Callable[[FromEngine | SessionChange], None]

STOP_GRACE_S: Final = 5.0
"""How long an engine may take to settle its last frames and exit."""

IN_PROGRESS: Final = "a run is in progress already; stop it before the next one is started"

MAX_SOURCES: Final = 9

END_MARGIN_S: Final = 60.0
"""Time beyond the grace for ending the process and turning a long recording into its final form."""


class Session:
    """One run at a time, and the next one with the same or another configuration.

    Args:
        request: what to run.
        listener: told every message of the engine after `state` has taken it in, and a `SessionChange` whenever
            phase, failure or recording changed; changes in quick succession may be told as one.
        spawn: makes the engine process; another program in tests.
    """

    def __init__(
        self, request: RunRequest, listener: Listener | None = None, *, spawn: Spawn = EngineProcess.spawn
    ) -> None:
        self._request = request
        self._listener = listener
        self._spawn = spawn
        self._run: ActiveRun | None = None
        self._changed = threading.Condition(threading.RLock())  # guards `_state` and `_run`
        self._state = SessionState(Phase.IDLE, request.config)
        self._announced = self._state

    @property
    def request(self) -> RunRequest:
        """What is run."""
        return self._request

    @property
    def state(self) -> SessionState:
        """The present moment."""
        return self._state

    @property
    def telemetry(self) -> Sampler | None:
        """The sampler of the present or last run, to subscribe to; None before the first. A restart makes a new one."""
        return None if self._run is None else self._run.sampler

    def start(self) -> None:
        """Start the engine; returns at once, `state` and the listener tell what comes of it.

        Raises:
            InvalidInputError: source or sink text cannot be understood.
            RecordingError: nothing can be recorded there.
            EngineError: a run is in progress, or the engine could not be started.
        """
        _check_sources(self._request)
        parse_sink(self._request.sink)
        self._free_last_run()
        last, config, directory = self._claim_start()
        try:
            run = ActiveRun(self._request, config, directory, self, self._spawn)
        except BaseException:
            with self._changed:
                self._state = replace(last, config=self._state.config, config_serial=self._state.config_serial)
            raise
        with self._changed:
            self._run = run
            self._replace(engine_pid=run.process.pid)
            run.begin(self._state.config_serial, self._state.config)

    def restart(self) -> None:
        """Stop what runs and start again with the configuration last asked for, into a new recording.

        Raises:
            as `start` and `stop` do.
        """
        self.stop()
        self.start()

    def request_stop(self, grace_s: float = STOP_GRACE_S) -> None:
        """Ask the engine to end; returns at once. It is ended by force after `grace_s`."""
        with self._changed:
            if self._state.phase.is_live and self._run is not None:
                self._replace(phase=Phase.STOPPING)
                self._run.watch.request_stop(grace_s)

    def stop(self, timeout_s: float = STOP_GRACE_S) -> None:
        """End the run and wait until its recording is final; does nothing when none is in progress.

        Raises:
            EngineError: called from the listener, or the end did not come.
        """
        run = self._run
        if run is None:
            return
        if run.watch.is_own_thread:
            raise EngineError("a listener cannot wait for the end of its own run; use request_stop")
        self.request_stop(timeout_s)
        if not run.watch.join(timeout_s + END_MARGIN_S):
            run.process.kill()
            raise EngineError("the run did not come to its end; its engine was killed, its recording may be incomplete")

    def close(self) -> None:
        """Stop, and free what the last run left: its frames cannot be read from the ring any more."""
        self.stop()
        self._free_last_run()

    def wait_for(self, is_reached: Callable[[SessionState], bool], timeout_s: float) -> SessionState:
        """Return the state as soon as `is_reached` says so, or the one after `timeout_s`; tell them apart yourself."""
        with self._changed:
            self._changed.wait_for(lambda: is_reached(self._state), timeout_s)
            return self._state

    def set_config(self, config: VeoConfig) -> int:
        """Ask for a configuration and return its serial; without a live engine it holds from the next start.

        `ConfigApplied` with that serial tells when and how it acts.
        """
        with self._changed:
            serial = self._state.config_serial + 1
            self._replace(config=config, config_serial=serial)
            if self._state.phase.is_live and self._run is not None:
                requested = self._run.request_config(serial, config)
                self._send(SetConfig(requested.config, serial))
            return serial

    def set_paused(self, paused: bool) -> None:
        """Pause or go on."""
        with self._changed:
            if self._state.phase in (Phase.RUNNING, Phase.PAUSED):
                self._replace(phase=Phase.PAUSED if paused else Phase.RUNNING)
                self._send(SetPaused(paused))

    def set_occluded(self, occluded: bool) -> None:
        """Tell that the window is hidden, or seen again."""
        self._send(SetOccluded(occluded))

    def screen_changed(self, name: str, nominal_hz: float | None) -> None:
        """Tell that the window is on another screen, or that its refresh (Hz by name, None unknown) has changed."""
        self._send(SetScreen(name, nominal_hz))

    def resize(self, width: int, height: int) -> None:
        """Tell the window's size in device pixels."""
        self._send(Resize(width, height))

    def capture_frame(self, path: Path) -> None:
        """Ask for the picture on the screen as PNG; `FrameCaptured` or an `EngineEvent` answers."""
        self._send(CaptureFrame(str(path.absolute())))

    def open_reader(self) -> FrameRingReader:
        """Return a follower of the present or last run's frames; close it before the session is closed or restarted.

        Raises:
            EngineError: no engine has been ready yet.
        """
        if self._run is None:
            raise EngineError("no frames can be read: nothing has been started yet")
        return self._run.process.open_reader()

    def counters(self) -> FrameCounters | None:
        """Return the totals of the present or last run; None until its engine was ready."""
        run = self._run
        return None if run is None else run.counters()

    @property
    def stream(self) -> RunStream | None:
        """Return the preview stream of the present or last run; None before the first."""
        run = self._run
        return None if run is None else run.stream

    def run_data(self) -> RunData:
        """Return the run so far, for analysis and reports; reads the recording where there is one, so it takes time.

        Raises:
            EngineError: nothing has been started yet.
            RecordingError: the recording cannot be read.
        """
        if self._run is None:
            raise EngineError("there is no run yet: start one first")
        return self._run.run_data()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- RunObserver: the receive thread ---

    def run_advanced(self, message: FromEngine | None) -> None:
        """Take a step of the run into `state`, and tell the listener."""
        with self._changed:
            if message is not None:
                self._replace(**self._step(message))
            self._follow_recording()
        self._tell(message)

    def run_ended(self, failure: str) -> None:
        """Take the end of the run into `state`, and tell the listener."""
        with self._changed:
            phase = Phase.FAILED if failure else Phase.FINISHED
            self._replace(phase=phase, failure=failure, engine_pid=None, ended_ns=time.monotonic_ns())
            self._follow_recording()
        self._tell(None)

    def _step(self, message: FromEngine) -> dict[str, Any]:
        """Return the fields of `state` that a message changes."""
        assert self._run is not None
        history = self._run.history
        fields: dict[str, Any] = {
            "source": history.source,
            "sink": history.sink,
            "segments": tuple(history.segments),
            "events": tuple(history.events),
            "status": history.status,
            "more_sources": history.more_sources,
            "encoder": history.encoder,
            "decisions": tuple(history.decisions),
            "ready_ns": history.ready_ns,
        }
        if isinstance(message, EngineReady) and self._state.phase is Phase.STARTING:
            fields["phase"] = Phase.RUNNING
        if isinstance(message, ConfigApplied):
            fields["applied_serial"] = message.config_serial
        return fields

    def _follow_recording(self) -> None:
        assert self._run is not None
        recorder = self._run.recorder
        seen = ("", 0) if recorder is None else (recorder.failure, recorder.lapped)
        state = self._state
        if (state.recording_failure, state.lapped_records, state.recording_dir) != (*seen, self._run.directory):
            self._replace(recording_failure=seen[0], lapped_records=seen[1], recording_dir=self._run.directory)

    def _tell(self, message: FromEngine | None) -> None:
        if self._listener is None:
            return
        if message is not None:
            self._listener(message)
        state = self._state
        if _announcement(state) != _announcement(self._announced):
            self._announced = state
            self._listener(SessionChange(state))

    def _free_last_run(self) -> None:
        if self._state.phase.is_live:
            raise EngineError(IN_PROGRESS)
        run = self._run
        if run is not None:
            run.watch.join(None)  # outside the lock: its last call to the listener may still be under way
            run.close()
            self._run = None

    def _claim_start(self) -> tuple[SessionState, VeoConfig, Path | None]:
        """Enter STARTING, so that nobody else can; return the state before, the configuration and where to record.

        The lock is not held while the engine is made: a driver may take seconds, and the GUI thread sets options.
        """
        with self._changed:
            last, wanted = self._state, self._request.recording_dir
            if last.phase.is_live:
                raise EngineError(IN_PROGRESS)
            directory = wanted if wanted is None or last.phase is Phase.IDLE else free_directory(wanted)
            self._state = SessionState(
                Phase.STARTING, last.config, last.config_serial, started_ns=time.monotonic_ns(), recording_dir=directory
            )
            return last, last.config, directory

    def _replace(self, **fields: Any) -> None:
        with self._changed:
            self._state = replace(self._state, **fields)
            self._changed.notify_all()

    def _send(self, message: ToEngine) -> None:
        run = self._run
        if run is not None and self._state.phase.is_live:
            run.process.send(message)


def _check_sources(request: RunRequest) -> None:
    sources = (request.source, *request.more_sources)
    for text in sources:
        parse_source(text)
    if len(sources) > MAX_SOURCES:
        expected = f"is more than the {MAX_SOURCES} sources that one window shows"
        raise InvalidInputError([Problem("sources", str(len(sources)), expected, "start another run for the rest")])


def _announcement(state: SessionState) -> tuple[object, ...]:
    return (state.phase, state.failure, state.recording_failure, state.lapped_records, state.recording_dir)
