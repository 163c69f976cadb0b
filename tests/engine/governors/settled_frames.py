"""Frames as they are when their fate is known, from a few numbers."""

from __future__ import annotations

from app.engine.frame import Frame

MS = 1_000_000
FRAME_NS = 16_666_667


def settled_frame(number: int, *, gpu_ms: float = 4.0, upload_ms: float = 1.0, at_ns: int = 10**12) -> Frame:
    """Return frame `number` of 60 fps: a megabyte uploaded, then so much GPU time (every other 0.1 ms more)."""
    frame = Frame(number)
    frame.pts_ns = number * FRAME_NS
    frame.arrive_ns = at_ns + frame.pts_ns
    frame.process_start_ns = frame.arrive_ns
    frame.process_end_ns = frame.process_start_ns + round(upload_ms * MS)
    frame.bytes_uploaded = 1_000_000
    frame.gpu_start_ns = frame.process_end_ns
    frame.gpu_end_ns = frame.gpu_start_ns + round(gpu_ms * MS) + number % 2 * MS // 10
    return frame
