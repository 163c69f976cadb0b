"""One engine life and everything that belongs to it: process, receive thread, recorder, telemetry, history."""

from __future__ import annotations

import contextlib
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, Protocol

from app.analysis.run_data import RunData
from app.config.sections import Device
from app.config.source_text import redacted
from app.config.veoconfig import VeoConfig, config_to_object
from app.core.records import FrameArray, empty_frames
from app.ipc.frame_ring import FrameCounters, FrameRingReader
from app.ipc.messages import EngineEvent, EngineReady, FromEngine, GovernorReadings, RunFailed, StartRun
from app.ipc.shared_block import SharedBlock
from app.session.engine_process import EngineProcess
from app.session.engine_watch import EngineWatch
from app.session.governor_feed import GovernorFeed
from app.session.journal import ConfigRequested, Entry, RunEnded
from app.session.loss_watch import LossWatch
from app.session.machine_facts import machine_facts
from app.session.manifest import Manifest
from app.session.recorder import Recorder
from app.session.recording import open_recording
from app.session.run_assembly import assemble_run
from app.session.run_directory import ENGINE_LOG
from app.session.run_history import NO_COUNTERS, RunHistory
from app.session.run_stream import RunStream
from app.session.session_state import RunRequest
from app.session.telemetry_columns import readings_to_table
from app.session.telemetry_start import start_telemetry
from app.telemetry.provider import Reading


class Spawn(Protocol):
    """Makes the engine process."""

    def __call__(
        self, log_path: Path | None, *, thumbnails: SharedBlock, variables: Mapping[str, str]
    ) -> EngineProcess:
        """Return it, waiting for its job; see `EngineProcess.spawn`."""
        ...


MAX_READINGS: Final = 50_000
"""Telemetry kept in memory for a run that is not recorded, some minutes of it; a recording keeps everything."""


class RunObserver(Protocol):
    """Whom a run tells; every call comes from the run's receive thread, one at a time."""

    def run_advanced(self, message: FromEngine | None) -> None:
        """The history has taken in a message; None: some time has passed."""
        ...

    def run_ended(self, failure: str) -> None:
        """Last call: the process is gone and the recording is final."""
        ...


