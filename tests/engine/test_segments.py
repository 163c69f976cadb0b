"""Segments: where a statistic may not span, and what time in a pause is (no latency)."""

from __future__ import annotations

from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.engine.frame import Frame
from app.engine.segments import SegmentTracker


def frame(pts_ms: float, arrive_ms: float, discontinuity: str = "") -> Frame:
    made = Frame()
    made.reset(0)
    made.pts_ns = round(pts_ms * NS_PER_MS)
    made.arrive_ns = round(arrive_ms * NS_PER_MS)
    made.decode_start_ns = made.decode_end_ns = made.arrive_ns
    made.discontinuity = discontinuity
    return made


def test_a_frame_is_due_at_the_arrival_of_the_first_plus_its_pts() -> None:
    tracker = SegmentTracker()
    first, second = frame(100, 5000), frame(140, 5055)
    assert tracker.admit(first)
    assert not tracker.admit(second)
    assert (first.playout_ns, second.playout_ns) == (5000 * NS_PER_MS, 5040 * NS_PER_MS)
    assert (first.segment, second.segment) == (1, 1)


def test_jitter_is_no_stall_and_a_second_of_silence_is() -> None:
    tracker = SegmentTracker()
    tracker.admit(frame(0, 0))
    assert tracker.break_before(frame(16, 900)) == ""
    assert "stalled for 1.1 s" in tracker.break_before(frame(16, 1116))


def test_a_slow_source_does_not_stall() -> None:
    tracker = SegmentTracker()
    tracker.admit(frame(0, 0))
    assert tracker.break_before(frame(5000, 5010)) == ""


def test_a_discontinuity_begins_a_segment_with_its_reason() -> None:
    tracker = SegmentTracker()
    tracker.admit(frame(0, 0))
    changed = frame(16, 16, "resolution changed to 640×360")
    reason = tracker.break_before(changed)
    tracker.end(reason)
    assert tracker.admit(changed)
    assert (changed.segment, tracker.begin_reason, changed.playout_ns) == (2, reason, 16 * NS_PER_MS)


def test_time_in_a_pause_is_left_out_of_the_stamps_of_a_frame_held_over_it() -> None:
    tracker = SegmentTracker()
    tracker.admit(frame(0, 0))
    tracker.end("resumed")
    tracker.put_off(60 * NS_PER_S)
    held, next_one = frame(16, 16), frame(33, 60_033)
    next_one.postponed_ns = 60 * NS_PER_S
    assert tracker.admit(held)
    tracker.admit(next_one)
    assert held.arrive_ns == held.playout_ns == held.decode_end_ns == 60_016 * NS_PER_MS
    assert held.process_start_ns == NO_STAMP_NS
    assert next_one.playout_ns == next_one.arrive_ns == 60_033 * NS_PER_MS
