"""Upload bandwidth over time: bytes copied to the device, in windows of half a second."""

from __future__ import annotations

from typing import Final

import numpy as np

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.records import FrameArray
from widgets.graph_source import Curve

BANDWIDTH_WINDOW_S: Final = 0.5
BANDWIDTH_CAPACITY: Final = 8192


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
