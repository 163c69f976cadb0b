"""Segments: stretches of a run that a statistic may span, and the playout clock of each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.frame import Frame

STALL_NS = NS_PER_S
"""Arrivals that lag their timestamps by this much more than the frame before are a stall of the source, not jitter."""


class BreakWatch:
    """Notices where the source breaks off: a discontinuity, a stall. The decode thread's, which sees every frame.

    Each frame carries how many breaks lie before it and why the last one came, so that a break still begins a segment
    when the very frame behind it is lost. (A long stall loses it as a rule: what piled up meanwhile overflows.)
    """

    def __init__(self) -> None:
        self._breaks = 0
        self._reason = ""
        self._last_arrive_ns = NO_STAMP_NS
        self._last_pts_ns = 0

    def mark(self, frame: Frame, discontinuity: str) -> None:
        """Note the next frame in order of delivery; `discontinuity` is what the source says of it, or ""."""
        reason = discontinuity or self._stall_before(frame)
        if reason:
            self._breaks += 1
            self._reason = reason
        frame.breaks_before, frame.break_reason = self._breaks, self._reason
        self._last_arrive_ns = frame.arrive_ns - frame.postponed_ns
        self._last_pts_ns = frame.pts_ns

    def _stall_before(self, frame: Frame) -> str:
        if self._last_arrive_ns == NO_STAMP_NS:
            return ""
        waited_ns = frame.arrive_ns - frame.postponed_ns - self._last_arrive_ns
        lag_ns = waited_ns - (frame.pts_ns - self._last_pts_ns)
        return f"the source stalled for {lag_ns / NS_PER_S:.1f} s" if lag_ns > STALL_NS else ""


class _PutOff(NamedTuple):
    by_ns: int
    until_ns: int
    total_ns: int


class SegmentTracker:
    """Gives each frame its segment and its place on the playout clock, in the order of presentation.

    Used by the present thread only, so that pause, occlusion and the source's breaks are decided in one place. The
    playout time is `t0 + (pts − pts of the segment's first frame)`; the scheduler adds the render latency.

    Time in a pause is no latency: the source puts its schedule off by the length of the pause, and a frame that was
    held over it has its stamps moved by as much, so that the run goes on as if the clock had stood still.

    Args:
        serials: gives each segment its serial; shared by all sources of a run, so that none is used twice.
    """

    def __init__(self, serials: Iterator[int]) -> None:
        self._serials = serials
        self.segment = 0
        self.t0_ns = NO_STAMP_NS
        self._first_pts_ns = 0
        self._breaks = 0
        self._put_offs: list[_PutOff] = []
        self._begin_reason = "start"
        self._open = False

    @property
    def is_open(self) -> bool:
        """Whether a segment has begun and not ended."""
        return self._open

    def end(self, next_reason: str) -> None:
        """End the segment; the next frame admitted begins another, for `next_reason`."""
        self._open = False
        self._begin_reason = next_reason

    def put_off(self, by_ns: int, until_ns: int) -> None:
        """Leave out time that had passed by `until_ns`: stamps taken before are moved by as much."""
        before_ns = self._put_offs[-1].total_ns if self._put_offs else 0
        self._put_offs.append(_PutOff(by_ns, until_ns, before_ns + by_ns))

    def break_before(self, frame: Frame) -> str:
        """Return why a new segment must begin with this frame, because the source broke off before it, or ""."""
        return frame.break_reason if self._open and frame.breaks_before != self._breaks else ""

    def playout_of(self, frame: Frame) -> int | None:
        """Return where a frame still in the queue stands on this segment's playout clock; None if it begins another."""
        if not self._open or self.break_before(frame):
            return None
        return self.t0_ns + frame.pts_ns - self._first_pts_ns

    def admit(self, frame: Frame) -> bool:
        """Place a frame in its segment and on the playout clock; True when it begins a new segment."""
        self._bring_up_to_date(frame)
        begins = not self._open
        if begins:
            self._begin(frame)
        frame.segment = self.segment
        frame.playout_ns = self.t0_ns + frame.pts_ns - self._first_pts_ns
        self._breaks = frame.breaks_before
        return begins

    @property
    def begin_reason(self) -> str:
        """Why the present segment began."""
        return self._begin_reason

    def _begin(self, frame: Frame) -> None:
        self._open = True
        self.segment = next(self._serials)
        self.t0_ns = frame.arrive_ns
        self._first_pts_ns = frame.pts_ns

    def _bring_up_to_date(self, frame: Frame) -> None:
        for put_off in self._put_offs:
            if put_off.total_ns > frame.postponed_ns:
                frame.put_off(put_off.by_ns, put_off.until_ns)
