"""The history behind the graphs: drains the frame ring and the telemetry feed, keeps what fits, never grows."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from app.analysis.frame_intervals import display_interval_ms, present_interval_ms
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.records import FRAME_DTYPE, STAMP_FIELDS, FrameArray
from app.core.vocabulary import DisplayTimeSource, Fate
from app.gui.running_deviation import running_sd
from app.ipc.frame_ring import FrameRingReader
from app.telemetry.provider import Reading
from widgets.decimation import FloatArray
from widgets.graph_source import Curve, FrameSample, GraphNote, LossMarks, TimeEvent
from widgets.history import History

FRAME_CAPACITY: Final = 1 << 17
"""Shown frames kept: 36 minutes at 60 fps, 18 at 120; about 30 MB, all of it taken at the start."""

READING_CAPACITY: Final = 8192
"""Readings kept of each metric: an hour and eight minutes at two a second."""

LOSS_CAPACITY: Final = 1 << 16
EVENT_CAPACITY: Final = 1000
JITTER_WINDOW_S: Final = 1.0
BANDWIDTH_WINDOW_S: Final = 0.5
BANDWIDTH_CAPACITY: Final = 8192

READINGS: Final = (
    "pcie_tx_bytes_per_s",
    "pcie_rx_bytes_per_s",
    "gpu_temperature_c",
    "memory_temperature_c",
    "host_temperature_c",
    "gpu_clock_mhz",
    "memory_clock_mhz",
)
"""Telemetry that the graphs show."""

UPLOAD: Final = "upload_bandwidth_bytes_per_s"
_INTERVALS: Final = ("display_interval_ms", "present_interval_ms")
_STAMP_OF: Final = {"display_interval_ms": "displayed_ns", "present_interval_ms": "present_call_ns"}
_SHOWN_DTYPE: Final = np.dtype([("time_s", "f8"), ("interval_ms", "f8"), ("jitter_ms", "f8")])
_POINT_DTYPE: Final = np.dtype([("time_s", "f8"), ("value", "f8")])
_LOSS_DTYPE: Final = np.dtype([("time_s", "f8"), ("fate", "u1")])
_NO_RUN: Final = "no run yet"


class ReadingFeed(Protocol):
    """Where readings come from."""

    def read(self) -> list[Reading]:
        """Return everything since the last read."""
        ...


class LiveSeries:
    """Implements `widgets.graph_source.GraphSource` for a session. GUI thread only."""

    def __init__(self) -> None:
        self._reader: FrameRingReader | None = None
        self._feed: ReadingFeed | None = None
        self._origin_ns = 0
        self._shown = History(_SHOWN_DTYPE, FRAME_CAPACITY)
        self._records = History(FRAME_DTYPE, FRAME_CAPACITY)
        self._losses = History(_LOSS_DTYPE, LOSS_CAPACITY)
        self._readings = {name: History(_POINT_DTYPE, READING_CAPACITY) for name in READINGS}
        self._reasons = dict.fromkeys(READINGS, _NO_RUN)
        self._uploads = UploadBins()
        self._events: deque[TimeEvent] = deque(maxlen=EVENT_CAPACITY)
        self._last: FrameArray = np.zeros(0, FRAME_DTYPE)
        self._metric = _INTERVALS[0]
        self._display_source = DisplayTimeSource.NONE
        self._gpu_is_simulated = False
        self._newest_s = 0.0
        self.lapped = 0
        self.nominal_ms = math.nan

    # --- run ---------------------------------------------------------------------------------------------------------

    def begin(self, origin_ns: int) -> None:
        """Forget the last run; times count from `origin_ns` on."""
        self.end()
        self._origin_ns = origin_ns
        for history in (self._shown, self._records, self._losses, *self._readings.values()):
            history.clear()
        self._reasons = dict.fromkeys(READINGS, "no reading yet")
        self._uploads = UploadBins()
        self._events.clear()
        self._last = np.zeros(0, FRAME_DTYPE)
        self._newest_s, self.lapped, self.nominal_ms = 0.0, 0, math.nan
        self._gpu_is_simulated = False

    def follow(self, reader: FrameRingReader | None, feed: ReadingFeed | None) -> None:
        """Pull from these from now on; the reader is closed by `end`."""
        self._close_reader()
        self._reader, self._feed = reader, feed

    def end(self) -> None:
        """Take what is left and let go of the ring; the history stays."""
        self.pull()
        self._close_reader()
        self._feed = None

    def add_event(self, event: TimeEvent) -> None:
        """Add a vertical line."""
        self._events.append(event)

    def time_s(self, at_ns: int) -> float:
        """Return a stamp as seconds since the run began."""
        return (at_ns - self._origin_ns) / NS_PER_S

    def recent_records(self, seconds: float) -> FrameArray:
        """Return the records of the newest stretch of shown frames: a view, valid until the next `pull`."""
        rows = self._shown.rows
        if not rows.size:
            return self._records.rows
        return self._records.rows[int(np.searchsorted(rows["time_s"], rows["time_s"][-1] - seconds)) :]

    def record_at(self, time_s: float) -> FrameArray | None:
        """Return the record of the shown frame nearest to a time, as an array of one; None when there is none."""
        index = _nearest(self._shown.rows["time_s"], time_s)
        return None if index is None else self._records.rows[index : index + 1].copy()

    def newest_reading(self, metric_id: str) -> float:
        """Return the newest value of a reading; NaN when missing."""
        rows = self._readings[metric_id].rows
        return float(rows["value"][-1]) if rows.size else math.nan

    # --- GraphSource -------------------------------------------------------------------------------------------------

    @property
    def newest_s(self) -> float:
        """Time of the newest data, seconds since the run began."""
        return self._newest_s

    def pull(self) -> bool:
        """Take everything new from the ring and the feed."""
        frames = self._pull_frames()
        readings = self._pull_readings()
        return frames or readings

    def curve(self, metric_id: str) -> Curve:
        """Return the kept history of a metric."""
        if metric_id == self._metric:
            return Curve(self._shown.rows["time_s"], self._shown.rows["interval_ms"])
        if metric_id == "jitter_sd_ms":
            return Curve(self._shown.rows["time_s"], self._shown.rows["jitter_ms"])
        if metric_id == UPLOAD:
            return self._uploads.curve()
        if metric_id in self._readings:
            rows = self._readings[metric_id].rows
            return Curve(rows["time_s"], rows["value"]) if not np.isnan(rows["value"]).all() else _EMPTY
        return _EMPTY

    def losses(self) -> LossMarks:
        """Return the kept losses."""
        return LossMarks(self._losses.rows["time_s"], self._losses.rows["fate"])

    def events(self) -> Sequence[TimeEvent]:
        """Return the kept events."""
        return self._events

    def interval_metric(self) -> str:
        """Return which interval is drawn."""
        return self._metric

    def note(self, graph_id: str) -> GraphNote:
        """Return source, missing reason and simulation of a graph."""
        if graph_id in {"interval", "jitter"}:
            return GraphNote(self._interval_source(), _NO_FRAMES if not self._shown.rows.size else "")
        simulated = self._gpu_is_simulated
        if graph_id == "bandwidth":
            return GraphNote("", self._missing(("pcie_rx_bytes_per_s",)), "PCIe" if simulated else "")
        return GraphNote("", self._missing(("gpu_temperature_c", "gpu_clock_mhz")), "GPU" if simulated else "")

    def sample_at(self, time_s: float) -> FrameSample | None:
        """Return the shown frame nearest to a time, with every metric there."""
        rows = self._shown.rows
        index = _nearest(rows["time_s"], time_s)
        if index is None:
            return None
        at_s = float(rows["time_s"][index])
        values = {self._metric: float(rows["interval_ms"][index]), "jitter_sd_ms": float(rows["jitter_ms"][index])}
        values[UPLOAD] = _value_at(self._uploads.curve(), at_s, BANDWIDTH_WINDOW_S)
        for name, history in self._readings.items():
            values[name] = _value_at(Curve(history.rows["time_s"], history.rows["value"]), at_s, 2.0)
        record = self._records.rows[index]
        return FrameSample(at_s, int(record["frame_id"]), Fate(int(record["fate"])), values)

    # --- frames ------------------------------------------------------------------------------------------------------

    def _pull_frames(self) -> bool:
        if self._reader is None:
            return False
        batch = self._reader.read()
        self.lapped += batch.lapped
        if not batch.frames.size:
            return False
        self._take_losses(batch.frames)
        self._uploads.add(batch.frames, self._origin_ns)
        self._take_shown(batch.frames)
        return True

    def _take_losses(self, frames: FrameArray) -> None:
        lost = frames[frames["fate"] != Fate.DISPLAYED]
        if not lost.size:
            return
        seen_ns = np.max([lost[name] for name in STAMP_FIELDS if name != "due_ns"], axis=0)
        rows = np.zeros(lost.size, _LOSS_DTYPE)
        time_s = np.where(seen_ns == NO_STAMP_NS, self._newest_s, (seen_ns - self._origin_ns) / NS_PER_S)
        rows["time_s"] = _not_before(self._losses.rows["time_s"], time_s)
        rows["fate"] = lost["fate"]
        self._losses.append(rows)

    def _take_shown(self, frames: FrameArray) -> None:
        self._choose_metric(frames)
        stamp = _STAMP_OF[self._metric]
        wanted = frames[stamp] != NO_STAMP_NS
        if self._metric == "display_interval_ms":
            wanted &= frames["fate"] == Fate.DISPLAYED
        shown = frames[wanted]
        if not shown.size:
            return
        shown = shown[np.argsort(shown[stamp], kind="stable")]
        interval_of = display_interval_ms if self._metric == "display_interval_ms" else present_interval_ms
        interval_ms = interval_of(np.concatenate((self._last, shown)))[self._last.size :]
        self._append_shown(shown, (shown[stamp] - self._origin_ns) / NS_PER_S, interval_ms)
        self._last = shown[-1:].copy()

    def _choose_metric(self, frames: FrameArray) -> None:
        sources = frames["display_time_source"][frames["fate"] == Fate.DISPLAYED]
        if not sources.size:
            return
        self._display_source = DisplayTimeSource(int(sources[-1]))
        metric_id = _INTERVALS[0] if self._display_source.is_display_truth else _INTERVALS[1]
        if metric_id != self._metric:  # another series: no interval may span the two
            self._metric = metric_id
            self._last = np.zeros(0, FRAME_DTYPE)

    def _append_shown(self, records: FrameArray, time_s: FloatArray, interval_ms: FloatArray) -> None:
        rows = np.zeros(records.size, _SHOWN_DTYPE)
        rows["time_s"] = _not_before(self._shown.rows["time_s"], time_s)
        rows["interval_ms"] = interval_ms
        before = self._shown.rows
        before = before[int(np.searchsorted(before["time_s"], rows["time_s"][0] - JITTER_WINDOW_S)) :]
        both_s = np.concatenate((before["time_s"], rows["time_s"]))
        both_ms = np.concatenate((before["interval_ms"], interval_ms))
        rows["jitter_ms"] = running_sd(both_s, both_ms, JITTER_WINDOW_S, before.size)
        self._shown.append(rows)
        self._records.append(records)
        self._newest_s = max(self._newest_s, float(rows["time_s"][-1]))

    def _interval_source(self) -> str:
        if self._display_source is DisplayTimeSource.NONE:
            return ""
        if self._display_source.is_display_truth:
            return f"display time: {self._display_source.label}"
        return f"no display time here (only {self._display_source.label}): intervals of present calls"

    # --- telemetry ---------------------------------------------------------------------------------------------------

    def _pull_readings(self) -> bool:
        if self._feed is None:
            return False
        readings = [reading for reading in self._feed.read() if reading.metric in self._readings]
        for reading in readings:
            self._take_reading(reading)
        return bool(readings)

    def _take_reading(self, reading: Reading) -> None:
        row = np.array([(self.time_s(reading.at_ns), reading.value)], _POINT_DTYPE)
        self._readings[reading.metric].append(row)
        self._reasons[reading.metric] = reading.reason
        if not reading.metric.startswith("host_"):
            self._gpu_is_simulated = reading.provider == "simulated"
        self._newest_s = max(self._newest_s, float(row["time_s"][0]))

    def set_missing(self, reasons: dict[str, str]) -> None:
        """Say why readings will not come (metric → reason), where nobody will send one."""
        self._reasons.update({name: reason for name, reason in reasons.items() if name in self._readings})

    def _missing(self, names: tuple[str, ...]) -> str:
        reasons = dict.fromkeys(self._reasons[name] for name in names if not self.curve(name).x.size)
        return "; ".join(reason for reason in reasons if reason)

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None


class UploadBins:
    """Bytes copied to the device in windows of half a second by `process_end_ns`; unfinished windows are not shown."""

    def __init__(self) -> None:
        self._bytes = np.zeros(BANDWIDTH_CAPACITY)
        self._seen = np.zeros(BANDWIDTH_CAPACITY, np.bool_)
        self._first = 0
        self._newest = -1
        self._curve: Curve | None = None

    def add(self, frames: FrameArray, origin_ns: int) -> None:
        """Count the uploads of these frames."""
        frames = frames[(frames["process_end_ns"] != NO_STAMP_NS) & (frames["bytes_uploaded"] > 0)]
        if not frames.size:
            return
        window_ns = int(BANDWIDTH_WINDOW_S * NS_PER_S)
        bins = (frames["process_end_ns"] - origin_ns) // window_ns
        self._make_room(int(bins.max()))
        kept = bins >= self._first
        places = (bins - self._first)[kept].astype(np.intp)
        np.add.at(self._bytes, places, frames["bytes_uploaded"][kept].astype(np.float64))
        self._seen[places] = True
        self._curve = None

    def curve(self) -> Curve:
        """Return bytes per second at the middle of each finished window; NaN where nothing was uploaded at all."""
        if self._curve is None:
            count = max(self._newest - self._first - 1, 0)  # the newest two may still receive late records
            middle_s = (np.arange(self._first, self._first + count, dtype=np.float64) + 0.5) * BANDWIDTH_WINDOW_S
            rate = np.where(self._seen[:count], self._bytes[:count] / BANDWIDTH_WINDOW_S, np.nan)
            first_seen = int(np.argmax(self._seen[:count])) if count else 0
            self._curve = Curve(middle_s[first_seen:], rate[first_seen:])
        return self._curve

    def _make_room(self, newest: int) -> None:
        self._newest = max(self._newest, newest)
        shift = self._newest - self._first - BANDWIDTH_CAPACITY + 1
        if shift > 0:
            shift = max(shift, BANDWIDTH_CAPACITY // 4)
            for array in (self._bytes, self._seen):
                kept = array[min(shift, array.size) :].copy()
                array[: kept.size] = kept
                array[kept.size :] = 0
            self._first += shift


_EMPTY: Final = Curve(np.empty(0), np.empty(0))
_NO_FRAMES: Final = "no frame has been shown yet"


def _not_before(kept_s: FloatArray, time_s: FloatArray) -> FloatArray:
    """Return times that never run backwards: records are written when a fate is known, which can be a little later."""
    start = kept_s[-1:] if kept_s.size else time_s[:1]
    ascending: FloatArray = np.maximum.accumulate(np.concatenate((start, time_s)))[1:]
    return ascending


def _nearest(times_s: npt.NDArray[np.float64], time_s: float) -> int | None:
    if not times_s.size:
        return None
    right = min(int(np.searchsorted(times_s, time_s)), times_s.size - 1)
    left = max(right - 1, 0)
    return left if time_s - times_s[left] <= times_s[right] - time_s else right


def _value_at(curve: Curve, time_s: float, within_s: float) -> float:
    index = _nearest(curve.x, time_s)
    if index is None or abs(curve.x[index] - time_s) > within_s:
        return math.nan
    return float(curve.y[index])
