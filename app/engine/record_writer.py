"""Writes a frame's record into the ring, once, when its fate is known."""

from __future__ import annotations

import time

from app.core.vocabulary import Fate
from app.engine.frame import Frame
from app.ipc.frame_ring import FrameRingWriter


class RecordWriter:
    """The present thread's end of the ring; keeps account of what a record costs."""

    def __init__(self, ring: FrameRingWriter) -> None:
        self._ring = ring
        self._cost_ns = 0
        self._count = 0

    def write(self, frame: Frame, fate: Fate, config_serial: int) -> None:
        """Append the record of a settled frame."""
        started_ns = time.perf_counter_ns()
        frame.fate = fate
        frame.config_serial = config_serial
        self._ring.write(bytes(frame))
        self._cost_ns += time.perf_counter_ns() - started_ns
        self._count += 1

    def take_mean_cost_us(self) -> float | None:
        """Return the mean cost of a record since the last call, in µs; None when none was written."""
        cost_ns, count = self._cost_ns, self._count
        self._cost_ns = self._count = 0
        return cost_ns / count / 1000 if count else None
