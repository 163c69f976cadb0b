"""Unevenness: of displayed intervals, and of arrivals at the source."""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from app.analysis.array_types import BoolArray, FloatArray, IndexArray, Int64Array
from app.analysis.frame_intervals import IntervalSeries
from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.core.records import FrameArray

TRAILING_NS: Final = 500 * NS_PER_MS
STUTTER_RATIO: Final = 2.5

_RFC3550_GAIN: Final = 1 / 16
_RFC3550_MEMORY: Final = 512
"""Samples that still count: (15/16)^512 is 4e-15, below what a float64 of the sum can show."""


def jitter_sd_ms(interval_ms: FloatArray) -> float:
    """Return the standard deviation (N−1) of intervals without NaN; NaN of fewer than two."""
    return float(interval_ms.std(ddof=1)) if len(interval_ms) >= 2 else math.nan


def jitter_rms_ratio(interval_ms: FloatArray, nominal_ms: float) -> float:
    """Return RMS(interval − V) ÷ V (mpv's vsync-jitter); NaN of fewer than two, or when V is NaN."""
    if len(interval_ms) < 2 or not nominal_ms > 0:
        return math.nan
    return float(np.sqrt(np.mean(np.square(interval_ms - nominal_ms)))) / nominal_ms


def adaptive_sd_ms(series: IntervalSeries) -> float:
    """Return RMS(interval − its trailing 500 ms mean), ms; NaN of fewer than two intervals."""
    if len(series.interval_ns) < 2:
        return math.nan
    return float(np.sqrt(np.mean(np.square(series.interval_ms - trailing_mean_ms(series)))))


def trailing_mean_ms(series: IntervalSeries) -> FloatArray:
    """Return for each interval the mean of those that ended in the 500 ms up to its end, itself included, ms.

    The window is a time, not a count, and begins anew with each segment.
    """
    first = _window_starts(series.at_ns, series.segment, TRAILING_NS)
    last = np.arange(1, len(first) + 1)
    return _mean_between(series.interval_ns, first, last)


def rolling_sd_ms(series: IntervalSeries, window_ns: int) -> FloatArray:
    """Return for each interval the standard deviation (N−1) of those that ended in the `window_ns` up to its end, ms.

    NaN where the window holds fewer than two. This is jitter_sd_ms as a curve over time.
    """
    first = _window_starts(series.at_ns, series.segment, window_ns)
    last = np.arange(1, len(first) + 1)
    count = last - first
    # Squares of deviations from the overall mean: squares of the intervals themselves would cancel digits away.
    centred = series.interval_ms - (series.interval_ms.mean() if len(count) else 0.0)
    total = _sum_between(centred, first, last)
    squares = _sum_between(np.square(centred), first, last)
    variance = np.full(len(count), np.nan)
    np.divide(squares - np.square(total) / np.maximum(count, 1), count - 1, out=variance, where=count >= 2)
    deviation: FloatArray = np.sqrt(np.maximum(variance, 0.0))
    return deviation


def stutter_time_ratio(series: IntervalSeries) -> float:
    """Return the share of time in intervals above 2.5 × the trailing mean; NaN of fewer than two intervals."""
    if len(series.interval_ns) < 2:
        return math.nan
    stutter_ns = series.interval_ns[stutters(series)].sum()
    return float(stutter_ns / series.interval_ns.sum())


def stutters(series: IntervalSeries) -> BoolArray:
    """Tell for each interval whether it exceeds 2.5 × the mean of the 500 ms before it.

    A first pass finds spikes against the plain mean of what came before; the second leaves those out of the mean, so
    that a spike raises neither its own threshold nor the next one's. The first interval of a segment has nothing before
    it and is none.
    """
    everything = np.ones(len(series.interval_ns), np.bool_)
    spikes = series.interval_ns / NS_PER_MS > STUTTER_RATIO * _mean_before_ms(series, everything)
    return series.interval_ns / NS_PER_MS > STUTTER_RATIO * _mean_before_ms(series, ~spikes)


