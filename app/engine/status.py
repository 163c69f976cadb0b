"""What the engine costs and what its source and driver have to say, twice a second."""

from __future__ import annotations

import threading
import time
from typing import Final

import psutil

from app.engine.outbox import Outbox
from app.engine.present_loop import PresentLoop
from app.engine.sinks.sink import Sink
from app.engine.sources.source import Source
from app.engine.stages import Stages
from app.ipc.messages import EngineEvent, EngineStatus

PERIOD_S: Final = 0.5


class StatusReporter:
    """A thread that wakes twice a second, reads CPU time and memory, and posts an `EngineStatus`.

    It also passes on the notices of the source and the messages of the validation layer, as events.
    """

    def __init__(self, source: Source, sink: Sink, loop: PresentLoop, stages: Stages, outbox: Outbox) -> None:
        self._source = source
        self._sink = sink
        self._validation_told = 0
        self._loop = loop
        self._stages = stages
        self._outbox = outbox
        self._process = psutil.Process()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="status", daemon=True)

    def start(self) -> None:
        """Start reporting."""
        self._thread.start()

    def stop(self) -> None:
        """Stop reporting; returns when the thread has ended."""
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        before_ns, before_cpu_ns, before_loop_ns = time.monotonic_ns(), time.process_time_ns(), self._loop.cpu_ns
        while not self._stop.wait(PERIOD_S):
            now_ns, cpu_ns, loop_ns = time.monotonic_ns(), time.process_time_ns(), self._loop.cpu_ns
            wall_ns = max(1, now_ns - before_ns)
            self._outbox.post(
                EngineStatus(
                    at_ns=now_ns,
                    cpu_ratio=(cpu_ns - before_cpu_ns) / wall_ns,
                    present_thread_cpu_ratio=(loop_ns - before_loop_ns) / wall_ns,
                    resident_bytes=self._process.memory_info().rss,
                    decode_queue_length=len(self._stages.decode_queue),
                    frame_queue_length=len(self._stages.frame_queue),
                    uploaded_bytes=self._loop.uploaded_bytes,
                    record_cost_us=self._loop.records.take_mean_cost_us(),
                )
            )
            before_ns, before_cpu_ns, before_loop_ns = now_ns, cpu_ns, loop_ns
            self._pass_on_notices()
        self._pass_on_notices()

    def _pass_on_notices(self) -> None:
        now_ns = time.monotonic_ns()
        for notice in self._source.take_notices():
            self._outbox.post(EngineEvent("warning", "source", notice, now_ns))
        messages = self._sink.validation_messages()
        for message in messages[self._validation_told :]:
            self._outbox.post(EngineEvent("error", "validation", message, now_ns))
        self._validation_told = len(messages)
