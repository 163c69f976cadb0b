"""Where the time from arrival to display goes, frame by frame. Every function returns one value a record.

A picture made up in the place of a frame has no latency of its own: it shows no data that arrived. Only the animation
error, which is what the eye sees, counts it.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from app.analysis.array_types import BoolArray, FloatArray, Int64Array
from app.analysis.frame_intervals import picture_rows
from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.core.metrics import STAGES
from app.core.records import FrameArray, difference_ms
from app.core.vocabulary import Fate

_BOUNDARIES: Final = (
    ("decode_start_ns", "stage_ms.decode_wait"),
    ("decode_end_ns", "stage_ms.decode"),
    ("process_start_ns", "stage_ms.decode_wait"),
    ("process_end_ns", "stage_ms.process"),
    ("acquire_start_ns", "stage_ms.queue_wait"),
    ("acquire_end_ns", "stage_ms.acquire_wait"),
    ("submit_ns", "stage_ms.submit"),
    ("gpu_start_ns", "stage_ms.submit"),
    ("gpu_end_ns", "stage_ms.gpu"),
    ("present_return_ns", "stage_ms.present"),
    ("displayed_ns", "stage_ms.display_wait"),
)
"""Boundaries after the arrival in pipeline order, each with the stage that ends there.

GPU work overlaps the present call, so `present` is what of the call is left after the GPU was done, and
`present_call_ns`, which lies between two others, is no boundary. Waiting for the decoder and waiting in the decode
queue are one stage: a full decode queue moves the one into the other.
"""


def source_to_display_ms(frames: FrameArray) -> FloatArray:
    """Return display time − arrival, ms; NaN where the frame was not displayed."""
    return difference_ms(_displayed_ns(frames), frames["arrive_ns"])


def pacing_error_ms(frames: FrameArray) -> FloatArray:
    """Return display time − due time, ms, positive is late; NaN where not displayed or without due time."""
    return difference_ms(_displayed_ns(frames), frames["due_ns"])


def frames_behind(frames: FrameArray) -> FloatArray:
    """Return source_to_display_ms ÷ the source's nominal interval; NaN where either is missing."""
    interval_ns = frames["source_interval_ns"]
    result = np.full(len(frames), np.nan)
    known = (interval_ns != NO_STAMP_NS) & (interval_ns > 0)
    np.divide(source_to_display_ms(frames) * NS_PER_MS, interval_ns, out=result, where=known)
    return result


def animation_error_ms(frames: FrameArray) -> FloatArray:
    """Return (pts step) − (display step) to the picture displayed before, ms; a made-up one stands at its frame's pts.

    NaN for the first frame of a segment, after a change of display-time source, and where a pts is missing or does not
    advance: unknown is never 0. PresentMon's MsAnimationError with the source's pts as simulation time.
    """
    rows = picture_rows(frames)
    pts_ns, displayed_ns = frames["pts_ns"][rows], frames["displayed_ns"][rows]
    segment, source = frames["segment"][rows], frames["display_time_source"][rows]
    comparable = (
        (segment[1:] == segment[:-1])
        & (source[1:] == source[:-1])
        & (pts_ns[:-1] != NO_STAMP_NS)
        & (pts_ns[1:] > pts_ns[:-1])
    )
    error_ns = np.diff(pts_ns) - np.diff(displayed_ns)
    result = np.full(len(frames), np.nan)
    result[rows[1:]] = np.where(comparable, error_ns / NS_PER_MS, np.nan)
    return result


def stage_ns(frames: FrameArray) -> dict[str, Int64Array]:
    """Return what each stage took, whole ns by stage metric id; `NO_STAMP_NS` where it cannot be told.

    The stages that can be told add up to displayed − arrive exactly, whatever the stamps:
    - a boundary that is missing ends no stage; its time belongs to the next boundary that is there (without GPU stamps,
      `present` runs from the submission and `gpu` is missing);
    - a boundary stamped before its predecessor (a GPU clock is mapped with an error) counts as simultaneous with it;
      one stamped after the display time (a display-time source that only knows when the call returned) counts as
      simultaneous with the display.
    A frame without arrival or display time has no stages.
    """
    displayed_ns = _displayed_ns(frames)
    whole = (displayed_ns != NO_STAMP_NS) & (frames["arrive_ns"] != NO_STAMP_NS)
    stages = {stage: np.full(len(frames), NO_STAMP_NS) for stage in STAGES}
    reached_ns = frames["arrive_ns"].copy()
    for field, stage in _BOUNDARIES:
        stamp_ns = displayed_ns if field == "displayed_ns" else frames[field]
        known = whole & (stamp_ns != NO_STAMP_NS)
        boundary_ns = np.minimum(np.maximum(stamp_ns, reached_ns), displayed_ns)
        _add(stages[stage], boundary_ns - reached_ns, known)
        reached_ns = np.where(known, boundary_ns, reached_ns)
    return stages


def stage_ms(frames: FrameArray) -> dict[str, FloatArray]:
    """Return `stage_ns` in ms, NaN where a stage cannot be told."""
    return {stage: _to_ms(values) for stage, values in stage_ns(frames).items()}


def _displayed_ns(frames: FrameArray) -> Int64Array:
    displayed: Int64Array = np.where(frames["fate"] == Fate.DISPLAYED, frames["displayed_ns"], NO_STAMP_NS)
    return displayed


def _add(total_ns: Int64Array, part_ns: Int64Array, known: BoolArray) -> None:
    so_far = np.where(total_ns == NO_STAMP_NS, 0, total_ns)
    np.add(so_far, part_ns, out=total_ns, where=known)


def _to_ms(duration_ns: Int64Array) -> FloatArray:
    return np.where(duration_ns == NO_STAMP_NS, np.nan, duration_ns / NS_PER_MS)
