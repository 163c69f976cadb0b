"""Decimation is even: at no point is it a frame away from the exact rate."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from app.engine.decimation import Decimator


@given(st.floats(1, 480), st.floats(0.5, 480), st.integers(1, 400))
def test_any_stretch_is_within_a_frame_of_the_exact_rate(given_hz: float, wanted_hz: float, count: int) -> None:
    decimator = Decimator()
    kept = [decimator.keep(given_hz, wanted_hz) for _ in range(count)]
    ratio = min(1.0, wanted_hz / given_hz)
    for start in range(0, count, 37):
        for end in range(start + 1, count + 1, 41):
            assert abs(sum(kept[start:end]) - (end - start) * ratio) <= 1 + 1e-6


@given(st.floats(1, 480))
def test_no_limit_keeps_everything(rate_hz: float) -> None:
    decimator = Decimator()
    assert all(decimator.keep(rate_hz, 0) for _ in range(10))
    assert all(decimator.keep(None, 10) for _ in range(10))
    assert all(decimator.keep(rate_hz, rate_hz) for _ in range(10))


def test_a_third_of_60_is_every_third_frame() -> None:
    decimator = Decimator()
    kept = [number for number in range(30) if decimator.keep(60, 20)]
    assert {later - earlier for earlier, later in itertools.pairwise(kept)} == {3}


def test_45_of_60_is_three_of_every_four() -> None:
    decimator = Decimator()
    kept = [decimator.keep(60, 45) for _ in range(40)]
    assert all(sum(kept[start : start + 4]) == 3 for start in range(36))
