"""The history behind the graphs: drains the frame ring and the telemetry feed, keeps what fits, never grows."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from typing import Final, Protocol

import numpy as np

from app.core.clock import NS_PER_S
from app.core.records import FrameArray
from app.core.vocabulary import DisplayTimeSource, Fate
from app.gui.source_series import SourceSeries, nearest
from app.gui.upload_bins import BANDWIDTH_WINDOW_S, UploadBins
from app.ipc.frame_ring import FrameRingReader
from app.telemetry.provider import Reading
from widgets.graph_source import Curve, FrameSample, GraphNote, LossMarks, TimeEvent
from widgets.history import History

FRAME_CAPACITY: Final = 1 << 17
"""Shown frames kept of all sources together: of one, 36 minutes at 60 fps, 18 at 120; about 30 MB."""

READING_CAPACITY: Final = 8192
"""Readings kept of each metric: an hour and eight minutes at two a second."""

EVENT_CAPACITY: Final = 1000

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
_POINT_DTYPE: Final = np.dtype([("time_s", "f8"), ("value", "f8")])
_NO_RUN: Final = "no run yet"


class ReadingFeed(Protocol):
    """Where readings come from."""

    def read(self) -> list[Reading]:
        """Return everything since the last read."""
        ...


class LiveSeries:
    """Implements `widgets.graph_source.GraphSource` for a session. GUI thread only.

    Frames are kept by source; curves, losses, samples and records are those of the chosen one. Uploads and readings are
    of all sources together, as the link and the GPU see them.
    """

    def __init__(self) -> None:
        self._reader: FrameRingReader | None = None
        self._feed: ReadingFeed | None = None
        self._origin_ns = 0
        self._sources = [SourceSeries(FRAME_CAPACITY)]
        self._chosen = 0
        self._readings = {name: History(_POINT_DTYPE, READING_CAPACITY) for name in READINGS}
        self._reasons = dict.fromkeys(READINGS, _NO_RUN)
        self._uploads = UploadBins()
        self._events: deque[tuple[TimeEvent, int | None]] = deque(maxlen=EVENT_CAPACITY)
        self._gpu_is_simulated = False
        self._newest_s = 0.0
        self.lapped = 0

    # --- run ---------------------------------------------------------------------------------------------------------

    def begin(self, origin_ns: int, source_count: int = 1) -> None:
        """Forget the last run; times count from `origin_ns` on."""
        self.end()
        self._origin_ns = origin_ns
        if source_count != len(self._sources):
            self._sources = []  # the old memory goes before the new is taken
            self._sources = [SourceSeries(FRAME_CAPACITY // source_count) for _ in range(source_count)]
        for source in self._sources:
            source.clear()
        for history in self._readings.values():
            history.clear()
        self._chosen = 0
        self._reasons = dict.fromkeys(READINGS, "no reading yet")
        self._uploads = UploadBins()
        self._events.clear()
        self._newest_s, self.lapped = 0.0, 0
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

    def add_event(self, event: TimeEvent, source_index: int | None = None) -> None:
        """Add a vertical line; one that concerns a source is drawn while that is chosen."""
        self._events.append((event, source_index))

    def time_s(self, at_ns: int) -> float:
        """Return a stamp as seconds since the run began."""
        return (at_ns - self._origin_ns) / NS_PER_S

    @property
    def source_count(self) -> int:
        """How many sources the run has."""
        return len(self._sources)

    @property
    def chosen(self) -> int:
        """Which source is shown, from 0."""
        return self._chosen

    def choose(self, index: int) -> None:
        """Show another source."""
        if not 0 <= index < len(self._sources):
            raise ValueError(f"there is no source {index} of {len(self._sources)}")
        self._chosen = index

    @property
    def shown_source(self) -> SourceSeries:
        """The history of the chosen source."""
        return self._sources[self._chosen]

    def recent_records(self, seconds: float) -> FrameArray:
        """Return the records of the newest stretch of shown frames: a view, valid until the next `pull`."""
        return self.shown_source.recent_records(seconds)

    def record_at(self, time_s: float) -> FrameArray | None:
        """Return the record of the shown frame nearest to a time, as an array of one; None when there is none."""
        index = self.shown_source.index_at(time_s)
        return None if index is None else self.shown_source.records.rows[index : index + 1].copy()

    def newest_reading(self, metric_id: str) -> float:
        """Return the newest value of a reading; NaN when missing."""
        rows = self._readings[metric_id].rows
        return float(rows["value"][-1]) if rows.size else math.nan

    # --- GraphSource -------------------------------------------------------------------------------------------------

    @property
    def newest_s(self) -> float:
        """Time of the newest data, seconds since the run began."""
        return self._newest_s

    @property
    def nominal_ms(self) -> float:
        """Interval that a perfect run of the chosen source would show; NaN when nothing defines one."""
        return self.shown_source.nominal_ms

    @nominal_ms.setter
    def nominal_ms(self, nominal_ms: float) -> None:
        self.shown_source.nominal_ms = nominal_ms

    def pull(self) -> bool:
        """Take everything new from the ring and the feed."""
        frames = self._pull_frames()
        readings = self._pull_readings()
        return frames or readings

    def curve(self, metric_id: str) -> Curve:
        """Return the kept history of a metric."""
        shown = self.shown_source.shown.rows
        if metric_id == self.shown_source.metric:
            return Curve(shown["time_s"], shown["interval_ms"])
        if metric_id == "jitter_sd_ms":
            return Curve(shown["time_s"], shown["jitter_ms"])
        if metric_id == UPLOAD:
            return self._uploads.curve()
        if metric_id in self._readings:
            rows = self._readings[metric_id].rows
            return Curve(rows["time_s"], rows["value"]) if not np.isnan(rows["value"]).all() else _EMPTY
        return _EMPTY

    def losses(self) -> LossMarks:
        """Return the kept losses."""
        rows = self.shown_source.losses.rows
        return LossMarks(rows["time_s"], rows["fate"])

    def events(self) -> Sequence[TimeEvent]:
        """Return the kept events of the run and of the chosen source."""
        return [event for event, source_index in self._events if source_index in {None, self._chosen}]

    def interval_metric(self) -> str:
        """Return which interval is drawn."""
        return self.shown_source.metric

    def note(self, graph_id: str) -> GraphNote:
        """Return source, missing reason and simulation of a graph."""
        several = len(self._sources) > 1
        if graph_id in {"interval", "jitter"}:
            which = f"source {self._chosen + 1} of {len(self._sources)}" if several else ""
            source = ", ".join(filter(None, (which, self._interval_source())))
            return GraphNote(source, _NO_FRAMES if not self.shown_source.shown.rows.size else "")
        simulated = self._gpu_is_simulated
        if graph_id == "bandwidth":
            together = "all sources together" if several else ""
            return GraphNote(together, self._missing(("pcie_rx_bytes_per_s",)), "PCIe" if simulated else "")
        return GraphNote("", self._missing(("gpu_temperature_c", "gpu_clock_mhz")), "GPU" if simulated else "")

    def sample_at(self, time_s: float) -> FrameSample | None:
        """Return the shown frame nearest to a time, with every metric there."""
        source = self.shown_source
        index = source.index_at(time_s)
        if index is None:
            return None
        row = source.shown.rows[index]
        at_s = float(row["time_s"])
        values = {source.metric: float(row["interval_ms"]), "jitter_sd_ms": float(row["jitter_ms"])}
        values[UPLOAD] = _value_at(self._uploads.curve(), at_s, BANDWIDTH_WINDOW_S)
        for name, history in self._readings.items():
            values[name] = _value_at(Curve(history.rows["time_s"], history.rows["value"]), at_s, 2.0)
        record = source.records.rows[index]
        return FrameSample(at_s, int(record["frame_id"]), Fate(int(record["fate"])), values)

    # --- frames ------------------------------------------------------------------------------------------------------

    def _pull_frames(self) -> bool:
        if self._reader is None:
            return False
        batch = self._reader.read()
        self.lapped += batch.lapped
        if not batch.frames.size:
            return False
        self._take(batch.frames)
        return True

    def _take(self, frames: FrameArray) -> None:
        self._uploads.add(frames, self._origin_ns)
        for index, source in enumerate(self._sources):
            own = frames if len(self._sources) == 1 else frames[frames["source_index"] == index]
            source.take(own, self._origin_ns)
        self._newest_s = max(self._newest_s, *(source.newest_s for source in self._sources))

    def _interval_source(self) -> str:
        source = self.shown_source.display_source
        if source is DisplayTimeSource.NONE:
            return ""
        if source.is_display_truth:
            return f"display time: {source.label}"
        return f"no display time here (only {source.label}): intervals of present calls"

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


_EMPTY: Final = Curve(np.empty(0), np.empty(0))
_NO_FRAMES: Final = "no frame has been shown yet"


def _value_at(curve: Curve, time_s: float, within_s: float) -> float:
    index = nearest(curve.x, time_s)
    if index is None or abs(curve.x[index] - time_s) > within_s:
        return math.nan
    return float(curve.y[index])
