from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.engine.vulkan.gpu_clock import (
    PAIRS_KEPT,
    ClockHistory,
    ClockPair,
    begin_history,
    clock_state,
    fit_clock,
    follow_clock,
)
from tests.engine.vulkan.conftest import OpenRenderer

SECOND_NS = 1_000_000_000


@given(
    period_ns=st.sampled_from([1.0, 10.0, 52.0833, 83.3333]),
    drift=st.floats(-100e-6, 100e-6),
    origin=st.integers(0, 2**60),
    count=st.integers(2, 32),
)
def test_the_fit_follows_a_drifting_clock_to_a_microsecond(
    period_ns: float, drift: float, origin: int, count: int
) -> None:
    true_period_ns = period_ns * (1 + drift)
    ticks = [origin + round(second * SECOND_NS / true_period_ns) for second in range(count)]
    pairs = [ClockPair(tick, 5_000 + second * SECOND_NS, 1) for second, tick in enumerate(ticks)]
    fit = fit_clock(pairs, period_ns)
    later = ticks[-1] + round(SECOND_NS / true_period_ns)
    predicted_ns = fit.origin_ns + (later - fit.origin_ticks) * fit.ns_per_tick
    assert abs(predicted_ns - (5_000 + count * SECOND_NS)) < 1_000


def test_one_pair_gives_the_nominal_rate() -> None:
    fit = fit_clock([ClockPair(100, 9_000, 1)], 10.0)
    assert fit == (100, 9_000, 10.0)


def test_a_few_wild_pairs_do_not_move_the_fit() -> None:
    random = np.random.default_rng(3)
    pairs = [
        ClockPair(second * SECOND_NS, second * SECOND_NS + int(random.integers(-50, 50)), 50) for second in range(20)
    ]
    for index in (4, 9, 15):
        pairs[index] = pairs[index]._replace(monotonic_ns=pairs[index].monotonic_ns + 3_000_000)
    fit = fit_clock(pairs, 1.0)
    assert abs(fit.origin_ns - 19 * SECOND_NS) < 2_000
    assert abs(fit.ns_per_tick - 1) < 1e-6


def follow(pairs: list[ClockPair], nominal: float = 1.0) -> ClockHistory:
    history = begin_history(pairs[0], nominal)
    for pair in pairs[1:]:
        history = follow_clock(history, pair, nominal)
    return history


def predict(history: ClockHistory, ticks: int) -> float:
    return history.fit.origin_ns + (ticks - history.fit.origin_ticks) * history.fit.ns_per_tick


@given(
    drift=st.floats(-100e-6, 100e-6),
    jump_ns=st.one_of(st.integers(-(10**13), -1_000_000), st.integers(1_000_000, 10**13)),
    before=st.integers(1, 60),
    after=st.integers(2, 40),
    seed=st.integers(0, 99),
)
def test_two_pairs_behind_a_step_of_a_clock_the_line_is_right_again(
    drift: float, jump_ns: int, before: int, after: int, seed: int
) -> None:
    """CLOCK_MONOTONIC stands still in a suspend, or the GPU's counter does: either way one clock moves by itself."""
    random = np.random.default_rng(seed)

    def true_ns(second: int) -> int:
        return round(second * SECOND_NS * (1 + drift)) + (jump_ns if second >= before else 0)

    pairs = [
        ClockPair(second * SECOND_NS, true_ns(second) + int(random.integers(-200, 200)), 200)
        for second in range(before + after)
    ]
    history = follow(pairs)
    assert history.restarts == 1
    assert len(history.pairs) == min(after, PAIRS_KEPT)
    newest = before + after - 1
    assert abs(predict(history, newest * SECOND_NS) - true_ns(newest)) < 1_000
    state = clock_state(history, 1.0)
    assert abs(state.offset_ns - (true_ns(newest) - newest * SECOND_NS)) < 2_000
    assert after < 3 or abs(state.drift_ppm - drift * 1e6) < 0.5


@given(st.sets(st.integers(1, 49), max_size=8), st.integers(300_000, 10**10), st.integers(0, 99))
def test_lone_wild_pairs_begin_no_new_line(wild: set[int], off_ns: int, seed: int) -> None:
    random = np.random.default_rng(seed)
    pairs = [
        ClockPair(second * SECOND_NS, second * SECOND_NS + int(random.integers(-100, 100)), 100) for second in range(50)
    ]
    for second in wild:
        if second - 1 not in wild:
            pairs[second] = pairs[second]._replace(monotonic_ns=pairs[second].monotonic_ns + off_ns + second)
    history = follow(pairs)
    assert history.restarts == 0
    assert abs(predict(history, 50 * SECOND_NS) - 50 * SECOND_NS) < 1_000


def test_state_tells_drift_residual_and_how_far_the_line_has_moved() -> None:
    drift = 30e-6
    pairs = [ClockPair(second * 10**8, 7 + round(second * SECOND_NS * (1 + drift)), 10) for second in range(20)]
    state = clock_state(follow(pairs, nominal=10.0), 10.0)
    assert abs(state.drift_ppm - 30) < 0.01
    assert abs(state.offset_ns - 19 * 30_000) < 100
    assert state.residual_ns < 10
    assert (state.pairs, state.restarts) == (20, 0)


def test_the_software_device_s_clock_is_the_host_s(open_renderer: OpenRenderer) -> None:
    renderer = open_renderer(8, 8)
    for _ in range(5):
        renderer._renderer.clock.calibrate()
    state = renderer.gpu_clock
    assert state is not None
    assert state.pairs >= 5
    assert abs(state.drift_ppm) < 100
    assert state.residual_ns < 1_000_000
