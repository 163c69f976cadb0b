"""Bytes copied to the device over time."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from app.analysis.array_types import FloatArray, Int64Array
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.records import FrameArray

WINDOW_NS: Final = 500 * NS_PER_MS


class BandwidthSeries(NamedTuple):
    """Bytes per second in windows of equal length; `at_ns` is the middle of each, CLOCK_MONOTONIC.

    A window that no frame falls into is 0: nothing was copied, which is a fact. Windows cover whole time only, so the
    last, incomplete one is left out.
    """

    at_ns: Int64Array
    bytes_per_s: FloatArray


def upload_bandwidth(frames: FrameArray) -> BandwidthSeries:
    """Return the upload bandwidth in windows from the first upload on; empty when nothing was ever copied."""
    rows = np.flatnonzero((frames["bytes_uploaded"] > 0) & (frames["process_end_ns"] != NO_STAMP_NS))
    ends_ns, copied_bytes = frames["process_end_ns"][rows], frames["bytes_uploaded"][rows]
    if len(ends_ns) == 0:
        return BandwidthSeries(np.empty(0, np.int64), np.empty(0))
    start_ns = int(ends_ns.min())
    total_bytes = np.bincount((ends_ns - start_ns) // WINDOW_NS, weights=copied_bytes)[:-1]
    middle_ns = start_ns + np.arange(len(total_bytes)) * WINDOW_NS + WINDOW_NS // 2
    return BandwidthSeries(middle_ns, total_bytes.astype(np.float64) * (NS_PER_S / WINDOW_NS))
