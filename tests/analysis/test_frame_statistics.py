"""Frame statistics of any slice: complete, explained where missing, independent of the records' order."""

from __future__ import annotations

import math

import numpy as np
import pytest

from app.analysis.frame_statistics import frame_statistics
from app.analysis.summary import Missing, Summary, Value
from app.core.metrics import METRICS, SAMPLED
from app.core.records import empty_frames
from tests.analysis.run_builder import Made, made_frames

NOMINAL_MS = 1000 / 60


def test_a_perfect_run_reads_as_one() -> None:
    result = frame_statistics(made_frames(Made(seconds=20.0)), NOMINAL_MS)
    latency, fps, jitter = result["source_to_display_ms"], result["fps_average"], result["jitter_sd_ms"]
    assert isinstance(latency, Summary)
    assert isinstance(fps, Value)
    assert isinstance(jitter, Value)
    assert latency.p50 == pytest.approx(50.0, abs=0.02)
    assert fps.value == pytest.approx(60.0, abs=0.01)
    assert jitter.value < 0.01


def test_every_statistic_is_of_the_kind_that_the_table_names() -> None:
    for metric_id, measured in frame_statistics(made_frames(Made(decimate_every=5, makes_up=True)), NOMINAL_MS).items():
        kind = Summary if METRICS[metric_id].statistics == SAMPLED else Value
        assert isinstance(measured, kind), metric_id


def test_of_no_frames_everything_is_missing_with_a_reason() -> None:
    for metric_id, measured in frame_statistics(empty_frames(0), math.nan).items():
        assert isinstance(measured, Missing), metric_id
        assert measured.reason


def test_the_order_of_records_changes_nothing() -> None:
    frames = made_frames(Made(jitter_ms=3.0, lost_every=7))
    shuffled = np.random.default_rng(2).permutation(frames)
    ordered = frame_statistics(frames, NOMINAL_MS)
    for metric_id, measured in frame_statistics(shuffled, NOMINAL_MS).items():
        for statistic in ("n", "mean", "sd", "p50", "p95", "p99", "max", "value"):
            expected = getattr(ordered[metric_id], statistic, None)
            assert getattr(measured, statistic, None) == pytest.approx(expected, nan_ok=True), metric_id


def test_p1_of_a_short_window_says_how_many_it_needs() -> None:
    result = frame_statistics(made_frames(Made(seconds=1.0)), NOMINAL_MS)["fps_p1"]
    assert result == Missing("fewer than 100 intervals, there are 59")
