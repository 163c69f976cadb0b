"""The history of one source: frames shown, with interval and jitter, and frames lost. Never mixed with another's."""

from __future__ import annotations

import math
from typing import Final

import numpy as np
import numpy.typing as npt

from app.analysis.frame_intervals import display_interval_ms, is_on_screen, present_interval_ms
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.records import FRAME_DTYPE, STAMP_FIELDS, FrameArray
from app.core.vocabulary import LOSS_CLASSES, DisplayTimeSource, Fate
from app.gui.running_deviation import running_sd
from widgets.decimation import FloatArray
from widgets.history import History

JITTER_WINDOW_S: Final = 1.0
INTERVALS: Final = ("display_interval_ms", "present_interval_ms")
_STAMP_OF: Final = {"display_interval_ms": "displayed_ns", "present_interval_ms": "present_call_ns"}
_SHOWN_DTYPE: Final = np.dtype([("time_s", "f8"), ("interval_ms", "f8"), ("jitter_ms", "f8")])
_LOSS_DTYPE: Final = np.dtype([("time_s", "f8"), ("fate", "u1")])


class SourceSeries:
    """Takes the records of one source in; memory is taken at the start and never grows.

    A picture made up by interpolation counts as a picture on the screen; the frame in whose place it was shown counts
    as decimated.

    Args:
        capacity: shown frames kept, and half as many losses.

    Attributes:
        shown: time, interval and jitter of each picture shown. records: its record, row by row.
        losses: time and fate of each frame lost. counts: frames by fate since the run began.
        metric: the interval that is drawn. display_source: where display times come from.
        newest_s: time of the newest picture.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.shown = History(_SHOWN_DTYPE, capacity)
        self.records = History(FRAME_DTYPE, capacity)
        self.losses = History(_LOSS_DTYPE, max(capacity // 2, 1))
        self.clear()

    def clear(self) -> None:
        """Forget everything; the memory stays."""
        for history in (self.shown, self.records, self.losses):
            history.clear()
        self.counts: npt.NDArray[np.int64] = np.zeros(max(Fate) + 1, np.int64)
        self.metric = INTERVALS[0]
        self.display_source = DisplayTimeSource.NONE
        self.newest_s = 0.0
        self.nominal_ms = math.nan
        self._last: FrameArray = np.zeros(0, FRAME_DTYPE)

    @property
    def lost(self) -> dict[Fate, int]:
        """Frames lost since the run began, by class, of those whose record was read."""
        return {fate: int(self.counts[fate]) for fate in LOSS_CLASSES}

    def recent_records(self, seconds: float) -> FrameArray:
        """Return the records of the newest stretch of pictures shown: a view, valid until the next `take`."""
        rows = self.shown.rows
        if not rows.size:
            return self.records.rows
        return self.records.rows[int(np.searchsorted(rows["time_s"], rows["time_s"][-1] - seconds)) :]

    def index_at(self, time_s: float) -> int | None:
        """Return which picture is nearest to a time; None when there is none."""
        return nearest(self.shown.rows["time_s"], time_s)

    def take(self, frames: FrameArray, origin_ns: int) -> None:
        """Take records in, in the order in which they were written.

        Args:
            origin_ns: when the run began, CLOCK_MONOTONIC.
        """
        if not frames.size:
            return
        self.counts += np.bincount(frames["fate"], minlength=self.counts.size)
        self._take_losses(frames, origin_ns)
        self._take_shown(frames, origin_ns)

    def _take_losses(self, frames: FrameArray, origin_ns: int) -> None:
        lost = frames[frames["fate"] != Fate.DISPLAYED]
        if not lost.size:
            return
        seen_ns = np.max([lost[name] for name in STAMP_FIELDS if name != "due_ns"], axis=0)
        rows = np.zeros(lost.size, _LOSS_DTYPE)
        time_s = np.where(seen_ns == NO_STAMP_NS, self.newest_s, (seen_ns - origin_ns) / NS_PER_S)
        rows["time_s"] = _not_before(self.losses.rows["time_s"], time_s)
        rows["fate"] = lost["fate"]
        self.losses.append(rows)

    def _take_shown(self, frames: FrameArray, origin_ns: int) -> None:
        self._choose_metric(frames)
        stamp = _STAMP_OF[self.metric]
        wanted = frames[stamp] != NO_STAMP_NS
        if self.metric == "display_interval_ms":
            wanted &= is_on_screen(frames)
        shown = frames[wanted]
        if not shown.size:
            return
        shown = shown[np.argsort(shown[stamp], kind="stable")]
        interval_of = display_interval_ms if self.metric == "display_interval_ms" else present_interval_ms
        interval_ms = interval_of(np.concatenate((self._last, shown)))[self._last.size :]
        self._append_shown(shown, (shown[stamp] - origin_ns) / NS_PER_S, interval_ms)
        self._last = shown[-1:].copy()

    def _choose_metric(self, frames: FrameArray) -> None:
        sources = frames["display_time_source"][is_on_screen(frames)]
        if not sources.size:
            return
        self.display_source = DisplayTimeSource(int(sources[-1]))
        metric_id = INTERVALS[0] if self.display_source.is_display_truth else INTERVALS[1]
        if metric_id != self.metric:  # another series: no interval may span the two
            self.metric = metric_id
            self._last = np.zeros(0, FRAME_DTYPE)

    def _append_shown(self, records: FrameArray, time_s: FloatArray, interval_ms: FloatArray) -> None:
        rows = np.zeros(records.size, _SHOWN_DTYPE)
        rows["time_s"] = _not_before(self.shown.rows["time_s"], time_s)
        rows["interval_ms"] = interval_ms
        before = self.shown.rows
        before = before[int(np.searchsorted(before["time_s"], rows["time_s"][0] - JITTER_WINDOW_S)) :]
        both_s = np.concatenate((before["time_s"], rows["time_s"]))
        both_ms = np.concatenate((before["interval_ms"], interval_ms))
        rows["jitter_ms"] = running_sd(both_s, both_ms, JITTER_WINDOW_S, before.size)
        self.shown.append(rows)
        self.records.append(records)
        self.newest_s = max(self.newest_s, float(rows["time_s"][-1]))


def nearest(times_s: npt.NDArray[np.float64], time_s: float) -> int | None:
    """Return the index of the time that is nearest; None when there is none.

    Args:
        times_s: ascending.
    """
    if not times_s.size:
        return None
    right = min(int(np.searchsorted(times_s, time_s)), times_s.size - 1)
    left = max(right - 1, 0)
    return left if time_s - times_s[left] <= times_s[right] - time_s else right


def _not_before(kept_s: FloatArray, time_s: FloatArray) -> FloatArray:
    """Return times that never run backwards: records are written when a fate is known, which can be a little later."""
    start = kept_s[-1:] if kept_s.size else time_s[:1]
    ascending: FloatArray = np.maximum.accumulate(np.concatenate((start, time_s)))[1:]
    return ascending
