"""Little's law as a check of the numbers against each other: mean frames in the system = rate × mean time in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from app.analysis.array_types import Int64Array
from app.analysis.frame_intervals import display_intervals
from app.analysis.latency import source_to_display_ms
from app.analysis.rates import fps_average
from app.analysis.summary import Missing, valid
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.records import FrameArray
from app.core.vocabulary import Fate

TOLERANCE_RATIO: Final = 0.05
"""Difference beyond which the numbers contradict each other; edges and jitter of a few seconds stay well below."""


@dataclass(frozen=True, slots=True)
class LittleCheck:
    """Both sides of the law for the displayed frames of the longest segment.

    Attributes:
        frames_in_system: mean number of frames between arrival and display, by integrating over time.
        rate_per_s: displayed frames per second, from the display intervals.
        time_in_system_s: mean source-to-display time.
        n: displayed frames.
    """

    frames_in_system: float
    rate_per_s: float
    time_in_system_s: float
    n: int

    @property
    def product(self) -> float:
        """Return rate × time, which should equal `frames_in_system`."""
        return self.rate_per_s * self.time_in_system_s

    @property
    def difference_ratio(self) -> float:
        """Return (frames in system − rate × time) ÷ (rate × time)."""
        return self.frames_in_system / self.product - 1.0 if self.product else 0.0

    @property
    def holds(self) -> bool:
        """Tell whether both sides agree within `TOLERANCE_RATIO`."""
        return abs(self.difference_ratio) <= TOLERANCE_RATIO


def check_littles_law(frames: FrameArray) -> LittleCheck | Missing:
    """Check the law on the displayed frames of the longest segment, between its first display and its last arrival.

    The three quantities are computed from different stamps and windows, so agreement is no tautology: a stage that
    stamps another clock, a segment that hides a stall or a rate computed over the wrong time all break it.
    """
    shown = frames[
        (frames["fate"] == Fate.DISPLAYED)
        & (frames["displayed_ns"] != NO_STAMP_NS)
        & (frames["arrive_ns"] != NO_STAMP_NS)
    ]
    if len(shown) == 0:
        return Missing("no frame has both an arrival and a display time")
    longest = shown[shown["segment"] == np.bincount(shown["segment"]).argmax()]
    start_ns, end_ns = int(longest["displayed_ns"].min()), int(longest["arrive_ns"].max())
    if end_ns - start_ns < NS_PER_S:
        return Missing("needs a segment in which a second passes between the first display and the last arrival")
    return LittleCheck(
        frames_in_system=_mean_between(longest["arrive_ns"], longest["displayed_ns"], start_ns, end_ns),
        rate_per_s=fps_average(display_intervals(longest).interval_ms),
        time_in_system_s=float(valid(source_to_display_ms(longest)).mean()) / 1e3,
        n=len(longest),
    )


def _mean_between(entered_ns: Int64Array, left_ns: Int64Array, start_ns: int, end_ns: int) -> float:
    overlap_ns = np.minimum(left_ns, end_ns) - np.maximum(entered_ns, start_ns)
    return float(np.maximum(overlap_ns, 0).sum()) / (end_ns - start_ns)
