from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.engine.vulkan.gpu_clock import ClockPair, fit_clock

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
