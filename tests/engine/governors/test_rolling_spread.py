"""The running mean and deviation are those of the ring, exactly, however long it has run."""

from __future__ import annotations

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.governors.rolling_spread import RollingSpread


@given(st.lists(st.integers(-(10**12), 10**12), max_size=200), st.integers(1, 64))
def test_it_agrees_with_the_samples_in_the_ring(values: list[int], size: int) -> None:
    spread = RollingSpread(size)
    for value in values:
        spread.add(value)
    last = values[-size:]
    assert len(spread) == len(last)
    assert spread.is_full == (len(last) == size)
    if not last:
        assert math.isnan(spread.mean)
        assert math.isnan(spread.median())
        return
    assert spread.mean == pytest.approx(statistics.fmean(last))
    assert spread.median() == pytest.approx(statistics.median(last))
    assert math.isnan(spread.sd) if len(last) < 2 else spread.sd == pytest.approx(statistics.stdev(last))


def test_a_million_large_samples_leave_no_rounding_behind() -> None:
    spread = RollingSpread(4)
    for number in range(1_000_000):
        spread.add(9_000_000_000 + number % 7)
    for _ in range(4):
        spread.add(5)
    assert (spread.mean, spread.sd) == (5.0, 0.0)
