"""Intervals between pictures: of present calls and of display times, never across a segment or between two sources."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from app.analysis.array_types import BoolArray, FloatArray, IndexArray, Int64Array
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.records import FLAG_INTERPOLATED, FrameArray
from app.core.vocabulary import Fate, PresentMode


class IntervalSeries(NamedTuple):
    """Intervals segment by segment, in order of time in each, none missing; all arrays have the same length.

    Attributes:
        at_ns: when each interval ended, CLOCK_MONOTONIC.
        interval_ns: its length, whole ns.
        segment: serial of its segment.
        rows: index of the frame that ended it, in the array the series was made from.
    """

    at_ns: Int64Array
    interval_ns: Int64Array
    segment: Int64Array
    rows: IndexArray

    @property
    def interval_ms(self) -> FloatArray:
        """Return the intervals in ms."""
        return self.interval_ns / NS_PER_MS


def is_made_up(frames: FrameArray) -> BoolArray:
    """Tell for each record whether a picture made up from its neighbours was on the screen in its frame's place."""
    flagged: BoolArray = (frames["flags"] & FLAG_INTERPOLATED != 0) & (frames["displayed_ns"] != NO_STAMP_NS)
    return flagged


def is_on_screen(frames: FrameArray) -> BoolArray:
    """Tell for each record whether a picture was on the screen: its frame, or one made up in its frame's place.

    What the eye sees (intervals, jitter, rates, cadence, animation error) is made of pictures; what becomes of frames
    (latency, pacing, losses) is not, and leaves made-up pictures out.
    """
    on_screen: BoolArray = (frames["fate"] == Fate.DISPLAYED) | is_made_up(frames)
    return on_screen


def displayed_rows(frames: FrameArray) -> IndexArray:
    """Return the indexes of displayed frames that have a display time, by segment and display time."""
    shown = (frames["fate"] == Fate.DISPLAYED) & (frames["displayed_ns"] != NO_STAMP_NS)
    return _rows_in_order(frames, "displayed_ns", shown)


def picture_rows(frames: FrameArray) -> IndexArray:
    """Return the indexes of pictures on the screen that have a display time, made-up ones included, in that order."""
    shown = is_on_screen(frames) & (frames["displayed_ns"] != NO_STAMP_NS)
    return _rows_in_order(frames, "displayed_ns", shown)


def display_intervals(frames: FrameArray) -> IntervalSeries:
    """Return the intervals between display times of one segment and one display-time source, of all pictures.

    The order of the records does not matter: they are written when a fate is known, not when a frame is shown.
    """
    rows = picture_rows(frames)
    return _intervals(frames, "displayed_ns", rows, _same(frames["display_time_source"], rows))


def present_intervals(frames: FrameArray) -> IntervalSeries:
    """Return the intervals between present calls of one segment, superseded and made-up pictures included."""
    rows = _rows_in_order(frames, "present_call_ns", frames["present_call_ns"] != NO_STAMP_NS)
    return _intervals(frames, "present_call_ns", rows, np.ones(max(len(rows) - 1, 0), np.bool_))


def display_interval_ms(frames: FrameArray) -> FloatArray:
    """Return per frame the interval that its display ended, ms; NaN where missing (see the metric table)."""
    return _per_frame(display_intervals(frames), len(frames))


def present_interval_ms(frames: FrameArray) -> FloatArray:
    """Return per frame the interval that its present call ended, ms; NaN where missing."""
    return _per_frame(present_intervals(frames), len(frames))


def nominal_interval_ms(
    frames: FrameArray, *, refresh_hz: float | None, present_mode: PresentMode | None, preview_fps: float = 0.0
) -> float:
    """Return the interval that a perfect run would show, ms; NaN when nothing defines one.

    It is the longest of the source's interval, that of `preview_fps` (0: none), and the refresh period, which binds
    every present mode but IMMEDIATE.
    """
    known = frames["source_interval_ns"][frames["source_interval_ns"] != NO_STAMP_NS]
    candidates = [float(np.median(known)) / NS_PER_MS] if len(known) else []
    if preview_fps > 0:
        candidates.append(1e3 / preview_fps)
    if refresh_hz and present_mode is not PresentMode.IMMEDIATE:
        candidates.append(1e3 / refresh_hz)
    return max(candidates, default=float("nan"))


def after_warmup(frames: FrameArray, start_ns: int, warmup_s: float) -> FrameArray:
    """Return the frames of one source behind the last that arrived (or, without an arrival, was presented) in it.

    The cut is one place in the order of frames. A stream with reordered frames delivers some early, and to leave out
    single frames behind the cut would make up intervals between those that are left.
    """
    if warmup_s <= 0 or not len(frames):
        return frames
    first_seen_ns = np.where(frames["arrive_ns"] != NO_STAMP_NS, frames["arrive_ns"], frames["present_call_ns"])
    early = (first_seen_ns != NO_STAMP_NS) & (first_seen_ns < start_ns + round(warmup_s * NS_PER_S))
    if not early.any():
        return frames
    measured: FrameArray = frames[frames["frame_id"] > frames["frame_id"][early].max()]
    return measured


def _rows_in_order(frames: FrameArray, field: str, mask: BoolArray) -> IndexArray:
    """Order by segment first: segments of several sources lie side by side in time, and only in one are neighbours."""
    rows = np.flatnonzero(mask)
    ordered: IndexArray = rows[np.lexsort((frames[field][rows], frames["segment"][rows]))]
    return ordered


def _same(column: Int64Array, rows: IndexArray) -> BoolArray:
    values = column[rows]
    same: BoolArray = values[1:] == values[:-1]
    return same


def _intervals(frames: FrameArray, field: str, rows: IndexArray, comparable: BoolArray) -> IntervalSeries:
    stamps_ns = frames[field][rows]
    keep = np.flatnonzero(comparable & _same(frames["segment"], rows)) + 1
    return IntervalSeries(
        at_ns=stamps_ns[keep],
        interval_ns=stamps_ns[keep] - stamps_ns[keep - 1],
        segment=frames["segment"][rows[keep]].astype(np.int64),
        rows=rows[keep],
    )


def _per_frame(series: IntervalSeries, count: int) -> FloatArray:
    result = np.full(count, np.nan)
    result[series.rows] = series.interval_ms
    return result
