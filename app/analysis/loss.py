"""What became of the frames: counts by fate, the share lost, and how many refreshes each displayed one stayed."""

from __future__ import annotations

import math

import numpy as np

from app.analysis.array_types import FloatArray
from app.core.records import FLAG_LATE_SHOWN, MISSING_COUNT, FrameArray
from app.core.vocabulary import Fate
from app.ipc.frame_ring import FrameCounters


def loss_ratio(counters: FrameCounters) -> float:
    """Return lost ÷ produced; NaN when nothing was produced."""
    return sum(counters.lost.values()) / counters.produced if counters.produced else math.nan


def unaccounted(counters: FrameCounters) -> int:
    """Return produced − displayed − lost − in flight: 0 in every sound run."""
    return counters.produced - counters.displayed - sum(counters.lost.values()) - counters.in_flight


def late_shown(frames: FrameArray) -> int:
    """Return how many frames were displayed more than half a refresh after they were due; no losses."""
    return int(np.count_nonzero((frames["fate"] == Fate.DISPLAYED) & (frames["flags"] & FLAG_LATE_SHOWN != 0)))


def display_refreshes(frames: FrameArray) -> FloatArray:
    """Return per frame the refreshes it stayed on the screen; NaN where unknown or not displayed."""
    known = (frames["fate"] == Fate.DISPLAYED) & (frames["refreshes"] != MISSING_COUNT)
    return np.where(known, frames["refreshes"].astype(np.float64), np.nan)


def cadence(frames: FrameArray) -> dict[int, int]:
    """Return refreshes shown → number of frames, rising; empty where no refresh is known."""
    shown = display_refreshes(frames)
    values, counts = np.unique(shown[~np.isnan(shown)].astype(np.int64), return_counts=True)
    return {int(value): int(count) for value, count in zip(values, counts, strict=True)}
