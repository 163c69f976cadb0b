from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.engine.vulkan.plausibility import (
    AHEAD_NS,
    EARLY_NS,
    PROOF,
    REMEMBERED,
    TOLERATED,
    Flaw,
    Trust,
    find_flaw,
    remember,
    why_not_believed,
)

REFRESH_NS = 16_666_667
LONG_AFTER_NS = 10**15


def judge(trust: Trust, displayed_ns: int, call_ns: int, spacing_ns: float = REFRESH_NS / 2) -> Trust:
    flaw = find_flaw(trust, displayed_ns, call_ns, LONG_AFTER_NS, spacing_ns)
    return remember(trust, displayed_ns, flaw)


@pytest.mark.parametrize(
    ("displayed_ns", "flaw"),
    [
        (1_000_000_000, Flaw.NONE),
        (1_000_000_000 - EARLY_NS, Flaw.NONE),
        (1_000_000_000 - EARLY_NS - 1, Flaw.BEFORE_CALL),
        (1_010_000_000 + AHEAD_NS, Flaw.NONE),
        (1_010_000_000 + AHEAD_NS + 1, Flaw.FUTURE),
    ],
)
def test_a_stamp_lies_behind_its_present_call_and_not_in_the_far_future(displayed_ns: int, flaw: Flaw) -> None:
    assert find_flaw(Trust(), displayed_ns, 1_000_000_000, 1_010_000_000, REFRESH_NS / 2) is flaw


@given(st.lists(st.integers(1, 5), min_size=1, max_size=200), st.integers(-4_000_000, 4_000_000))
def test_a_display_that_shows_at_refreshes_is_always_believed(skips: list[int], shake_ns: int) -> None:
    trust = Trust()
    for number, refresh in enumerate(itertools.accumulate(skips)):
        displayed_ns = refresh * REFRESH_NS + (shake_ns if number % 2 else 0)
        trust = judge(trust, displayed_ns, displayed_ns - REFRESH_NS)
    assert trust.flawed == 0
    assert trust.is_proven == (len(skips) >= PROOF)


def test_a_present_wait_that_returns_at_once_in_a_fifo_is_not_believed_for_long() -> None:
    trust = Trust()
    for number in itertools.count():
        trust = judge(trust, number * 200_000, number * 200_000 - 50_000)
        if trust.is_lost:
            break
    assert number == TOLERATED + 1
    assert why_not_believed(trust) == f"{TOLERATED + 1} of the last {TOLERATED + 2} {Flaw.TOO_SOON.value}"


def test_presents_that_need_not_wait_for_a_refresh_may_be_shown_as_fast_as_they_come() -> None:
    trust = Trust()
    for number in range(100):
        trust = judge(trust, number * 200_000, number * 200_000 - 50_000, spacing_ns=0)
    assert trust.is_proven


def test_a_clock_that_runs_backwards_is_found_out() -> None:
    trust = Trust()
    for number in range(REMEMBERED):
        displayed_ns = LONG_AFTER_NS - number * REFRESH_NS
        trust = judge(trust, displayed_ns, displayed_ns - 1000)
    assert trust.is_lost
    assert trust.worst is Flaw.NOT_RISING


@given(st.lists(st.booleans(), max_size=150))
def test_a_source_is_lost_exactly_when_more_than_a_few_of_its_remembered_stamps_are_odd(odd: list[bool]) -> None:
    trust = Trust()
    for number, is_odd in enumerate(odd):
        call_ns = (number + 1) * REFRESH_NS
        trust = judge(trust, call_ns - REFRESH_NS if is_odd else call_ns, call_ns)
        recent = odd[max(0, number + 1 - REMEMBERED) : number + 1]
        assert trust.flawed == sum(recent)
        assert trust.is_lost == (sum(recent) > TOLERATED)
        assert not (trust.is_lost and trust.is_proven) or sum(recent[-PROOF:]) == 0


def test_one_wild_stamp_does_not_condemn_those_behind_it() -> None:
    trust = judge(Trust(), REFRESH_NS, 0)
    trust = remember(trust, 10**18, Flaw.FUTURE)
    assert find_flaw(trust, 2 * REFRESH_NS, 2 * REFRESH_NS, LONG_AFTER_NS, REFRESH_NS / 2) is Flaw.NONE
