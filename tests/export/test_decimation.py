"""Decimation keeps every spike and every gap."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.export.decimation import decimate_min_max, decimate_parts, thin_marks

CURVES = st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=600).map(np.array)


@given(CURVES, st.integers(1, 60))
def test_the_least_and_greatest_survive_within_the_budget(y: np.ndarray, columns: int) -> None:
    x = np.arange(len(y), dtype=np.float64)
    thin_x, thin_y = decimate_min_max(x, y, columns)
    assert (thin_y.min(), thin_y.max()) == (y.min(), y.max())
    assert len(thin_x) <= max(2 * columns, 1)
    assert (np.diff(thin_x) > 0).all()
    np.testing.assert_array_equal(y[thin_x.astype(int)], thin_y)


def test_one_spike_in_two_hundred_thousand_survives() -> None:
    y = np.full(200_000, 8.3)
    y[123_456] = 250.0
    thin_x, thin_y = decimate_min_max(np.arange(200_000.0), y, 600)
    assert thin_y.max() == 250.0
    assert thin_x[thin_y.argmax()] == 123_456
    assert len(thin_x) <= 1200


@given(st.lists(st.integers(1, 300), min_size=1, max_size=6), st.integers(10, 100))
def test_there_is_a_gap_between_any_two_parts(sizes: list[int], columns: int) -> None:
    part = np.repeat(np.arange(len(sizes)), sizes)
    x = np.arange(len(part), dtype=np.float64)
    thin_x, thin_y = decimate_parts(x, x, part, columns)
    assert np.isnan(thin_y).sum() == len(sizes)
    assert np.isnan(thin_x).sum() == len(sizes)
    assert {int(value) for value in np.nan_to_num(thin_y, nan=0.0)} <= set(range(len(part)))


def test_an_empty_curve_stays_empty() -> None:
    empty = np.empty(0)
    assert len(decimate_parts(empty, empty, np.empty(0, np.intp), 10)[0]) == 0


def test_marks_on_top_of_each_other_are_drawn_once() -> None:
    marks = thin_marks(np.concatenate((np.zeros(1000), [5.0], np.full(1000, 10.0))), 100)
    assert marks.tolist() == [0.0, 5.0, 10.0]
