"""Runs: starts, pauses, stops and restarts sessions for the window, one at a time, never blocking it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from PySide6.QtCore import QObject, Signal

from app.analysis.run_data import RunData
from app.config.veoconfig import VeoConfig
from app.core.errors import VeoTunerError
from app.gui.latest_sender import LatestSender
from app.gui.session_bridge import SessionBridge
from app.ipc.frame_ring import FrameCounters, FrameRingReader
from app.ipc.messages import FromEngine
from app.session.run_directory import default_run_directory
from app.session.run_stream import RunStream
from app.session.session import Session
from app.session.session_state import Phase, RunRequest, SessionChange, SessionState
from app.telemetry.sampler import Sampler

T = TypeVar("T")

CONFIG_INTERVAL_MS: Final = 33
"""Shortest time between two configurations sent to the engine; a drag sends the latest."""


class RunController(QObject):
    """Owns the session of the window.

    Work that waits (spawning, stopping, reading a recording) happens on one worker thread, in order; the methods here
    return at once and are called on the GUI thread.

    Args:
        gpu, device, validation: as in `RunRequest`.

    Signals:
        began(): a new session is starting; what the last one left is no longer valid.
        message(message): from the engine.
        state_changed(state): phase, failure or recording changed.
        failed(text): a start or stop went wrong, as a sentence.
    """

    began = Signal()
    message = Signal(object)
    state_changed = Signal(object)
    failed = Signal(str)

    def __init__(
        self,
        *,
        gpu: str = "auto",
        device: str = "",
        validation: bool = False,
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._base = RunRequest(
            source="", sink="", gpu=gpu, device=device, validation=validation, window_pid=os.getpid()
        )
        self._session: Session | None = None
        self._bridge: SessionBridge | None = None
        self._worker = ThreadPoolExecutor(1, thread_name_prefix="session-worker")
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy = False
        self._waiting: Coroutine[Any, Any, None] | None = None
        self._configs = LatestSender(self._send_config, CONFIG_INTERVAL_MS, self)
        self.records = True

    # --- what is ---

    @property
    def state(self) -> SessionState | None:
        """The session's present moment; None before the first run."""
        return None if self._session is None else self._session.state

    @property
    def phase(self) -> Phase:
        """Where the run is; IDLE before the first."""
        return Phase.IDLE if self._session is None else self._session.state.phase

    @property
    def source(self) -> str:
        """Source text of the present or last run, "" before the first; of several, the first one's."""
        return "" if self._session is None else self._session.request.source

    @property
    def config(self) -> VeoConfig | None:
        """The configuration with which the present or last run was started; None before the first."""
        return None if self._session is None else self._session.request.config

    @property
    def stream(self) -> RunStream | None:
        """The preview stream of the present or last run; None before the first."""
        return None if self._session is None else self._session.stream

    @property
    def gpu(self) -> str:
        """Where GPU readings of runs come from: `auto`, `none`, `simulated` or a UUID."""
        return self._base.gpu

    @property
    def is_busy(self) -> bool:
        """Tell whether a start or stop is under way."""
        return self._busy

    @property
    def sampler(self) -> Sampler | None:
        """The telemetry of the run."""
        return None if self._session is None else self._session.telemetry

    def counters(self) -> FrameCounters | None:
        """Return the totals of the run."""
        return None if self._session is None else self._session.counters()

    def open_reader(self) -> FrameRingReader:
        """Return a follower of the run's frames.

        Raises:
            EngineError: no engine has been ready yet.
        """
        assert self._session is not None
        return self._session.open_reader()

    # --- what is asked for ---

    def start(self, sources: Sequence[str], sink: str, config: VeoConfig, encode_to: str = "") -> None:
        """Start a run; one in progress is stopped first.

        Args:
            sources: 1–9 source texts, shown in a grid in this order.
            encode_to: file of the encode branch, "" to count its packets only.
        """
        first, *more = sources
        recording_dir = default_run_directory(first, datetime.now().astimezone()) if self.records else None
        request = replace(
            self._base,
            source=first,
            more_sources=tuple(more),
            sink=sink,
            config=config,
            encode_to=encode_to,
            recording_dir=recording_dir,
        )
        self._run_task(self._start(request))

    def stop(self) -> None:
        """Stop the run; its recording is made final."""
        if self.phase.is_live:
            self._run_task(self._stop())

    def set_paused(self, paused: bool) -> None:
        """Pause or go on."""
        if self._session is not None:
            self._session.set_paused(paused)
            self.state_changed.emit(self._session.state)

    def set_config(self, config: VeoConfig) -> None:
        """Ask for a configuration; of many in quick succession the engine gets the latest."""
        self._configs.offer(config)

    def resize(self, width: int, height: int) -> None:
        """Tell the preview's size in device pixels."""
        if self._session is not None:
            self._session.resize(width, height)

    def set_occluded(self, hidden: bool) -> None:
        """Tell that the preview cannot be seen, or can again."""
        if self._session is not None:
            self._session.set_occluded(hidden)

    def set_screen(self, name: str, nominal_hz: float | None) -> None:
        """Tell on which screen the preview is, and its refresh rate by name (Hz; None where nobody knows it)."""
        if self._session is not None:
            self._session.screen_changed(name, nominal_hz)

    def capture_frame(self, path: Path) -> None:
        """Ask for the picture on the screen as PNG."""
        if self._session is not None:
            self._session.capture_frame(path)

    async def run_data(self) -> RunData:
        """Return the run so far, read on the worker thread.

        Raises:
            EngineError, RecordingError: as `Session.run_data`.
        """
        assert self._session is not None
        return await self.work(self._session.run_data)

    async def work(self, function: Callable[[], T]) -> T:
        """Return the result of a function that waits or reads files, run on the worker thread."""
        return await asyncio.get_running_loop().run_in_executor(self._worker, function)

    async def close(self) -> None:
        """End everything: the run, its recording, the worker thread."""
        self._configs.stop()
        for task in list(self._tasks):
            await asyncio.wait({task})
        await self._dispose()
        self._worker.shutdown(wait=True)

    # --- under way ---

    def _run_task(self, coroutine: Coroutine[Any, Any, None]) -> None:
        """Do this after what is under way; of several that wait, the last asked for counts."""
        if self._waiting is not None:
            self._waiting.close()
        self._waiting = coroutine
        if not self._busy:
            self._busy = True
            task = asyncio.ensure_future(self._work_off())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _work_off(self) -> None:
        try:
            while self._waiting is not None:
                coroutine, self._waiting = self._waiting, None
                await self._guarded(coroutine)
        finally:
            self._busy = False
            if self._session is not None:
                self.state_changed.emit(self._session.state)

    async def _guarded(self, coroutine: Coroutine[Any, Any, None]) -> None:
        try:
            await coroutine
        except VeoTunerError as error:
            self.failed.emit(str(error))

    async def _start(self, request: RunRequest) -> None:
        await self._dispose()
        bridge = SessionBridge(self)
        bridge.told.connect(self._told)
        session = Session(request, bridge.listen)
        self._session, self._bridge = session, bridge
        self.began.emit()
        self.state_changed.emit(replace(session.state, phase=Phase.STARTING))
        await self.work(session.start)

    async def _stop(self) -> None:
        assert self._session is not None
        await self.work(self._session.stop)

    async def _dispose(self) -> None:
        session, bridge = self._session, self._bridge
        if session is None:
            return
        await self.work(session.stop)
        self.began.emit()  # whoever reads the ring lets go of it before it is freed
        self._session = self._bridge = None
        await self.work(session.close)
        if bridge is not None:
            bridge.told.disconnect(self._told)
            bridge.deleteLater()

    def _send_config(self, config: VeoConfig) -> None:
        if self._session is not None:
            self._session.set_config(config)

    def _told(self, message: FromEngine | SessionChange) -> None:
        if isinstance(message, SessionChange):
            self.state_changed.emit(message.state)
        else:
            self.message.emit(message)
