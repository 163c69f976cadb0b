"""Intervals run between neighbours in time, of one segment and one display-time source, and nowhere else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.frame_intervals import (
    after_warmup,
    display_interval_ms,
    display_intervals,
    nominal_interval_ms,
    present_interval_ms,
)
from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.core.records import empty_frames
from app.core.vocabulary import DisplayTimeSource, Fate, PresentMode
from tests.analysis.run_builder import Made, displayed_frames, made_frames

MS = NS_PER_MS


def test_an_interval_belongs_to_the_frame_that_ends_it() -> None:
    frames = displayed_frames([0, 10 * MS, 30 * MS])
    assert display_interval_ms(frames)[1:].tolist() == [10.0, 20.0]
    assert np.isnan(display_interval_ms(frames)[0])


def test_no_interval_spans_two_segments() -> None:
    frames = displayed_frames([0, 10 * MS, 900 * MS, 910 * MS], segment=[0, 0, 1, 1])
    assert display_intervals(frames).interval_ms.tolist() == [10.0, 10.0]


def test_no_interval_spans_two_display_time_sources() -> None:
    sources = [DisplayTimeSource.PRESENT_WAIT, DisplayTimeSource.CALL_RETURN, DisplayTimeSource.CALL_RETURN]
    frames = displayed_frames([0, 10 * MS, 20 * MS], display_time_source=sources)
    assert display_intervals(frames).interval_ms.tolist() == [10.0]


def test_a_lost_frame_between_two_displayed_ones_lengthens_the_display_interval() -> None:
    frames = displayed_frames([0, NO_STAMP_NS, 20 * MS], fate=[Fate.DISPLAYED, Fate.SUPERSEDED, Fate.DISPLAYED])
    assert display_intervals(frames).interval_ms.tolist() == [20.0]


def test_a_lost_frame_with_a_display_stamp_is_still_not_displayed() -> None:
    frames = displayed_frames([0, 10 * MS, 20 * MS], fate=[Fate.DISPLAYED, Fate.SUPERSEDED, Fate.DISPLAYED])
    assert display_intervals(frames).interval_ms.tolist() == [20.0]


def test_superseded_frames_count_as_presented() -> None:
    frames = displayed_frames([0, NO_STAMP_NS, 20 * MS], fate=[1, Fate.SUPERSEDED, 1])
    frames["present_call_ns"] = [0, 8 * MS, 16 * MS]
    assert present_interval_ms(frames)[1:].tolist() == [8.0, 8.0]


@given(st.permutations(range(30)))
def test_the_order_of_records_changes_no_frames_interval(order: list[int]) -> None:
    frames = made_frames(Made(seconds=0.5, jitter_ms=4.0, lost_every=7, seed=3))
    np.testing.assert_array_equal(display_interval_ms(frames[order]), display_interval_ms(frames)[order])


def test_empty_frames_have_no_intervals() -> None:
    assert len(display_intervals(empty_frames(0)).interval_ns) == 0
    assert np.isnan(display_interval_ms(empty_frames(3))).all()


@pytest.mark.parametrize(
    ("source_hz", "refresh_hz", "mode", "preview_fps", "expected_ms"),
    [
        (60.0, 60.0, PresentMode.FIFO, 0.0, 1000 / 60),
        (120.0, 60.0, PresentMode.MAILBOX, 0.0, 1000 / 60),
        (120.0, 60.0, PresentMode.IMMEDIATE, 0.0, 1000 / 120),
        (24.0, 60.0, PresentMode.FIFO, 0.0, 1000 / 24),
        (60.0, None, None, 0.0, 1000 / 60),
        (60.0, 60.0, PresentMode.FIFO, 30.0, 1000 / 30),
        (0.0, 60.0, PresentMode.FIFO, 0.0, 1000 / 60),
    ],
)
def test_the_nominal_interval_is_the_longest_of_source_preview_and_refresh(
    source_hz: float, refresh_hz: float | None, mode: PresentMode | None, preview_fps: float, expected_ms: float
) -> None:
    interval_ns = round(1e9 / source_hz) if source_hz else NO_STAMP_NS
    frames = displayed_frames([0, MS], source_interval_ns=interval_ns)
    nominal = nominal_interval_ms(frames, refresh_hz=refresh_hz, present_mode=mode, preview_fps=preview_fps)
    assert nominal == pytest.approx(expected_ms, rel=1e-6)


def test_a_free_source_on_an_unpaced_sink_has_no_nominal_interval() -> None:
    frames = displayed_frames([0, MS])
    assert np.isnan(nominal_interval_ms(frames, refresh_hz=60.0, present_mode=PresentMode.IMMEDIATE))


def test_warm_up_leaves_out_what_came_before_its_end() -> None:
    frames = displayed_frames([MS, 2 * MS, 3 * MS, 4 * MS])
    frames["arrive_ns"] = [0, 999 * MS, NO_STAMP_NS, NO_STAMP_NS]
    frames["present_call_ns"] = [NO_STAMP_NS, 1001 * MS, 1000 * MS, NO_STAMP_NS]
    assert after_warmup(frames, 0, 1.0)["frame_id"].tolist() == [2, 3]
    assert len(after_warmup(frames, 0, 0.0)) == 4


def test_the_warm_up_ends_at_one_place_where_a_reordered_stream_delivers_some_frames_early() -> None:
    frames = displayed_frames([1_000 * MS, 1_033 * MS, 1_067 * MS, 1_100 * MS])
    frames["arrive_ns"] = np.array([900, 1_010, 990, 1_020]) * MS
    measured = after_warmup(frames, 0, 1.0)
    assert measured["frame_id"].tolist() == [3]
    assert display_intervals(after_warmup(frames, 0, 0.95)).interval_ns.tolist() == [34 * MS, 33 * MS]