def arrival_jitter_ms(frames: FrameArray) -> float:
    """Return the RFC 3550 interarrival jitter after the last frame of the latest segment, ms.

    NaN when fewer than two of its frames have both an arrival and a pts. RFC 3550 section 6.4.1, with pts in place of
    the RTP timestamp.
    """
    transit_ns = _transit_ns(frames)
    if len(transit_ns) < 2:
        return math.nan
    steps = np.abs(np.diff(transit_ns[-_RFC3550_MEMORY - 1 :])) / NS_PER_MS
    weights = _RFC3550_GAIN * (1 - _RFC3550_GAIN) ** np.arange(len(steps) - 1, -1, -1)
    return float(np.dot(weights, steps))


def arrivals_counted(frames: FrameArray) -> int:
    """Return how many frames `arrival_jitter_ms` is made of: those of the latest segment with an arrival and a pts."""
    return len(_transit_ns(frames))


def _transit_ns(frames: FrameArray) -> Int64Array:
    known = np.flatnonzero((frames["arrive_ns"] != NO_STAMP_NS) & (frames["pts_ns"] != NO_STAMP_NS))
    segment = frames["segment"][known]
    latest = known[segment == segment.max(initial=0)]
    order = latest[np.argsort(frames["frame_id"][latest], kind="stable")]
    transit: Int64Array = frames["arrive_ns"][order] - frames["pts_ns"][order]
    return transit


def _window_starts(at_ns: Int64Array, segment: Int64Array, window_ns: int) -> IndexArray:
    """Return for each interval the first one whose end lies in the window up to its own end, in the same segment."""
    starts = _segment_starts(segment)
    if np.all(at_ns[1:] >= at_ns[:-1]):
        return np.maximum(np.searchsorted(at_ns, at_ns - window_ns, side="right"), starts)
    first = np.empty(len(at_ns), np.intp)  # segments of several sources, side by side in time
    for start in np.unique(starts):
        of_segment = starts == start
        part_ns = at_ns[of_segment]
        first[of_segment] = start + np.searchsorted(part_ns, part_ns - window_ns, side="right")
    return first


def _segment_starts(segment: Int64Array) -> IndexArray:
    begins = np.ones(len(segment), np.bool_)
    begins[1:] = segment[1:] != segment[:-1]
    return np.maximum.accumulate(np.where(begins, np.arange(len(segment)), 0))


def _mean_before_ms(series: IntervalSeries, counted: BoolArray) -> FloatArray:
    """Mean of the counted intervals before each, over the last 500 ms that they themselves add up to; NaN if none.

    Time is measured in counted intervals only, so that a long spike does not push everything else out of the window.
    """
    length_ns = np.where(counted, series.interval_ns, 0)
    elapsed_ns = np.concatenate(([0], np.cumsum(length_ns)))
    number = np.concatenate(([0], np.cumsum(counted)))
    last = np.arange(len(length_ns))
    # The interval in which the window begins counts whole: one longer than the window still has a predecessor.
    begins = np.searchsorted(elapsed_ns, elapsed_ns[last] - TRAILING_NS, side="right") - 1
    first = np.maximum(begins, _segment_starts(series.segment))
    count = number[last] - number[first]
    mean = np.full(len(length_ns), np.nan)
    np.divide((elapsed_ns[last] - elapsed_ns[first]) / NS_PER_MS, count, out=mean, where=count > 0)
    return mean


def _mean_between(interval_ns: Int64Array, first: IndexArray, last: IndexArray) -> FloatArray:
    total_ns = np.concatenate(([0], np.cumsum(interval_ns)))
    mean: FloatArray = (total_ns[last] - total_ns[first]) / NS_PER_MS / (last - first)
    return mean


def _sum_between(values: FloatArray, first: IndexArray, last: IndexArray) -> FloatArray:
    total = np.concatenate(([0.0], np.cumsum(values)))
    return total[last] - total[first]
