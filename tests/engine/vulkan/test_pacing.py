from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.vulkan.pacing import PROBE_PRESENTS, Pacing, is_slower_than_free, judge_pacing, outruns_fifo

MS = 1_000_000


def burst(images: int, cost_ns: float, period_ns: float, seed: int = 0) -> list[int]:
    """Stamps of a burst: drawing costs `cost_ns`, and a display with this period frees one image a refresh."""
    random = np.random.default_rng(seed)
    now_ns = 0.0
    stamps: list[int] = []
    for present in range(images + PROBE_PRESENTS):
        now_ns += cost_ns * random.uniform(0.8, 1.3)
        freed = present - images + 1
        if freed > 0:
            now_ns = max(now_ns, (np.ceil(stamps[0] / period_ns) + freed) * period_ns if period_ns else 0)
        stamps.append(round(now_ns + random.uniform(0, 50_000)))
    return stamps


@given(st.integers(2, 8), st.floats(0.02, 1.5), st.sampled_from([48, 60, 72, 144, 240]), st.integers(0, 99))
def test_a_display_that_lets_one_image_through_a_refresh_paces(
    images: int, cost_ms: float, refresh_hz: int, seed: int
) -> None:
    pacing = judge_pacing(burst(images, cost_ms * MS, 1000 / refresh_hz * MS, seed), images)
    assert pacing is not None
    assert pacing.paces
    assert pacing.interval_ns == pytest.approx(1000 / refresh_hz * MS, rel=0.1)


@given(st.integers(2, 8), st.floats(0.02, 30), st.integers(0, 99))
def test_a_driver_that_is_merely_slow_does_not_pace(images: int, cost_ms: float, seed: int) -> None:
    pacing = judge_pacing(burst(images, cost_ms * MS, 0, seed), images)
    assert pacing is not None
    assert not pacing.paces


def test_a_burst_cut_short_tells_nothing() -> None:
    assert judge_pacing([], 3) is None
    assert judge_pacing(list(itertools.accumulate([MS] * 4)), 3) is None


@pytest.mark.parametrize(("free_ms", "paces"), [(0.3, True), (8.0, True), (15.0, False), (17.0, False)])
def test_a_queue_held_up_by_a_slow_driver_is_told_from_a_display(free_ms: float, paces: bool) -> None:
    assert is_slower_than_free(Pacing(True, 16.7 * MS), Pacing(False, free_ms * MS)) is paces


@pytest.mark.parametrize(("free_ms", "paces"), [(0.2, True), (4.0, True), (8.0, False), (17.0, False)])
def test_a_compositor_that_holds_back_every_present_is_known_by_another_mode_alone(free_ms: float, paces: bool) -> None:
    assert is_slower_than_free(Pacing(False, 17.4 * MS), Pacing(False, free_ms * MS)) is paces


@given(st.integers(2, 8), st.sampled_from([24, 60, 144, 240]), st.integers(20, 64), st.integers(0, 99))
def test_presents_of_a_fifo_that_waits_never_outrun_it(images: int, refresh_hz: int, count: int, seed: int) -> None:
    period_ns = 1000 / refresh_hz * MS
    stamps = burst(images, 0.2 * MS, period_ns, seed)
    while len(stamps) < count:
        stamps.append(round(stamps[-1] + period_ns))
    assert not outruns_fifo(stamps, images, period_ns)
    assert not outruns_fifo(stamps[-count:], images, period_ns)


@given(st.integers(2, 8), st.integers(20, 64))
def test_presents_that_never_wait_outrun_a_fifo(images: int, count: int) -> None:
    stamps = [round(0.3 * MS * n) for n in range(count)]
    assert outruns_fifo(stamps, images, 1000 / 60 * MS) == (count - 1 - images >= PROBE_PRESENTS)
    assert not outruns_fifo([50 * n * MS for n in range(count)], images, 1000 / 60 * MS)
