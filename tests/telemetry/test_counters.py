"""Running counters never invent a number, and a PCIe link carries what its generation and width say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_S
from app.telemetry.calls import Verdict
from app.telemetry.counters import RunningCounter, link_limit_bytes_per_s


@pytest.mark.parametrize(
    ("generation", "gigabytes_per_s"), [(1, 0.25), (2, 0.5), (3, 0.985), (4, 1.969), (5, 3.938), (6, 7.56)]
)
def test_a_lane_carries_what_its_generation_says(generation: int, gigabytes_per_s: float) -> None:
    assert link_limit_bytes_per_s(generation, 1) / 1e9 == pytest.approx(gigabytes_per_s, abs=0.003)
    assert link_limit_bytes_per_s(generation, 16) == 16 * link_limit_bytes_per_s(generation, 1)


@pytest.mark.parametrize(("generation", "width"), [(0, 16), (7, 16), (4, 0), (4, 64)])
def test_there_is_no_such_link(generation: int, width: int) -> None:
    with pytest.raises(ValueError, match="no PCIe link"):
        link_limit_bytes_per_s(generation, width)


@given(
    start=st.integers(0, 2**64 - 1),
    rates=st.lists(st.integers(0, 1_000_000), min_size=1, max_size=30),
    bits=st.sampled_from([32, 64]),
)
def test_differences_are_exact_across_any_wrap(start: int, rates: list[int], bits: int) -> None:
    counter = RunningCounter(1_000_000)
    assert counter.rate(start % 2**bits, 0, bits).verdict is Verdict.PENDING
    total = start
    for second, rate in enumerate(rates, 1):
        total += rate
        assert counter.rate(total % 2**bits, second * NS_PER_S, bits).value == rate


@given(gap_s=st.floats(0.5, 100), jump=st.integers(1, 2**63))
def test_a_counter_that_was_reset_gives_a_reason_and_then_goes_on(gap_s: float, jump: int) -> None:
    counter = RunningCounter(1_000)
    counter.advance(jump, 0, 64)
    at_ns = round(gap_s * NS_PER_S)
    outcome = counter.advance(0, at_ns, 64)
    assert outcome.verdict is Verdict.FAILED
    assert counter.advance(7, at_ns + NS_PER_S, 64).value == 7


@given(elapsed_ns=st.integers(-(10**12), 0))
def test_no_time_passed_is_no_rate(elapsed_ns: int) -> None:
    counter = RunningCounter(1_000)
    counter.rate(0, 0, 64)
    assert "no time" in counter.rate(5, elapsed_ns, 64).reason


def test_a_narrow_counter_says_nothing_after_a_long_gap() -> None:
    counter = RunningCounter(2**31)
    counter.advance(0, 0, 32)
    assert counter.advance(5, NS_PER_S, 32).value == 5
    assert "more than once" in counter.advance(9, 4 * NS_PER_S, 32).reason
