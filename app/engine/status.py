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
        looks = 0
        cost = _Cost(self._loop)
        while not self._stop.wait(TICK_S):
            looks += 1
            for decision in self._pipeline.tick(time.monotonic_ns()):
                self._outbox.post(decision)
            if looks % 2 == 0:
                self._outbox.post(self._status(cost))
                self._pass_on_notices()
                self._pipeline.branches.report()
        self._pass_on_notices()

    def _status(self, cost: _Cost) -> EngineStatus:
        at_ns, cpu_ratio, present_ratio = cost.take()
        stages = [lane.stages for lane in self._loop.lanes]
        clock = self._pipeline.sink.gpu_clock
        return EngineStatus(
            at_ns=at_ns,
            cpu_ratio=cpu_ratio,
            present_thread_cpu_ratio=present_ratio,
            resident_bytes=self._process.memory_info().rss,
            decode_queue_length=sum(len(each.decode_queue) for each in stages),
            frame_queue_length=sum(len(each.frame_queue) for each in stages),
            uploaded_bytes=self._loop.uploaded_bytes,
            record_cost_us=self._loop.records.take_mean_cost_us(),
            gpu_clock_offset_ns=None if clock is None else clock.offset_ns,
            gpu_clock_drift_ppm=None if clock is None else clock.drift_ppm,
            gpu_clock_residual_ns=None if clock is None else clock.residual_ns,
        )

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


class _Cost:
    """CPU time of the engine process and of its present thread, between two looks; one thread."""

    def __init__(self, loop: PresentLoop) -> None:
        self._loop = loop
        self._before = self._read()

    def take(self) -> tuple[int, float, float]:
        """Return now (CLOCK_MONOTONIC ns) and both as parts of a core since the last look."""
        now, before = self._read(), self._before
        self._before = now
        wall_ns = max(1, now[0] - before[0])
        return now[0], (now[1] - before[1]) / wall_ns, (now[2] - before[2]) / wall_ns

    def _read(self) -> tuple[int, int, int]:
        return time.monotonic_ns(), time.process_time_ns(), self._loop.cpu_ns
