"""A made-up picture is on the screen: intervals count it. It shows no data that arrived: latencies do not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from app.analysis.array_types import FloatArray
from app.analysis.frame_intervals import display_interval_ms, display_intervals, present_intervals
from app.analysis.latency import animation_error_ms, pacing_error_ms, source_to_display_ms, stage_ms
from app.analysis.littles_law import LittleCheck, check_littles_law
from app.analysis.loss import cadence, decimated_by_governor, fate_counts, made_up_pictures
from app.analysis.run_statistics import summarise_run
from app.analysis.summary import Summary, Value
from app.core.clock import NO_STAMP_NS
from app.core.records import FrameArray
from app.core.vocabulary import Fate, Governor
from tests.analysis.run_builder import Made, counters_of, made_frames, made_run

EVERY_THIRD = Made(seconds=10.0, decimate_every=3, makes_up=True)
LEFT_OUT = Made(seconds=10.0, decimate_every=3)


@pytest.fixture
def frames() -> FrameArray:
    return made_frames(EVERY_THIRD)


def test_intervals_are_even_where_pictures_fill_the_gaps_and_double_where_they_do_not(frames: FrameArray) -> None:
    assert display_intervals(frames).interval_ms.max() == pytest.approx(1000 / 60, abs=0.02)
    assert display_intervals(made_frames(LEFT_OUT)).interval_ms.max() == pytest.approx(2000 / 60, abs=0.02)


def test_a_made_up_picture_ends_an_interval_and_was_presented(frames: FrameArray) -> None:
    made_up = frames["fate"] == Fate.DECIMATED
    assert not np.isnan(display_interval_ms(frames)[made_up]).any()
    assert len(present_intervals(frames).rows) == len(frames) - 1


def gpu_stage_ms(frames: FrameArray) -> FloatArray:
    return stage_ms(frames)["stage_ms.gpu"]


@pytest.mark.parametrize("measure", [source_to_display_ms, pacing_error_ms, gpu_stage_ms])
def test_it_has_no_latency_no_pacing_error_and_no_stages(
    measure: Callable[[FrameArray], FloatArray], frames: FrameArray
) -> None:
    assert np.isnan(measure(frames)).tolist() == (frames["fate"] == Fate.DECIMATED).tolist()


def test_it_counts_in_cadence_and_animation_error(frames: FrameArray) -> None:
    assert cadence(frames) == {1: len(frames)}
    assert np.count_nonzero(~np.isnan(animation_error_ms(frames))) == len(frames) - 1


def test_its_frame_stays_lost(frames: FrameArray) -> None:
    run = made_run(EVERY_THIRD)
    summary = summarise_run(run)
    assert summary["loss.decimated"] == Value(200)
    assert summary["decimated.compensation"] == Value(200)
    assert summary["made_up_pictures"] == Value(200)
    assert summary["loss_ratio"] == Value(200 / 600, 600)
    assert counters_of(frames).displayed == fate_counts(frames)[Fate.DISPLAYED] == 400


def test_rates_are_those_of_the_screen_and_latencies_those_of_the_source() -> None:
    summary = summarise_run(made_run(EVERY_THIRD))
    latency, interpolation, rate = (
        summary[name] for name in ("source_to_display_ms", "interpolation_ms", "fps_average")
    )
    assert isinstance(latency, Summary)
    assert isinstance(interpolation, Summary)
    assert isinstance(rate, Value)
    assert rate.value == pytest.approx(60, abs=0.1)
    assert (latency.n, interpolation.n, rate.n) == (360, 180, 539)
    assert interpolation.p50 == pytest.approx(0.7)


def test_littles_law_is_that_of_the_frames(frames: FrameArray) -> None:
    law = check_littles_law(frames)
    assert isinstance(law, LittleCheck)
    assert law.holds
    assert law.rate_per_s == pytest.approx(40, abs=0.2)


def test_a_frame_whose_picture_was_never_shown_is_decimated_and_nothing_else(frames: FrameArray) -> None:
    frames["displayed_ns"][frames["fate"] == Fate.DECIMATED] = NO_STAMP_NS
    assert made_up_pictures(frames) == 0
    assert display_intervals(frames).interval_ms.max() == pytest.approx(2000 / 60, abs=0.02)
    assert cadence(frames) == {1: 400}


def test_decimated_frames_are_counted_by_who_asked(frames: FrameArray) -> None:
    decimated = np.flatnonzero(frames["fate"] == Fate.DECIMATED)
    frames["governor"][decimated[:50]] = Governor.THERMAL
    frames["governor"][decimated[50:60]] = Governor.PREVIEW_FPS
    assert decimated_by_governor(frames) == {
        Governor.NONE: 0,
        Governor.PREVIEW_FPS: 10,
        Governor.THERMAL: 50,
        Governor.COMPENSATION: 140,
        Governor.BANDWIDTH: 0,
    }
