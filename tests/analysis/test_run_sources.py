"""Several sources in one window: the numbers of each are those that it would have alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.frame_intervals import IntervalSeries, display_intervals
from app.analysis.jitter import adaptive_sd_ms, rolling_sd_ms, stutters, trailing_mean_ms
from app.analysis.littles_law import LittleCheck, check_littles_law
from app.analysis.loss import cadence, fate_counts
from app.analysis.run_data import RunData
from app.analysis.run_sources import (
    MAIN_METRICS,
    measured_encodes,
    run_source,
    run_sources,
    source_count,
    source_loss_statistics,
    source_statistics,
)
from app.analysis.run_statistics import summarise_run
from app.analysis.summary import Summary, Value
from app.core.clock import NS_PER_MS, NS_PER_S
from app.core.metrics import METRICS, MetricGroup
from app.core.vocabulary import LOSS_CLASSES
from tests.analysis.run_builder import (
    START_NS,
    Made,
    displayed_frames,
    made_encodes,
    made_frames,
    made_run,
    run_of_nothing,
    run_of_two_sources,
)

FIRST = Made(jitter_ms=2.0, lost_every=25, stall_after_s=4.0)
SECOND = Made(rate_hz=30.0, jitter_ms=3.0, decimate_every=7, seed=2)
OF_ALL_SOURCES = {
    "upload_bandwidth_bytes_per_s",
    *(row.id for row in METRICS.values() if row.group is MetricGroup.LOSS),
}


@pytest.fixture(scope="module")
def both() -> RunData:
    return run_of_two_sources(FIRST, SECOND)


def test_the_headline_numbers_are_those_of_the_first_source_alone(both: RunData) -> None:
    alone, beside = summarise_run(made_run(FIRST)), summarise_run(both)
    assert {key for key in METRICS if str(alone[key]) != str(beside[key])} <= OF_ALL_SOURCES


def test_the_second_source_has_the_numbers_that_it_has_alone(both: RunData) -> None:
    alone = made_run(SECOND)
    beside = source_statistics(both, run_source(both, 1))
    for metric_id, measured in source_statistics(alone, run_source(alone)).items():
        assert str(beside[metric_id]) == str(measured), metric_id


def test_losses_of_the_sources_add_up_to_the_runs(both: RunData) -> None:
    counts = [fate_counts(source.frames) for source in run_sources(both)]
    for fate in LOSS_CLASSES:
        assert sum(each[fate] for each in counts) == both.counters.lost[fate]
    total = summarise_run(both)["loss_ratio"]
    assert isinstance(total, Value)
    assert total.value == pytest.approx(sum(both.counters.lost.values()) / both.counters.produced)


def test_one_sources_share_lost_is_of_the_frames_whose_fate_is_known(both: RunData) -> None:
    second = source_loss_statistics(run_source(both, 1))
    assert second["loss_ratio"] == Value(300 // 7 / 300, 300)


def test_upload_bandwidth_of_the_run_is_that_of_all_sources_together(both: RunData) -> None:
    first = source_statistics(both, run_source(both))["upload_bandwidth_bytes_per_s"]
    every = summarise_run(both)["upload_bandwidth_bytes_per_s"]
    assert isinstance(first, Summary)
    assert isinstance(every, Summary)
    assert every.mean > 1.2 * first.mean


def test_each_source_obeys_littles_law_and_has_its_own_cadence(both: RunData) -> None:
    for source, rate_hz in zip(run_sources(both), (60.0, 30.0), strict=True):
        law = check_littles_law(source.measured)
        assert isinstance(law, LittleCheck)
        assert law.holds
        assert law.rate_per_s < rate_hz
        assert list(cadence(source.measured)) == [60 // round(rate_hz)]


def test_the_nominal_interval_is_the_sources_own(both: RunData) -> None:
    assert [source.nominal_ms for source in run_sources(both)] == pytest.approx([1000 / 60, 1000 / 30], rel=1e-6)


def test_a_source_that_begins_later_is_warmed_up_later() -> None:
    second = made_frames(SECOND)
    run = run_of_two_sources(FIRST, SECOND)
    late_ns = START_NS + 3 * NS_PER_S
    frames = run.frames.copy()
    of_second = frames["source_index"] == 1
    for name in ("arrive_ns", "displayed_ns", "present_call_ns"):
        moved = of_second & (frames[name] > 0)
        frames[name][moved] += 3 * NS_PER_S
    segments = (*run.segments[:-1], replace(run.segments[-1], t0_ns=late_ns))
    source = run_source(replace(run, frames=frames, segments=segments), 1)
    assert source.warm_ns == late_ns + NS_PER_S
    assert len(source.measured) == len(second) - 30


def test_main_metrics_are_ones_that_a_source_has(both: RunData) -> None:
    source = run_source(both, 1)
    assert set(MAIN_METRICS) <= {*source_statistics(both, source), *source_loss_statistics(source)}


def test_a_run_of_nothing_has_one_source_of_which_nothing_is_known() -> None:
    (source,) = run_sources(run_of_nothing())
    assert (source.text, source.info, len(source.frames)) == ("", None, 0)


def test_a_source_that_never_delivered_is_a_source_all_the_same() -> None:
    run = made_run(Made(seconds=2.0), more_source_texts=("v4l2:/dev/video9",))
    assert source_count(run) == 2
    silent = run_sources(run)[1]
    assert (silent.text, silent.info, len(silent.frames)) == ("v4l2:/dev/video9", None, 0)


def test_encode_statistics_leave_the_warm_up_out() -> None:
    made = Made(seconds=5.0)
    run = made_run(made, encodes=made_encodes(made), warmup_s=2.0)
    rows = measured_encodes(run, run_source(run))
    assert len(rows) < 0.65 * len(run.encodes)
    assert rows["encode_in_ns"].min() >= START_NS + 2 * NS_PER_S


STEPS_MS = st.lists(st.integers(1, 400), min_size=2, max_size=60)


@given(STEPS_MS, STEPS_MS, st.integers(-3000, 3000))
def test_windows_of_one_source_know_nothing_of_the_others(first: list[int], second: list[int], shift_ms: int) -> None:
    alone = [shown(first, 1, 0), shown(second, 2, shift_ms)]
    mixed = np.concatenate(alone)
    together = display_intervals(mixed[np.argsort(mixed["displayed_ns"], kind="stable")])
    apart = [display_intervals(frames) for frames in alone]
    assert together.interval_ns.tolist() == [int(each) for series in apart for each in series.interval_ns]
    for measure in (trailing_mean_ms, stutters, one_second_sd_ms):
        np.testing.assert_allclose(measure(together), np.concatenate([measure(each) for each in apart]), atol=1e-5)
    assert np.isfinite(adaptive_sd_ms(together))


def shown(steps_ms: list[int], segment: int, shift_ms: int) -> np.ndarray[tuple[int], np.dtype[np.void]]:
    times_ns = START_NS + (shift_ms + np.cumsum([0, *steps_ms])) * NS_PER_MS
    return displayed_frames(times_ns, segment=segment)


def one_second_sd_ms(series: IntervalSeries) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return rolling_sd_ms(series, NS_PER_S)
