"""No statistic is made of too few samples, and a missing sample never counts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.summary import Missing, Summary, Value, single, summarise


def summary_of(values: list[float]) -> Summary:
    result = summarise(np.array(values, np.float64), "none")
    assert isinstance(result, Summary)
    return result


def test_a_summary_of_known_samples() -> None:
    result = summary_of([1.0, 2.0, 3.0, 4.0])
    assert (result.n, result.mean, result.p50, result.max) == (4, 2.5, 2.5, 4.0)
    assert result.sd == pytest.approx(1.2909944)
    assert result.p95 == pytest.approx(3.85)


def test_no_samples_gives_the_reason() -> None:
    assert summarise(np.array([math.nan, math.nan]), "no GPU") == Missing("no GPU")


def test_one_sample_is_no_statistic() -> None:
    assert isinstance(summarise(np.array([1.0, math.nan]), "no GPU"), Missing)


@pytest.mark.parametrize(
    ("n", "missing"), [(2, {"p99", "p999"}), (99, {"p99", "p999"}), (100, {"p999"}), (999, {"p999"}), (1000, set())]
)
def test_high_percentiles_need_enough_samples(n: int, missing: set[str]) -> None:
    result = summary_of([float(value) for value in range(n)])
    assert set(result.missing_statistics()) == missing
    assert {name for name in ("p99", "p999") if math.isnan(getattr(result, name))} == missing


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=300))
def test_missing_samples_change_nothing(values: list[float]) -> None:
    holed = [item for value in values for item in (value, math.nan)]
    assert repr(summary_of(holed)) == repr(summary_of(values))


def test_a_single_value_that_is_nan_is_missing() -> None:
    assert single(math.nan, 3, "why") == Missing("why")
    assert single(2.0, 3, "why") == Value(2.0, 3)
