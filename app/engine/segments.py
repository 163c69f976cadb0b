"""Segments: stretches of a run that a statistic may span, and the playout clock of each."""

from __future__ import annotations

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.frame import Frame

STALL_NS = NS_PER_S
"""Arrivals that lag their timestamps by this much more than the frame before are a stall of the source, not jitter."""


class SegmentTracker:
    """Gives each frame its segment and its place on the playout clock, in the order of presentation.

    Used by the present thread only, so that pause, occlusion, stall and discontinuity are decided in one place. The
    playout time is `t0 + (pts − pts of the segment's first frame)`; the scheduler adds the render latency.

    Time in a pause is no latency: the source puts its schedule off by the length of the pause, and a frame that was
    held over it has its stamps moved by as much, so that the run goes on as if the clock had stood still.
    """

    def __init__(self) -> None:
        self.segment = 0
        self.t0_ns = NO_STAMP_NS
        self._first_pts_ns = 0
        self._last_arrive_ns = NO_STAMP_NS
        self._last_pts_ns = 0
        self._postponed_ns = 0
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

    def put_off(self, by_ns: int) -> None:
        """Leave time out that has passed: frames delivered before have their stamps moved by as much."""
        self._postponed_ns += by_ns

    def break_before(self, frame: Frame) -> str:
        """Return why a new segment must begin with this frame (a discontinuity, a stall), or ""."""
        if not self._open:
            return ""
        self._bring_up_to_date(frame)
        if frame.discontinuity:
            return frame.discontinuity
        lag_ns = (frame.arrive_ns - self._last_arrive_ns) - (frame.pts_ns - self._last_pts_ns)
        return f"the source stalled for {lag_ns / NS_PER_S:.1f} s" if lag_ns > STALL_NS else ""

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
        self._last_arrive_ns = frame.arrive_ns
        self._last_pts_ns = frame.pts_ns
        return begins

    @property
    def begin_reason(self) -> str:
        """Why the present segment began."""
        return self._begin_reason

    def _begin(self, frame: Frame) -> None:
        self._open = True
        self.segment += 1
        self.t0_ns = frame.arrive_ns
        self._first_pts_ns = frame.pts_ns

    def _bring_up_to_date(self, frame: Frame) -> None:
        if frame.postponed_ns != self._postponed_ns:
            frame.put_off(self._postponed_ns - frame.postponed_ns)
