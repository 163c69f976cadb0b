"""What is learnt from settled frames: late ones, strange command buffers, the speed of their uploads."""

from __future__ import annotations

import pytest

from app.config.governors import Recapture
from app.core.clock import NO_STAMP_NS
from app.core.records import FLAG_INTERPOLATED, FLAG_LATE_SHOWN
from app.core.vocabulary import Fate
from app.engine.frame import Frame
from app.engine.governors.frame_watch import FrameWatch
from tests.engine.governors.settled_frames import MS, settled_frame

RULE = Recapture(window=16)


def watch_of(frames: list[Frame], fate: Fate = Fate.DISPLAYED) -> FrameWatch:
    watch = FrameWatch(RULE)
    for frame in frames:
        watch.observe(frame, fate)
    return watch


def steady_frames(count: int) -> list[Frame]:
    return [settled_frame(number) for number in range(count)]


@pytest.mark.parametrize("fate", list(Fate))
def test_late_are_frames_that_missed_their_time(fate: Fate) -> None:
    late = watch_of([settled_frame(0)], fate).take().late
    assert late == (fate in (Fate.DEADLINE_MISSED, Fate.SOURCE_LATE))
    shown_late = settled_frame(0)
    shown_late.flags = FLAG_LATE_SHOWN
    assert watch_of([shown_late]).take().late == 1


def test_each_thing_is_told_once() -> None:
    watch = watch_of([*steady_frames(40), settled_frame(40, gpu_ms=20.0)])
    seen = watch.take()
    assert (seen.judged, len(seen.slow)) == (41, 1)
    assert watch.take() == (0, 0, ())


def test_a_slow_command_buffer_comes_with_the_speed_of_its_upload() -> None:
    (slow,) = watch_of([*steady_frames(40), settled_frame(40, gpu_ms=20.0, upload_ms=4.0)]).take().slow
    assert slow.anomaly.gpu_ns == 20 * MS
    assert slow.usual_upload_bytes_per_s == pytest.approx(1e9)
    assert slow.upload_bytes_per_s == pytest.approx(2.5e8)


def test_frames_that_share_a_picture_share_its_command_buffer() -> None:
    frames = [settled_frame(number) for number in range(10) for _ in range(4)]
    assert watch_of(frames).take().judged == 10


def test_frames_without_gpu_times_are_not_judged() -> None:
    frames = steady_frames(10)
    for frame in frames[:5]:
        frame.gpu_end_ns = NO_STAMP_NS
    for frame in frames[5:]:
        frame.gpu_start_ns = NO_STAMP_NS
    assert watch_of(frames).take() == (0, 0, ())


def test_made_up_pictures_are_not_judged() -> None:
    """Their passes take longer each time; that is no anomaly, and it must not blur what is one."""
    frames = [settled_frame(number, gpu_ms=4.0 if number % 4 else 12.0) for number in range(100)]
    for frame in frames[::4]:
        frame.flags = FLAG_INTERPOLATED
    seen = watch_of([*frames, settled_frame(101, gpu_ms=8.0)]).take()
    assert (seen.judged, len(seen.slow)) == (76, 1)


def test_frames_that_were_never_uploaded_are_no_upload() -> None:
    frames = [*steady_frames(40), settled_frame(40, gpu_ms=20.0)]
    for frame in frames:
        frame.bytes_uploaded = 0
    (slow,) = watch_of(frames).take().slow
    assert (slow.upload_bytes_per_s, slow.usual_upload_bytes_per_s) == (None, None)


def test_ratio_and_sigma_act_at_once_and_another_window_begins_anew() -> None:
    watch = watch_of(steady_frames(40))
    watch.configure(Recapture(window=16, ratio=10.0))
    watch.observe(settled_frame(40, gpu_ms=20.0), Fate.DISPLAYED)
    assert watch.take().slow == ()
    watch.configure(RULE)
    watch.observe(settled_frame(41, gpu_ms=90.0), Fate.DISPLAYED)
    assert len(watch.take().slow) == 1
    watch.configure(Recapture(window=32))
    watch.observe(settled_frame(42, gpu_ms=400.0), Fate.DISPLAYED)
    assert watch.take().slow == ()
