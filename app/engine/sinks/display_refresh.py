"""The refreshes of a display that is watched while frames are shown on it."""

from __future__ import annotations

from collections import deque
from typing import Final

import numpy as np

from app.core.clock import NS_PER_S
from app.core.vocabulary import DisplayTimeSource, PresentMode
from app.engine.sinks.sink import RefreshGrid
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.refresh_estimate import (
    FASTEST_PERIOD_NS,
    STAMPS_KEPT,
    RefreshEstimate,
    estimate_refresh,
    has_moved,
    is_steady,
    refresh_hz,
)

NEWEST: Final = 64
"""So many of the newest stamps tell when the display has another rate than the older ones say."""

CHANGED: Final = 5e-3
"""Difference of rates that no error of measurement explains."""

OTHER_SCREEN: Final = 0.01
"""Difference of two periods by name that is more than the rounding of 59.94 to 60 Hz."""

PUBLISH_PERIOD_NS: Final = 3 * NS_PER_S
LEAST_ALONE: Final = 8


class RefreshTracker:
    """Takes believed display times and measures the refreshes.

    `note`, `restart` and `grid` belong to the present thread; `review`, which computes, to a slow one.
    """

    def __init__(self) -> None:
        self._stamps: deque[int] = deque(maxlen=STAMPS_KEPT)
        self._alone: deque[tuple[int, int]] = deque(maxlen=STAMPS_KEPT)
        self._nominal_ns: float | None = None
        self._estimate: RefreshEstimate | None = None
        self._grid: RefreshGrid | None = None
        self._published_hz: float | None = None
        self._published_ns = 0
        self._source_text = ""

    @property
    def rate_hz(self) -> float | None:
        """Return the refresh rate as last published: measured, else nominal; None when unknown."""
        return self._published_hz

    @property
    def source_text(self) -> str:
        """Return where the rate comes from, for `SinkInfo.refresh_source`."""
        return self._source_text

    def _start_from_name(self, nominal_ns: float | None) -> None:
        """Take the period that the system names; it is used until there is a measured one."""
        self._nominal_ns = nominal_ns
        if self._estimate is None:
            self._published_ns = 0
            self._published_hz = None if nominal_ns is None else NS_PER_S / nominal_ns
            self._source_text = "" if nominal_ns is None else "nominal"

    def note(self, presentation: Presentation, named_ns: int) -> None:
        """Take a display time. Modes that show between refreshes say nothing of these.

        Args:
            named_ns: refresh period as the display side names it with this stamp, 0 where it does not. Another one
                than before is another screen.
        """
        if presentation.mode is PresentMode.IMMEDIATE:
            return
        if named_ns and (self._nominal_ns is None or abs(named_ns / self._nominal_ns - 1) > OTHER_SCREEN):
            self.follow_screen(float(named_ns))
        self._stamps.append(presentation.displayed_ns)
        if presentation.alone:
            self._alone.append((presentation.return_ns, presentation.displayed_ns))

    def restart(self) -> None:
        """Forget the stamps: those to come are of another source, or of another display."""
        self._stamps.clear()
        self._alone.clear()
        self._estimate = self._grid = None
        self._start_from_name(self._nominal_ns)

    def follow_screen(self, nominal_ns: float | None) -> None:
        """Measure anew, from another screen's period by name."""
        self._nominal_ns = nominal_ns
        self.restart()

    def grid(self) -> RefreshGrid | None:
        """Return the refresh grid; None while it is not measured, or too unsteady to aim at."""
        return self._grid

    def least_spacing_ns(self, source: DisplayTimeSource, named_ns: int) -> float:
        """Return half a refresh: no two pictures of a FIFO are shown closer together.

        A present_wait that ends at once makes a fast display of itself, so it is held against the period by name; a
        display side that stamps by itself, against what it says of its own period.
        """
        if source is not DisplayTimeSource.PRESENT_WAIT:
            return (named_ns or FASTEST_PERIOD_NS) / 2
        measured_ns = self._estimate.period_ns if self._estimate is not None else FASTEST_PERIOD_NS
        return (self._nominal_ns or measured_ns) / 2

    def publish(self, now_ns: int) -> bool:
        """Publish the rate as it is measured now, and tell whether there is one."""
        estimate = self._estimate
        if estimate is None:
            return False
        self._published_hz, self._published_ns = refresh_hz(estimate), now_ns
        self._source_text = f"measured from {estimate.stamp_count} display times"
        return True

    def review(self, now_ns: int) -> bool:
        """Measure anew, and tell whether the rate to be published has moved."""
        estimate = self._measure()
        if estimate is None:
            return False
        self._estimate = estimate
        self._grid = self._make_grid(estimate) if is_steady(estimate) else None
        if self._published_ns and now_ns - self._published_ns < PUBLISH_PERIOD_NS:
            return False
        is_new = self._published_ns == 0 or has_moved(self._published_hz, estimate)
        return is_new and self.publish(now_ns)

    def _make_grid(self, estimate: RefreshEstimate) -> RefreshGrid:
        return RefreshGrid(estimate.phase_ns, estimate.period_ns, self._delay_ns(estimate))

    def _measure(self) -> RefreshEstimate | None:
        stamps = list(self._stamps)
        newest = estimate_refresh(stamps[-NEWEST:], self._nominal_ns)
        whole = estimate_refresh(stamps, self._nominal_ns)
        if newest is None:
            return whole
        if whole is None or abs(newest.period_ns / whole.period_ns - 1) > CHANGED:
            return newest
        return whole

    def _delay_ns(self, estimate: RefreshEstimate) -> int:
        """Return what lies between the refresh that takes a picture and its display: the compositor's own refreshes.

        Only pictures presented while nothing was queued before them tell it.
        """
        alone = list(self._alone)
        if len(alone) < LEAST_ALONE:
            return 0
        grid = RefreshGrid(estimate.phase_ns, estimate.period_ns)
        behind = [(shown_ns - grid.next_after(return_ns)) / estimate.period_ns for return_ns, shown_ns in alone]
        return round(max(0, round(float(np.median(behind)))) * estimate.period_ns)
