"""The jitter curve is the textbook standard deviation of each trailing window."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from app.gui.running_deviation import running_sd
from widgets.decimation import FloatArray


def by_the_book(time_s: FloatArray, values: FloatArray, window_s: float, index: int) -> float:
    behind_gap = np.flatnonzero(np.isnan(values[: index + 1]))
    first = behind_gap[-1] + 1 if behind_gap.size else 0
    window = [values[i] for i in range(first, index + 1) if time_s[i] > time_s[index] - window_s]
    return float(np.std(window, ddof=1)) if len(window) >= 2 else float("nan")


@given(
    steps=hnp.arrays(np.float64, st.integers(1, 60), elements=st.floats(0.001, 0.5)),
    data=st.data(),
)
def test_every_point_is_the_deviation_of_its_own_window(steps: FloatArray, data: st.DataObject) -> None:
    time_s = np.cumsum(steps)
    number = st.one_of(st.just(float("nan")), st.floats(1, 300))
    values = data.draw(hnp.arrays(np.float64, steps.size, elements=number))
    first = data.draw(st.integers(0, steps.size))
    result = running_sd(time_s, values, 1.0, first)
    expected = [by_the_book(time_s, values, 1.0, index) for index in range(first, steps.size)]
    np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-4)


def test_no_deviation_spans_a_gap() -> None:
    time_s = np.arange(6) / 60
    values = np.array([16.0, 17.0, np.nan, 100.0, 100.0, 100.0])
    assert running_sd(time_s, values, 1.0, 0)[-1] == pytest.approx(0.0, abs=1e-5)
