"""Where the time goes: stages add up to the whole in whole nanoseconds, whatever stamps are missing or crossed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.latency import (
    animation_error_ms,
    frames_behind,
    pacing_error_ms,
    source_to_display_ms,
    stage_ms,
    stage_ns,
)
from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.core.metrics import STAGES
from app.core.records import STAMP_FIELDS, FrameArray
from app.core.vocabulary import DisplayTimeSource, Fate
from tests.analysis.run_builder import Made, displayed_frames, made_frames

MS = NS_PER_MS
STAMPS = st.one_of(st.just(NO_STAMP_NS), st.integers(0, 10**15))


def one_frame(**stamps_ms: float) -> FrameArray:
    stamps = {f"{name}_ns": round(value * MS) for name, value in stamps_ms.items()}
    return displayed_frames([stamps.pop("displayed_ns")], **stamps)


def whole_frame(**changes_ms: float) -> FrameArray:
    stamps = {
        "arrive": 0.0,
        "decode_start": 1.0,
        "decode_end": 4.0,
        "process_start": 6.0,
        "process_end": 7.0,
        "due": 40.0,
        "acquire_start": 30.0,
        "acquire_end": 31.0,
        "submit": 31.5,
        "gpu_start": 32.0,
        "gpu_end": 35.0,
        "present_call": 31.75,
        "present_return": 36.0,
        "displayed": 41.0,
    }
    return one_frame(**(stamps | changes_ms))


def stages_of(frames: FrameArray) -> dict[str, float]:
    return {stage.removeprefix("stage_ms."): float(values[0]) for stage, values in stage_ms(frames).items()}


def test_stages_of_a_hand_made_frame() -> None:
    assert stages_of(whole_frame()) == {
        "decode": 3.0,
        "decode_wait": 3.0,
        "process": 1.0,
        "queue_wait": 23.0,
        "acquire_wait": 1.0,
        "submit": 1.0,
        "gpu": 3.0,
        "present": 1.0,
        "display_wait": 5.0,
    }


def test_a_present_call_that_returned_before_the_gpu_was_done_costs_nothing() -> None:
    stages = stages_of(whole_frame(present_return=33.0))
    assert (stages["present"], stages["display_wait"]) == (0.0, 6.0)


def test_without_gpu_stamps_the_present_stage_begins_at_the_submission() -> None:
    frames = whole_frame()
    frames["gpu_start_ns"] = frames["gpu_end_ns"] = NO_STAMP_NS
    stages = stages_of(frames)
    assert np.isnan(stages["gpu"])
    assert (stages["submit"], stages["present"], stages["display_wait"]) == (0.5, 4.5, 5.0)


def test_a_display_time_taken_at_the_calls_return_cuts_the_gpu_short() -> None:
    stages = stages_of(whole_frame(displayed=33.0, present_return=33.0))
    assert (stages["gpu"], stages["present"], stages["display_wait"]) == (1.0, 0.0, 0.0)


@given(st.lists(st.tuples(*(STAMPS for _ in STAMP_FIELDS)), min_size=1, max_size=20))
def test_stages_add_up_exactly_whatever_the_stamps(rows: list[tuple[int, ...]]) -> None:
    frames = displayed_frames([0] * len(rows))
    for name, values in zip(STAMP_FIELDS, zip(*rows, strict=True), strict=True):
        frames[name] = values
    parts = np.array([stage_ns(frames)[stage] for stage in STAGES])
    total_ns = np.where(parts == NO_STAMP_NS, 0, parts).sum(axis=0)
    whole = (frames["displayed_ns"] != NO_STAMP_NS) & (frames["arrive_ns"] != NO_STAMP_NS)
    assert (total_ns[whole] == (frames["displayed_ns"] - frames["arrive_ns"])[whole]).all()
    assert (parts[:, ~whole] == NO_STAMP_NS).all()
    forward = whole & (frames["displayed_ns"] >= frames["arrive_ns"])
    assert (parts[:, forward][parts[:, forward] != NO_STAMP_NS] >= 0).all()


def test_stages_of_a_run_add_up_to_its_latency() -> None:
    frames = made_frames(Made(seconds=5.0, jitter_ms=3.0, lost_every=9))
    total = np.nansum(np.array(list(stage_ms(frames).values())), axis=0)
    latency = source_to_display_ms(frames)
    np.testing.assert_allclose(total[~np.isnan(latency)], latency[~np.isnan(latency)], atol=1e-9)


def test_a_frame_that_was_not_displayed_has_no_latency() -> None:
    frames = whole_frame()
    frames["fate"] = Fate.SUPERSEDED
    assert np.isnan(source_to_display_ms(frames)).all()
    assert np.isnan(pacing_error_ms(frames)).all()
    assert np.isnan(list(stages_of(frames).values())).all()


def test_pacing_error_is_positive_when_late() -> None:
    assert pacing_error_ms(whole_frame()).tolist() == [1.0]


def test_a_free_source_has_no_pacing_error() -> None:
    frames = whole_frame()
    frames["due_ns"] = NO_STAMP_NS
    assert np.isnan(pacing_error_ms(frames)).all()


def test_frames_behind_is_latency_in_source_intervals() -> None:
    frames = whole_frame(displayed=50.0)
    frames["source_interval_ns"] = round(1000 / 60 * MS)
    assert frames_behind(frames)[0] == pytest.approx(3.0, abs=1e-6)
    frames["source_interval_ns"] = NO_STAMP_NS
    assert np.isnan(frames_behind(frames)).all()


def test_animation_error_is_the_pts_step_minus_the_display_step() -> None:
    frames = displayed_frames([0, 20 * MS, 30 * MS], pts_ns=[0, 16 * MS, 32 * MS])
    assert animation_error_ms(frames)[1:].tolist() == [-4.0, 6.0]
    assert np.isnan(animation_error_ms(frames)[0])


@pytest.mark.parametrize(
    "unknown",
    [
        {"segment": [0, 1]},
        {"display_time_source": [DisplayTimeSource.PRESENT_WAIT, DisplayTimeSource.CALL_RETURN]},
        {"pts_ns": [0, NO_STAMP_NS]},
        {"pts_ns": [16 * MS, 16 * MS]},
        {"pts_ns": [16 * MS, 0]},
    ],
    ids=["segment", "display-time source", "no pts", "pts stands still", "pts goes back"],
)
def test_an_unknown_animation_error_is_missing_and_never_zero(unknown: dict[str, list[int]]) -> None:
    frames = displayed_frames([0, 16 * MS], **({"pts_ns": [0, 16 * MS]} | unknown))
    assert np.isnan(animation_error_ms(frames)).all()


def test_motion_that_keeps_the_sources_time_has_no_animation_error() -> None:
    error = animation_error_ms(displayed_frames([7, 7 + 16 * MS, 7 + 48 * MS], pts_ns=[0, 16 * MS, 48 * MS]))
    assert error[1:].tolist() == [0.0, 0.0]
