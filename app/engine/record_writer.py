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
        """Append the record of a settled frame, in the field order of `records.FRAME_DTYPE`."""
        started_ns = time.perf_counter_ns()
        self._ring.write(
            frame.frame_id,
            frame.segment,
            config_serial,
            fate,
            frame.flags,
            frame.present_mode_requested,
            frame.present_mode_granted,
            frame.display_time_source,
            frame.image_index,
            frame.decode_queue_in,
            frame.decode_queue_out,
            frame.frame_queue_in,
            frame.frame_queue_out,
            0,  # source_index: one source a run
            frame.refreshes,
            frame.source_interval_ns,
            frame.bytes_uploaded,
            frame.pts_ns,
            frame.arrive_ns,
            frame.decode_start_ns,
            frame.decode_end_ns,
            frame.process_start_ns,
            frame.process_end_ns,
            frame.due_ns,
            frame.acquire_start_ns,
            frame.acquire_end_ns,
            frame.submit_ns,
            frame.gpu_start_ns,
            frame.gpu_end_ns,
            frame.present_call_ns,
            frame.present_return_ns,
            frame.displayed_ns,
        )
        self._cost_ns += time.perf_counter_ns() - started_ns
        self._count += 1

    def take_mean_cost_us(self) -> float | None:
        """Return the mean cost of a record since the last call, in µs; None when none was written."""
        cost_ns, count = self._cost_ns, self._count
        self._cost_ns = self._count = 0
        return cost_ns / count / 1000 if count else None
