"""Thinning a curve to pixels keeps every spike and every gap."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from widgets.decimation import FloatArray, decimate_min_max

VALUES = st.one_of(st.just(float("nan")), st.floats(-1e6, 1e6, width=32))


@st.composite
def curves(draw: st.DrawFn) -> tuple[FloatArray, FloatArray, float]:
    steps = draw(hnp.arrays(np.float64, st.integers(0, 300), elements=st.floats(0, 0.5)))
    y = draw(hnp.arrays(np.float64, steps.size, elements=VALUES))
    return np.cumsum(steps), y, draw(st.floats(0.01, 20))


def bins_of(x: FloatArray, width: float) -> FloatArray:
    return np.floor(x / width)


@given(curves())
def test_the_result_is_a_part_of_the_input_in_its_order(curve: tuple[FloatArray, FloatArray, float]) -> None:
    x, y, width = curve
    kept_x, kept_y = decimate_min_max(x, y, width)
    points = list(zip(x.tolist(), map(repr, y.tolist()), strict=True))
    position = -1
    for point in zip(kept_x.tolist(), map(repr, kept_y.tolist()), strict=True):
        position = points.index(point, position + 1)


@given(curves())
def test_no_more_than_three_points_of_a_pixel_column_are_drawn_unless_there_were_no_more(
    curve: tuple[FloatArray, FloatArray, float],
) -> None:
    x, y, width = curve
    kept_x, _ = decimate_min_max(x, y, width)
    columns = len(np.unique(bins_of(x, width)))
    assert kept_x.size <= max(3 * columns, 3)


@given(curves())
def test_the_highest_and_lowest_value_of_every_pixel_column_survive(
    curve: tuple[FloatArray, FloatArray, float],
) -> None:
    x, y, width = curve
    kept_x, kept_y = decimate_min_max(x, y, width)
    before, after = bins_of(x, width), bins_of(kept_x, width)
    for column in np.unique(before[~np.isnan(y)]):
        values, kept = y[before == column], kept_y[after == column]
        assert np.nanmin(kept) == np.nanmin(values)
        assert np.nanmax(kept) == np.nanmax(values)


@given(curves())
def test_a_pixel_column_with_a_gap_keeps_a_gap_and_no_other_gets_one(
    curve: tuple[FloatArray, FloatArray, float],
) -> None:
    x, y, width = curve
    kept_x, kept_y = decimate_min_max(x, y, width)
    gaps = set(bins_of(x, width)[np.isnan(y)].tolist())
    assert set(bins_of(kept_x, width)[np.isnan(kept_y)].tolist()) == gaps


def test_one_spike_in_a_hundred_thousand_points_is_still_there() -> None:
    x = np.arange(100_000) / 60
    y = np.full(x.size, 16.667)
    y[54_321] = 200.0
    _, kept = decimate_min_max(x, y, x[-1] / 800)
    assert kept.size <= 3 * 801
    assert kept.max() == 200.0


def test_a_scrolling_curve_keeps_its_points_because_columns_lie_on_an_absolute_grid() -> None:
    x = np.arange(6_000) / 60
    y = np.sin(x * 40)
    _, whole = decimate_min_max(x, y, 0.5)
    later_x, later = decimate_min_max(x[600:], y[600:], 0.5)
    assert later_x.size > 0
    assert set(later.tolist()) <= set(whole.tolist())
