"""Which stretch of time the graphs show: pure values and the rules that move them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

SHORTEST_S: Final = 0.2
LONGEST_S: Final = 3600.0
SPANS_S: Final[tuple[float, ...]] = (5.0, 10.0, 30.0, 60.0, 300.0, 1800.0)
"""Offered spans; the wheel reaches every one between `SHORTEST_S` and `LONGEST_S`."""


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The visible stretch, in seconds since the run began.

    Attributes:
        end_s: right edge.
        span_s: width.
        following: the right edge stays at the newest data; dragging back ends that, never the run.
    """

    end_s: float = 10.0
    span_s: float = 10.0
    following: bool = True

    @property
    def start_s(self) -> float:
        """Left edge."""
        return self.end_s - self.span_s

    def contains(self, time_s: float) -> bool:
        """Tell whether a time is visible."""
        return self.start_s <= time_s <= self.end_s


def follow(window: TimeWindow, newest_s: float) -> TimeWindow:
    """Return the window whose right edge is the newest data, following; a short run is drawn from its beginning."""
    return replace(window, end_s=max(newest_s, window.span_s), following=True)


def pan(window: TimeWindow, by_s: float, newest_s: float) -> TimeWindow:
    """Move by `by_s` (positive: later); reaching the newest data resumes following."""
    latest_s = max(newest_s, window.span_s)
    end_s = window.end_s + by_s
    if end_s >= latest_s:
        return follow(window, newest_s)
    return replace(window, end_s=max(end_s, min(window.span_s, latest_s)), following=False)


def zoom(window: TimeWindow, factor: float, anchor_s: float, newest_s: float) -> TimeWindow:
    """Scale the span by `factor`, holding `anchor_s` in place, or the newest data while following."""
    span_s = min(max(window.span_s * factor, SHORTEST_S), LONGEST_S)
    if window.following:
        return follow(replace(window, span_s=span_s), newest_s)
    kept_ratio = (window.end_s - anchor_s) / window.span_s
    return replace(window, span_s=span_s, end_s=anchor_s + kept_ratio * span_s)
