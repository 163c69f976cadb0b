"""Losses are counted by class, and a repeated or late frame is none."""

from __future__ import annotations

import math

from app.analysis.loss import cadence, late_shown, loss_ratio, unaccounted
from app.core.records import FLAG_LATE_SHOWN, MISSING_COUNT, empty_frames
from tests.analysis.run_builder import Made, counters_of, displayed_frames, made_frames


def test_the_ratio_is_to_what_was_produced() -> None:
    frames = made_frames(Made(seconds=2.0, lost_every=4))
    assert loss_ratio(counters_of(frames, in_flight=3)) == 30 / 123
    assert unaccounted(counters_of(frames, in_flight=3)) == 0


def test_no_ratio_of_nothing() -> None:
    assert math.isnan(loss_ratio(counters_of(empty_frames(0))))


def test_late_shown_frames_are_displayed_frames() -> None:
    frames = displayed_frames([0, 1, 2], flags=[FLAG_LATE_SHOWN, 0, FLAG_LATE_SHOWN])
    assert late_shown(frames) == 2
    assert loss_ratio(counters_of(frames)) == 0


def test_cadence_of_24_on_60_alternates_two_and_three() -> None:
    frames = displayed_frames([0] * 5, refreshes=[2, 3, 2, 3, MISSING_COUNT])
    assert cadence(frames) == {2: 2, 3: 2}


def test_a_sink_without_refresh_has_no_cadence() -> None:
    assert cadence(displayed_frames([0, 1])) == {}
