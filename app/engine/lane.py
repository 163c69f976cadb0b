"""One source on its way to its tile of the window: its stages, its segment, and what is to be done with its next frame.

The present thread owns a lane, save for its stages, which have threads of their own. A decision is made here; acquiring
an image and presenting are the present loop's, because the lanes of a window share its images.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.records import FLAG_INTERPOLATED
from app.core.vocabulary import Fate, LatencyMode, PresentMode
from app.engine.frame import Frame, Interpolation
from app.engine.playout_delay import PlayoutDelay, ReadyTimes, follow_delay
from app.engine.scheduling import (
    GUARD_RATIO,
    PRESENT,
    Decision,
    Pacing,
    Playout,
    Step,
    class_of_miss,
    next_batch,
    note_presented,
    note_replaced,
    plan_low_jitter,
)
from app.engine.segments import SegmentTracker
from app.engine.sources.source import Source
from app.engine.stages import Stages

DROP_DECIMATED: Final = Decision(Step.DROP, fate=Fate.DECIMATED)


class Timing(NamedTuple):
    """What a configuration says about when frames are presented.

    Attributes:
        mode: latency mode. latency_ns: `render_latency_ms`. batch_ns: `batch_window_us`, 0 for none.
    """

    mode: LatencyMode
    latency_ns: int
    batch_ns: int


def timing_of(config: VeoConfig) -> Timing:
    """Return the timing that a configuration asks for."""
    latency_ns = round(config.render_latency_ms * NS_PER_MS)
    return Timing(config.latency_mode, latency_ns, config.batch_window_us * 1000)


class Lane:
    """One source and its tile.

    Attributes:
        index: number of the source, which is that of its tile. source, stages: where its frames come from.
        segments: its segments. playout: what the display has promised its frames.
        timing: replaced whole when the configuration changes.
        held: the frame taken for presentation while an image is awaited; None otherwise.
        end_reason: why no frame will follow; "" while the source lives.
    """

    def __init__(self, index: int, source: Source, stages: Stages, timing: Timing, serials: Iterator[int]) -> None:
        self.index = index
        self.source = source
        self.stages = stages
        self.segments = SegmentTracker(serials)
        self.playout = Playout()
        self.timing = timing
        self.held: Frame | None = None
        self.end_reason = ""
        self._admitted: Frame | None = None
        self._ready_times = ReadyTimes()
        self._delay = PlayoutDelay(timing.latency_ns, 0)
        self._batch_ns = NO_STAMP_NS
        self._turn_ns = NO_STAMP_NS  # when the last frame's turn was, at the wanted rate of a free source
        self._shown_playout_ns = NO_STAMP_NS

    # --- the frame at the head ----------------------------------------------------------------------------------------

    def head(self) -> Frame | None:
        """Return the frame whose turn it is, still in the queue or held; None when none is ready."""
        return self.held if self.held is not None else self.stages.frame_queue.look()

    def is_admitted(self, frame: Frame) -> bool:
        """Tell whether the frame at the head has its place in a segment."""
        return frame is self._admitted

    def admit(self, frame: Frame, now_ns: int) -> bool:
        """Give the frame at the head its place in a segment; True when it begins one."""
        begins = self.segments.admit(frame)
        if begins:
            self.playout = Playout()
            self._ready_times.forget()
            self._shown_playout_ns = NO_STAMP_NS
        self._admitted = frame
        self._batch_ns = NO_STAMP_NS
        self._adapt_delay(frame, now_ns)
        return begins

    def take(self, frame: Frame) -> bool:
        """Hold the frame; False when the queue's policy dropped it while we looked."""
        if frame is not self.held and not self.stages.frame_queue.take(frame):
            return False
        self.held = frame
        return True

    def take_admitted(self) -> bool:
        """Hold the frame that was decided on; False when the queue's policy dropped it while we looked."""
        return self._admitted is not None and self.take(self._admitted)

    def release(self) -> None:
        """Forget the held frame: it was presented or given up."""
        self.held = self._admitted = None

    def readmit(self) -> None:
        """Let the frame at the head find its segment anew, after a pause."""
        self._admitted = None

    def forget(self, frame: Frame) -> None:
        """Take note that a frame is settled and will be used again."""
        if frame is self._admitted:
            self._admitted = None

    # --- decisions ----------------------------------------------------------------------------------------------------

    def decide(self, frame: Frame, now_ns: int, pacing: Pacing) -> Decision:
        """Return what is to be done now with the admitted frame at the head."""
        if frame.process_end_ns > now_ns:  # decoded during a pause, before its time
            return Decision(Step.WAIT, at_ns=frame.process_end_ns)
        decision = self._decide_by_mode(frame, now_ns, pacing)
        if decision.step is not Step.PRESENT:
            return decision
        if not self.has_picture(frame):
            return DROP_DECIMATED
        return self._batched(now_ns)

    @property
    def shows_newest(self) -> bool:
        """Whether a frame is given up for any newer one that is ready."""
        return self.timing.mode is LatencyMode.LOW_LATENCY and not self.source.info.free_running

    def fate_beside_newer(self, frame: Frame, now_ns: int, pacing: Pacing) -> Fate:
        """Return the class under which the held frame is given up for a newer one, or DISPLAYED to keep it."""
        if self.shows_newest:
            return Fate.SUPERSEDED
        if self.source.info.free_running:
            return Fate.DISPLAYED
        return self.decide(frame, now_ns, pacing).fate

    def newer_than(self, frame: Frame) -> Frame | None:
        """Return the ready frame behind the one at the head, None when there is none."""
        return self.stages.frame_queue.look(0 if frame is self.held else 1)

    @property
    def latency_ns(self) -> int:
        """Time from a frame's place on the segment's clock to its due time, all that is added to it included."""
        base_ns = self._delay.delay_ns if self.timing.mode is LatencyMode.BALANCED else self.timing.latency_ns
        return round(base_ns) + self.stages.extra_latency_ns

    def _decide_by_mode(self, frame: Frame, now_ns: int, pacing: Pacing) -> Decision:
        if self.source.info.free_running:
            return self._decide_free(now_ns, pacing)
        latency_ns = self.latency_ns
        frame.due_ns = frame.playout_ns + latency_ns
        if self.timing.mode is LatencyMode.LOW_LATENCY:
            return PRESENT
        newer = self.newer_than(frame)
        newer_ns = None if newer is None else self.segments.playout_of(newer)
        newer_due_ns = None if newer_ns is None else newer_ns + latency_ns
        decision = plan_low_jitter(frame.due_ns, now_ns, newer_due_ns, pacing, self.playout)
        if decision.fate is Fate.DEADLINE_MISSED:
            return decision._replace(fate=class_of_miss(frame.arrive_ns, frame.due_ns, pacing))
        return decision

    def _decide_free(self, now_ns: int, pacing: Pacing) -> Decision:
        """A free-running source is as fast as the sink, or as the wanted rate, which then holds it back.

        On a refresh grid a turn counts from right behind the refresh nearest to it, or a late wake-up would now and
        then miss the refresh that the next one still gets.
        """
        wanted_hz = self.stages.rate.hz
        if wanted_hz <= 0 or self._turn_ns == NO_STAMP_NS:
            return PRESENT
        at_ns = self._turn_ns + round(NS_PER_S / wanted_hz)
        if pacing.grid is not None and pacing.mode is not PresentMode.IMMEDIATE:
            at_ns = pacing.grid.nearest(at_ns) + round(GUARD_RATIO * pacing.grid.period_ns)
        return PRESENT if now_ns >= at_ns else Decision(Step.WAIT, at_ns=at_ns)

    def _batched(self, now_ns: int) -> Decision:
        if self.timing.batch_ns <= 0:
            return PRESENT
        if self._batch_ns == NO_STAMP_NS:
            self._batch_ns = next_batch(now_ns, self.timing.batch_ns)
        return PRESENT if now_ns >= self._batch_ns else Decision(Step.WAIT, at_ns=self._batch_ns)

    def _adapt_delay(self, frame: Frame, now_ns: int) -> None:
        if self.timing.mode is not LatencyMode.BALANCED:
            self._delay = PlayoutDelay(self.timing.latency_ns, now_ns)
            self._ready_times.forget()
            return
        self._ready_times.add(frame.process_end_ns - frame.playout_ns)
        self._delay = follow_delay(self._delay, self._ready_times.p99_ns, self.timing.latency_ns, now_ns)

    # --- made-up pictures ---------------------------------------------------------------------------------------------

    def has_picture(self, frame: Frame) -> bool:
        """Tell whether an admitted frame can be shown: it is its own, or can be made up, which is arranged for.

        False for the place of a decimated frame beside which a neighbour is missing.
        """
        if frame.interpolation is not None or not frame.flags & FLAG_INTERPOLATED:
            return True
        later = self._next_real(frame)
        later_ns = None if later is None else self.segments.playout_of(later)
        if later is None or later_ns is None or self._shown_playout_ns == NO_STAMP_NS:
            return False
        phase = (frame.playout_ns - self._shown_playout_ns) / (later_ns - self._shown_playout_ns)
        frame.interpolation = Interpolation(self.stages.rate.interpolation, later, phase)
        later.pinned_by = frame
        return True

    def _next_real(self, frame: Frame) -> Frame | None:
        position = 1 if frame is self.stages.frame_queue.look() else 0
        while (newer := self.stages.frame_queue.look(position)) is not None:
            if not newer.flags & FLAG_INTERPOLATED:
                return newer
            position += 1
        return None

    # --- what became of frames ----------------------------------------------------------------------------------------

    def note_presented(self, frame: Frame, pacing: Pacing) -> None:
        """Take note that the display was given a frame."""
        self._turn_ns = self._turn_of(frame)
        if frame.interpolation is None:
            self._shown_playout_ns = frame.playout_ns
        if frame.due_ns != NO_STAMP_NS:
            self.playout = note_presented(frame.due_ns, frame.present_call_ns, pacing, self.playout)

    def _turn_of(self, frame: Frame) -> int:
        """Return the time from which the next turn counts: the frame's own, unless it came an interval late.

        Counted from the present calls themselves, the lateness of every wake-up would add up and the rate be missed.
        """
        wanted_hz = self.stages.rate.hz
        if wanted_hz <= 0 or self._turn_ns == NO_STAMP_NS:
            return frame.present_call_ns
        interval_ns = round(NS_PER_S / wanted_hz)
        turn_ns = self._turn_ns + interval_ns
        return turn_ns if abs(frame.present_call_ns - turn_ns) < interval_ns else frame.present_call_ns

    def note_flip(self, flip_ns: int, queued_behind: int, pacing: Pacing) -> None:
        """Take note of when a frame really replaced the one before it."""
        self.playout = note_replaced(flip_ns, queued_behind, pacing, self.playout)
