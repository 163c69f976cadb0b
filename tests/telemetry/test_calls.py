"""Paced calls: each on its own cadence, timed, isolated, and backing off when it is dear."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_MS, NS_PER_S
from app.telemetry.calls import (
    CHEAP_CALL_NS,
    LONGEST_BACK_OFF,
    REPEAT_UNAVAILABLE_NS,
    SLOW_CALL_NS,
    CallFailedError,
    CallSet,
    Outcome,
    PacedCall,
    failed,
    paced_period_ns,
    pending,
    unavailable,
)


class Driver:
    """A driver whose answers and costs are scripted."""

    def __init__(self, cost_ns: int = 1_000) -> None:
        self.cost_ns = cost_ns
        self.now_ns = 0
        self.calls = 0
        self.answer: Outcome | Exception = Outcome(1.0)

    def read(self, _: int) -> dict[str, Outcome]:
        self.calls += 1
        self.now_ns += self.cost_ns
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"m": self.answer}

    def call_set(self, period_ns: int = NS_PER_S, known_slow: bool = False) -> CallSet:
        call = PacedCall("driver.m", ("m",), self.read, period_ns, known_slow=known_slow)
        return CallSet([call], lambda: self.now_ns)


@given(costs=st.lists(st.integers(0, 10 * NS_PER_MS), max_size=60), base_ns=st.integers(NS_PER_MS, 10 * NS_PER_S))
def test_a_pace_stays_between_its_base_and_sixteen_times_it(costs: list[int], base_ns: int) -> None:
    current = base_ns
    for cost_ns in costs:
        following = paced_period_ns(base_ns, current, cost_ns)
        assert base_ns <= following <= base_ns * LONGEST_BACK_OFF
        assert following >= current or cost_ns < CHEAP_CALL_NS
        assert following <= current or cost_ns > SLOW_CALL_NS
        current = following


def test_a_call_that_is_cheap_again_returns_to_its_pace() -> None:
    driver = Driver(cost_ns=3 * NS_PER_MS)
    calls = driver.call_set()
    for second in range(40):
        calls.run_due(second * NS_PER_S)
    assert calls.costs()[0].period_s == LONGEST_BACK_OFF
    driver.cost_ns = 10_000
    for second in range(40, 140):
        calls.run_due(second * NS_PER_S)
    assert calls.costs()[0].period_s == 1


def test_a_call_known_to_block_keeps_its_pace() -> None:
    driver = Driver(cost_ns=20 * NS_PER_MS)
    calls = driver.call_set(known_slow=True)
    for second in range(10):
        calls.run_due(second * NS_PER_S)
    assert driver.calls == 10


def test_polls_that_jitter_lose_no_turn() -> None:
    driver = Driver()
    calls = driver.call_set(NS_PER_S // 2)
    for index, late_ms in enumerate((0, 30, 0, 20, 0, 15, 3, 0)):
        calls.run_due(index * NS_PER_S // 2 + late_ms * NS_PER_MS)
    assert driver.calls == 8


def test_what_is_unavailable_is_not_asked_again_but_told_again() -> None:
    driver = Driver()
    driver.answer = unavailable("no such sensor")
    calls = driver.call_set()
    told = [timed for second in range(25) for timed in calls.run_due(second * NS_PER_S)]
    assert driver.calls == 1
    assert len(told) == 1 + 24 * NS_PER_S // REPEAT_UNAVAILABLE_NS
    assert {timed.outcome.reason for timed in told} == {"no such sensor"}
    assert calls.capabilities() == {"m": "no such sensor"}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (OSError(5, "Input/output error"), "the system does not answer: [Errno 5] Input/output error"),
        (CallFailedError(failed("busy")), "busy"),
    ],
)
def test_a_failed_call_is_missing_counted_and_tried_again(answer: Exception, reason: str) -> None:
    driver = Driver()
    driver.answer = answer
    calls = driver.call_set()
    assert calls.run_due(0)[0].outcome.reason == reason
    assert calls.capabilities() == {"m": reason}
    driver.answer = Outcome(2.0)
    assert calls.run_due(NS_PER_S)[0].outcome.value == 2.0
    assert calls.capabilities() == {"m": ""}
    assert calls.costs()[0].count == 2


def test_a_rate_without_a_second_sample_counts_as_there() -> None:
    driver = Driver()
    driver.answer = pending("needs a second sample")
    calls = driver.call_set()
    assert calls.capabilities() == {"m": "not read yet"}
    calls.run_due(0)
    assert calls.capabilities() == {"m": ""}


def test_costs_are_kept_by_call() -> None:
    driver = Driver(cost_ns=5_000)
    calls = driver.call_set()
    assert calls.costs() == []
    calls.run_due(0)
    driver.cost_ns = 15_000
    timed = calls.run_due(NS_PER_S)
    cost = calls.costs()[0]
    assert (cost.name, cost.count, cost.total_us, cost.worst_us) == ("driver.m", 2, 20.0, 15.0)
    assert timed[0].cost_us == 15.0


def test_costs_may_be_summed_over_readings() -> None:
    ticks = iter((0, 8_000))
    both = {"a": Outcome(1.0), "b": Outcome(2.0)}
    timed = CallSet([PacedCall("d.ab", ("a", "b"), lambda _: both, NS_PER_S)], lambda: next(ticks)).run_due(0)
    assert timed[0].cost_us == 8.0
    assert math.isnan(timed[1].cost_us)
