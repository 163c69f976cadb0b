"""What became of the frames: counts by fate, the share lost, and how many refreshes each displayed one stayed."""

from __future__ import annotations

import math

import numpy as np

from app.analysis.array_types import FloatArray
from app.analysis.frame_intervals import is_made_up, is_on_screen
from app.core.records import FLAG_LATE_SHOWN, MISSING_COUNT, FrameArray
from app.core.vocabulary import LOSS_CLASSES, Fate, Governor
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


def fate_counts(frames: FrameArray) -> dict[Fate, int]:
    """Return how many of the records met each fate, every fate named; of one source, or of all together."""
    counts = np.bincount(frames["fate"], minlength=max(Fate) + 1)
    return {fate: int(counts[fate]) for fate in Fate}


def lost_of_settled(counts: dict[Fate, int]) -> float:
    """Return lost ÷ all whose fate is known; NaN of none. One source's share: what it has in flight is not known."""
    settled = sum(counts.values())
    return sum(counts[fate] for fate in LOSS_CLASSES) / settled if settled else math.nan


def decimated_by_governor(frames: FrameArray) -> dict[Governor, int]:
    """Return how many frames were left out on purpose, by who asked for the lower rate; every governor is named."""
    decimated = frames["governor"][frames["fate"] == Fate.DECIMATED]
    counts = np.bincount(decimated, minlength=max(Governor) + 1)
    return {governor: int(counts[governor]) for governor in Governor}


def made_up_pictures(frames: FrameArray) -> int:
    """Return how many pictures made up from their neighbours were on the screen in the place of decimated frames."""
    return int(np.count_nonzero(is_made_up(frames)))


def display_refreshes(frames: FrameArray) -> FloatArray:
    """Return per record the refreshes its picture stayed on the screen; NaN where unknown or not displayed."""
    known = is_on_screen(frames) & (frames["refreshes"] != MISSING_COUNT)
    return np.where(known, frames["refreshes"].astype(np.float64), np.nan)


def cadence(frames: FrameArray) -> dict[int, int]:
    """Return refreshes shown → number of pictures, rising; empty where no refresh is known."""
    shown = display_refreshes(frames)
    values, counts = np.unique(shown[~np.isnan(shown)].astype(np.int64), return_counts=True)
    return {int(value): int(count) for value, count in zip(values, counts, strict=True)}