class ActiveRun:
    """Made with its engine waiting for its job; `begin` gives it. It ends through `watch`, then `close` frees the rest.

    `process`, `watch`, `sampler` and `recorder` may be used from any thread; `history` changes on the receive thread.

    Raises:
        RecordingError: nothing can be recorded there.
        EngineError: the engine could not be started.
        InvalidInputError: a GPU or a slice of one was named that does not exist.
    """

    def __init__(
        self, request: RunRequest, config: VeoConfig, directory: Path | None, observer: RunObserver, spawn: Spawn
    ) -> None:
        self.history = RunHistory()
        self.directory = directory
        self._request = request
        self.recorder: Recorder | None = None
        self._config = config
        self._observer = observer
        self._reader: FrameRingReader | None = None
        self._own_events: SimpleQueue[EngineEvent] = SimpleQueue()
        self._readings: deque[Reading] = deque(maxlen=MAX_READINGS)
        self._lock = threading.Lock()  # held for history and readings, which the receive thread changes
        self._told_lapped = 0
        self._refused = False
        self._losses = LossWatch()
        with ExitStack() as undo:
            telemetry = start_telemetry(request.gpu, config.device, request.window_pid)
            self.sampler = telemetry.sampler
            undo.callback(self.sampler.stop)
            self._feed = self.sampler.subscribe()
            self._governor_feed = GovernorFeed(self.sampler.subscribe(), self._send_readings)
            self.manifest = _opening_manifest(request, telemetry.gpu)
            if directory is not None:
                self.recorder = Recorder(directory, self.manifest, config, self._recording_failed)
                undo.callback(self.recorder.discard)
            self.stream = RunStream(request.stream, self._own_events.put)
            undo.callback(self.stream.close)
            self.process = spawn(
                None if directory is None else directory / ENGINE_LOG,
                thumbnails=self.stream.block,
                variables=device_variables(config.device),
            )
            undo.pop_all()
        for notice in telemetry.notices:
            self._own_events.put(notice)
        self.watch = EngineWatch(self.process, self)

    def begin(self, serial: int, config: VeoConfig) -> None:
        """Give the engine its job, and follow it from here on."""
        requested, request = self.request_config(serial, config), self._request
        self.process.send(
            StartRun(
                requested.config,
                serial,
                [request.source, *request.more_sources],
                request.sink,
                request.validation,
                request.device or config.device.vulkan_device or "",
                request.encode_to,
            )
        )
        self.stream.follow(config)
        self.watch.start()

    def request_config(self, serial: int, config: VeoConfig) -> ConfigRequested:
        """Record that a configuration is asked for, and return it as it is sent."""
        self._config = config
        self.stream.follow(config)
        requested = ConfigRequested(serial, config_to_object(config))
        if self.recorder is not None:
            self.recorder.note(time.monotonic_ns(), requested)
            self.recorder.save_config(config)
        return requested

    def counters(self) -> FrameCounters | None:
        """Return the engine's totals; None until it was ready."""
        return None if self._reader is None else self._reader.counters()

    def run_data(self) -> RunData:
        """Return the run so far, from its recording where there is a sound one, else from memory."""
        recorder = self.recorder
        if recorder is not None and self.directory is not None and not recorder.failure:
            recorder.flush()
            return open_recording(self.directory, recover=False)
        return self._data_in_memory()

    def close(self) -> None:
        """Free channel, ring and stream, after the last call to the observer."""
        self.stream.close()
        if self._reader is not None:
            self._reader.close()
            self._reader = None
        self.process.close()

    # --- EngineListener: the watch's thread ---

    def received(self, message: FromEngine) -> None:
        """Take a message in, before anyone is told."""
        self._take(message)
        if isinstance(message, EngineReady):
            self._reader = self.process.open_reader()
            if self.recorder is not None:
                self.recorder.attach(self.process.open_reader(), self._feed)
        self._refused = self._refused or (isinstance(message, RunFailed) and self.history.ready_ns is None)
        self._observer.run_advanced(message)

    def idle(self) -> None:
        """Tell what other threads noticed meanwhile."""
        with contextlib.suppress(Empty):
            while True:
                self.received(self._own_events.get_nowait())
        if self.recorder is None:
            self._keep_readings()
        elif self.recorder.lapped > self._told_lapped:
            self._tell_lapped(self.recorder.lapped)
        self._governor_feed.pass_on()
        self._mind_losses()
        self._observer.run_advanced(None)

    def ended(self, failure: str) -> None:
        """End telemetry and recording in that order, so that the last readings are in it."""
        self.idle()
        self.sampler.stop()
        self._finish_recording(failure)
        self.idle()
        self._observer.run_ended(failure)

    def _send_readings(self, readings: GovernorReadings) -> None:
        self.process.send(readings)

    def _mind_losses(self) -> None:
        counters = self.counters()
        if counters is not None and (alert := self._losses.look(counters, self._config.alerts)) is not None:
            self._own_events.put(alert)

    def _take(self, entry: Entry) -> None:
        now_ns = time.monotonic_ns()
        with self._lock:
            self.history.apply(now_ns, entry)
        if self.recorder is not None:
            self.recorder.note(now_ns, entry)

    def _keep_readings(self) -> None:
        with self._lock:
            self._readings.extend(self._feed.read())

    def _finish_recording(self, failure: str) -> None:
        self._take(RunEnded(time.monotonic_ns(), failure))
        if self.recorder is None:
            self._keep_readings()
        elif self.history.ready_ns is None and (self._refused or not failure):
            self.recorder.discard()  # nothing ever ran: there is nothing to keep, and the folder is free again
            self.recorder = self.directory = None
        else:  # an engine that crashed at its start leaves its log
            self.recorder.finish()

    def _recording_failed(self, text: str) -> None:
        self._own_events.put(EngineEvent("error", "recording_stopped", text, time.monotonic_ns()))

    def _tell_lapped(self, lapped: int) -> None:
        new, self._told_lapped = lapped - self._told_lapped, lapped
        text = (
            f"{new} frame records were overwritten before they could be recorded; totals still count them, "
            "statistics do not: the machine is too busy, or the frame rate too high for it"
        )
        self._own_events.put(EngineEvent("warning", "records_lapped", text, time.monotonic_ns()))

    def _data_in_memory(self) -> RunData:
        frames, lapped = self._frames_in_memory()
        with self._lock:
            self.history.lapped = lapped
            return assemble_run(
                self.manifest,
                self.history,
                self._config,
                frames,
                readings_to_table(tuple(self._readings)),
                self.counters() or NO_COUNTERS,
            )

    def _frames_in_memory(self) -> tuple[FrameArray, int]:
        """Return the newest frames, as many as the ring holds, and how many came before them."""
        if self._reader is None:
            return empty_frames(0), 0
        with contextlib.closing(self.process.open_reader()) as reader:
            batch = reader.read()
        return batch.frames, batch.lapped


def device_variables(device: Device) -> dict[str, str]:
    """Return the environment in which an engine uses the GPU, or the slice of one, that a configuration names.

    CUDA reads it when it starts, so decoder and encoder of this engine see that device alone, and engines side by side
    do not meet. A MIG slice is named by its own UUID. Vulkan does not read it: there `vulkan_device` chooses.
    """
    uuid = device.mig_uuid or device.gpu_uuid
    return {"CUDA_VISIBLE_DEVICES": uuid} if uuid else {}


def _opening_manifest(request: RunRequest, gpu_telemetry: str) -> Manifest:
    return Manifest(
        source_text=redacted(request.source),
        more_source_texts=[redacted(text) for text in request.more_sources],
        encode_to=request.encode_to,
        sink_text=request.sink,
        gpu=request.gpu,
        warmup_s=request.warmup_s,
        started_at=datetime.now().astimezone().isoformat(timespec="seconds"),
        started_ns=time.monotonic_ns(),
        machine={**machine_facts(), "gpu_telemetry": gpu_telemetry},
    )
