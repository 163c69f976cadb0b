"""What the engine costs and what its source and driver have to say, twice a second."""

from __future__ import annotations

import threading
import time
from typing import Final

import psutil

from app.engine.configuring import Pipeline
from app.engine.outbox import Outbox
from app.engine.present_loop import PresentLoop
from app.ipc.messages import EngineEvent, EngineStatus

PERIOD_S: Final = 0.5
TICK_S: Final = PERIOD_S / 2
"""How often the governors look: four times a second."""


class StatusReporter:
    """A thread that lets the governors look four times a second, and posts an `EngineStatus` at every second look.

    It also passes on the notices of the sources and the messages of the validation layer, as events.
    """

    def __init__(self, pipeline: Pipeline, loop: PresentLoop, outbox: Outbox) -> None:
        self._pipeline = pipeline
        self._validation_told = 0
        self._loop = loop
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
        looks = 0
        while not self._stop.wait(TICK_S):
            looks += 1
            for decision in self._pipeline.tick(time.monotonic_ns()):
                self._outbox.post(decision)
            if looks % 2:
                continue
            now_ns, cpu_ns, loop_ns = time.monotonic_ns(), time.process_time_ns(), self._loop.cpu_ns
            wall_ns = max(1, now_ns - before_ns)
            self._outbox.post(
                EngineStatus(
                    at_ns=now_ns,
                    cpu_ratio=(cpu_ns - before_cpu_ns) / wall_ns,
                    present_thread_cpu_ratio=(loop_ns - before_loop_ns) / wall_ns,
                    resident_bytes=self._process.memory_info().rss,
                    decode_queue_length=sum(len(lane.stages.decode_queue) for lane in self._loop.lanes),
                    frame_queue_length=sum(len(lane.stages.frame_queue) for lane in self._loop.lanes),
                    uploaded_bytes=self._loop.uploaded_bytes,
                    record_cost_us=self._loop.records.take_mean_cost_us(),
                )
            )
            before_ns, before_cpu_ns, before_loop_ns = now_ns, cpu_ns, loop_ns
            self._pass_on_notices()
            self._pipeline.branches.report()
        self._pass_on_notices()

    def _pass_on_notices(self) -> None:
        now_ns = time.monotonic_ns()
        for lane in self._loop.lanes:
            for notice in lane.source.take_notices():
                self._outbox.post(EngineEvent("warning", "source", notice, now_ns))
        for notice in self._pipeline.sink.take_notices():
            self._outbox.post(EngineEvent("warning", "sink", notice, now_ns))
        for notice in self._pipeline.branches.take_notices():
            self._outbox.post(EngineEvent("warning", "preview stream", notice, now_ns))
        messages = self._pipeline.sink.validation_messages()
        for message in messages[self._validation_told :]:
            self._outbox.post(EngineEvent("error", "validation", message, now_ns))
        self._validation_told = len(messages)
