"""LOW_JITTER as pure decisions on simulated time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import Fate, PresentMode
from app.engine.scheduling import (
    Decision,
    Pacing,
    Playout,
    Step,
    class_of_miss,
    note_presented,
    note_replaced,
    plan_low_jitter,
    predict_flip,
)
from app.engine.sinks.sink import RefreshGrid

T_NS = 1e9 / 60
GRID = RefreshGrid(1_000_000_000, T_NS)
FIFO = Pacing(PresentMode.FIFO, GRID, T_NS)
IN_TIME = Playout()


def at(refreshes: float) -> int:
    return round(GRID.phase_ns + refreshes * T_NS)


def plan(
    due: float, now: float, newer: float | None = None, pacing: Pacing = FIFO, playout: Playout = IN_TIME
) -> Decision:
    return plan_low_jitter(at(due), at(now), None if newer is None else at(newer), pacing, playout)


@pytest.mark.parametrize(("due", "refresh"), [(5.0, 5), (4.6, 5), (5.4, 5), (5.6, 6)])
def test_a_frame_goes_to_the_refresh_nearest_to_its_due_time(due: float, refresh: int) -> None:
    decision = plan(due, now=0.5)
    assert decision.step is Step.WAIT
    assert predict_flip(decision.at_ns, FIFO, IN_TIME) == at(refresh)


def test_it_is_presented_just_after_the_refresh_before_its_own() -> None:
    decision = plan(5.0, now=0.5)
    assert at(4.0) < decision.at_ns < at(4.1)
    assert plan(5.0, now=4.1).step is Step.PRESENT


def test_behind_a_promised_frame_it_is_queued_one_refresh_sooner_if_there_is_a_third_image() -> None:
    playout = note_presented(at(4.0), at(3.1), FIFO, IN_TIME)
    three = FIFO._replace(image_count=3)
    assert at(3.0) < plan(5.0, now=0.5, pacing=three, playout=playout).at_ns < at(3.1)
    assert at(4.0) < plan(5.0, now=0.5, pacing=FIFO, playout=playout).at_ns < at(4.1)
    assert at(5.0) < plan(6.0, now=0.5, pacing=three, playout=playout).at_ns < at(5.1)


def test_a_late_frame_is_shown_at_once_while_nothing_newer_is_ready() -> None:
    assert plan(5.0, now=5.2).step is Step.PRESENT


def test_a_late_frame_is_given_up_for_a_newer_one_whose_refresh_it_would_take() -> None:
    assert plan(5.0, now=5.2, newer=6.0) == Decision(Step.DROP, fate=Fate.DEADLINE_MISSED)


def test_a_late_frame_is_shown_while_the_newer_one_waits_for_a_later_refresh() -> None:
    assert plan(5.0, now=5.2, newer=7.0).step is Step.PRESENT
    blind = Pacing(PresentMode.IMMEDIATE, None, T_NS)
    assert plan(5.0, now=5.7, newer=7.5, pacing=blind).step is Step.PRESENT
    assert plan(5.0, now=5.7, newer=5.6, pacing=blind).step is Step.DROP


def test_a_miss_is_the_source_s_fault_when_the_frame_arrived_after_its_time() -> None:
    assert class_of_miss(at(5.6), at(5.0), FIFO) is Fate.SOURCE_LATE
    assert class_of_miss(at(5.4), at(5.0), FIFO) is Fate.DEADLINE_MISSED


def test_half_a_refresh_late_is_not_late() -> None:
    assert plan(5.5, now=5.2, newer=6.5).step is Step.PRESENT


def test_of_two_frames_for_one_refresh_the_second_is_superseded() -> None:
    playout = note_presented(at(5.0), at(4.1), FIFO, IN_TIME)
    assert plan(5.4, now=4.2, newer=5.9, playout=playout) == Decision(Step.DROP, fate=Fate.SUPERSEDED)
    assert plan(5.4, now=4.2, playout=playout) == Decision(Step.DROP, fate=Fate.SUPERSEDED)


def test_mailbox_leaves_superseding_to_the_display() -> None:
    mailbox = Pacing(PresentMode.MAILBOX, GRID, T_NS)
    playout = note_presented(at(5.0), at(4.1), mailbox, IN_TIME)
    assert plan(5.4, now=4.2, pacing=mailbox, playout=playout).step is Step.PRESENT


def test_after_a_late_frame_the_next_makes_up_for_it() -> None:
    """The refresh of frame 6 went to late frame 5: 6 is given up if 7 is ready, so that 7 is in time."""
    late = note_presented(at(5.0), at(5.2), FIFO, IN_TIME)
    assert late.last_was_late
    assert plan(6.0, now=5.3, newer=7.0, playout=late) == Decision(Step.DROP, fate=Fate.DEADLINE_MISSED)
    assert plan(6.0, now=5.3, playout=late).step is Step.PRESENT
    assert plan(7.0, now=5.3, newer=8.0, playout=late).step is Step.WAIT


def test_immediate_presents_when_due_whatever_the_refresh() -> None:
    immediate = Pacing(PresentMode.IMMEDIATE, GRID, T_NS)
    assert plan(5.3, now=4.0, pacing=immediate) == Decision(Step.WAIT, at_ns=at(5.3))
    assert plan(5.3, now=5.3, pacing=immediate).step is Step.PRESENT


def test_a_paced_fifo_of_unknown_phase_is_called_half_a_refresh_early() -> None:
    blind = Pacing(PresentMode.FIFO, None, T_NS, paces_fifo=True)
    decision = plan(5.0, now=4.0, pacing=blind)
    assert decision.at_ns == pytest.approx(at(4.5), abs=2)


def test_a_compositor_is_allowed_for() -> None:
    grid = RefreshGrid(GRID.phase_ns, T_NS, round(T_NS))
    pacing = Pacing(PresentMode.FIFO, grid, T_NS)
    decision = plan(5.0, now=0.5, pacing=pacing)
    assert predict_flip(decision.at_ns, pacing, IN_TIME) == at(4.0)


@given(
    st.floats(24, 240),
    st.floats(24, 240),
    st.floats(0, 1),
    st.sampled_from([PresentMode.FIFO, PresentMode.FIFO_RELAXED, PresentMode.MAILBOX, PresentMode.FIFO_LATEST_READY]),
    st.integers(2, 8),
)
def test_an_undisturbed_source_is_shown_within_half_a_refresh_of_due_or_superseded(
    rate_hz: float, refresh_hz: float, phase: float, mode: PresentMode, images: int
) -> None:
    """Frames ready in time never miss a deadline, and each shown one flips within T/2 of its due time."""
    period_ns = 1e9 / refresh_hz
    grid = RefreshGrid(1_000_000_000, period_ns)
    pacing = Pacing(mode, grid, period_ns, image_count=images)
    playout, now_ns = Playout(), 1_000_000_000
    flips: list[int] = []
    for number in range(60):
        due_ns = round(1_000_000_000 + (phase + 4) * period_ns + number * 1e9 / rate_hz)
        newer_ns = round(due_ns + 1e9 / rate_hz)
        decision = plan_low_jitter(due_ns, now_ns, newer_ns, pacing, playout)
        if decision.step is Step.WAIT:
            now_ns = decision.at_ns
            decision = plan_low_jitter(due_ns, now_ns, newer_ns, pacing, playout)
        if decision.step is Step.DROP:
            assert decision.fate is Fate.SUPERSEDED
            assert rate_hz > refresh_hz - 1e-6
            continue
        flips.append(predict_flip(now_ns, pacing, playout))
        assert abs(flips[-1] - due_ns) <= period_ns / 2 + 2
        playout = note_presented(due_ns, now_ns, pacing, playout)
        now_ns += 1000
    if mode in (PresentMode.FIFO, PresentMode.FIFO_RELAXED):
        assert flips == sorted(set(flips))


@given(
    st.floats(-3, 3),
    st.floats(0.1, 20),
    st.one_of(st.none(), st.floats(0.1, 25)),
    st.sampled_from(list(PresentMode)),
    st.booleans(),
)
def test_a_decision_is_always_possible_and_a_wait_ends_in_the_future(
    late: float, due: float, newer: float | None, mode: PresentMode, known: bool
) -> None:
    pacing = Pacing(mode, GRID if known else None, T_NS)
    decision = plan(due, now=due + late, newer=newer, pacing=pacing)
    if decision.step is Step.WAIT:
        assert decision.at_ns > at(due + late)
    if decision.step is Step.DROP:
        assert newer is not None


def test_a_frame_that_missed_its_refresh_pushes_back_what_is_queued_behind_it() -> None:
    promised = note_presented(at(5.0), at(4.1), FIFO, IN_TIME)
    corrected = note_replaced(at(5.0), 1, FIFO, promised)
    assert corrected == Playout(at(6.0), last_was_late=True)
    assert note_replaced(at(4.0), 1, FIFO, promised) == promised
    mailbox = Pacing(PresentMode.MAILBOX, GRID, T_NS)
    assert note_replaced(at(9.0), 1, mailbox, promised) == promised
