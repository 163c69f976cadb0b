"""Segments: where a statistic may not span, and what time in a pause is (no latency)."""

from __future__ import annotations

from itertools import count

from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.engine.frame import Frame
from app.engine.segments import BreakWatch, SegmentTracker


def frame(pts_ms: float, arrive_ms: float, breaks_before: int = 0, break_reason: str = "") -> Frame:
    made = Frame()
    made.reset(0)
    made.pts_ns = round(pts_ms * NS_PER_MS)
    made.arrive_ns = round(arrive_ms * NS_PER_MS)
    made.decode_start_ns = made.decode_end_ns = made.arrive_ns
    made.breaks_before, made.break_reason = breaks_before, break_reason
    return made


def marked(*frames: Frame) -> tuple[Frame, ...]:
    watch = BreakWatch()
    for each in frames:
        watch.mark(each, "")
    return frames


def test_a_frame_is_due_at_the_arrival_of_the_first_plus_its_pts() -> None:
    tracker = SegmentTracker(count(1))
    first, second = frame(100, 5000), frame(140, 5055)
    assert tracker.admit(first)
    assert not tracker.admit(second)
    assert (first.playout_ns, second.playout_ns) == (5000 * NS_PER_MS, 5040 * NS_PER_MS)
    assert (first.segment, second.segment) == (1, 1)


def test_jitter_is_no_stall_and_a_second_of_silence_is() -> None:
    _, jittered, late = marked(frame(0, 0), frame(16, 900), frame(33, 1940))
    assert (jittered.breaks_before, jittered.break_reason) == (0, "")
    assert (late.breaks_before, late.break_reason) == (1, "the source stalled for 1.0 s")


def test_a_slow_source_does_not_stall() -> None:
    assert marked(frame(0, 0), frame(5000, 5010))[1].breaks_before == 0


def test_time_in_a_pause_is_no_stall() -> None:
    resumed = frame(16, 60_016)
    resumed.postponed_ns = 60 * NS_PER_S
    assert marked(frame(0, 0), resumed, frame(33, 60_033))[1].breaks_before == 0


def test_a_discontinuity_begins_a_segment_with_its_reason() -> None:
    tracker, watch = SegmentTracker(count(1)), BreakWatch()
    tracker.admit(frame(0, 0))
    changed = frame(16, 16)
    watch.mark(changed, "resolution changed to 640×360")
    reason = tracker.break_before(changed)
    tracker.end(reason)
    assert tracker.admit(changed)
    assert (changed.segment, tracker.begin_reason, changed.playout_ns) == (2, reason, 16 * NS_PER_MS)
    assert reason == "resolution changed to 640×360"


def test_a_break_begins_a_segment_even_when_the_frame_behind_it_is_lost() -> None:
    tracker = SegmentTracker(count(1))
    first, _lost, shown, next_one = marked(frame(0, 0), frame(16, 1516), frame(900, 1516), frame(916, 1533))
    tracker.admit(first)
    assert tracker.break_before(shown) == "the source stalled for 1.5 s"
    tracker.end("stall")
    assert tracker.admit(shown)
    assert tracker.break_before(next_one) == ""


def test_time_in_a_pause_is_left_out_of_the_stamps_of_a_frame_held_over_it() -> None:
    tracker = SegmentTracker(count(1))
    tracker.admit(frame(0, 0))
    tracker.end("resumed")
    tracker.put_off(60 * NS_PER_S, 60 * NS_PER_S)
    held, next_one = frame(16, 16), frame(33, 60_033)
    next_one.postponed_ns = 60 * NS_PER_S
    assert tracker.admit(held)
    tracker.admit(next_one)
    assert held.arrive_ns == held.playout_ns == held.decode_end_ns == 60_016 * NS_PER_MS
    assert held.process_start_ns == NO_STAMP_NS
    assert next_one.playout_ns == next_one.arrive_ns == 60_033 * NS_PER_MS
