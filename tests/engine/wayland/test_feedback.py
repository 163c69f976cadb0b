"""Questions and answers about single pictures, with a compositor that answers as it is told."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.engine.wayland.client import Connection
from app.engine.wayland.feedback import Answer, PresentationFeedback
from app.engine.wayland.window import WaylandWindow
from tests.support.scripted_compositor import GLOBALS, ScriptedCompositor, serving
from tests.support.waiting import wait_until

SECOND_NS = 1_000_000_000


class Asker:
    """A window with feedback, and a compositor that has taken note of every question asked."""

    def __init__(self, compositor: ScriptedCompositor) -> None:
        self.compositor = compositor
        self.connection = Connection()
        self.window = WaylandWindow(self.connection, 64, 48, "asker", "veotuner-test")
        self.feedback = PresentationFeedback(self.connection, self.window)

    def ask(self, *numbers: int) -> None:
        for number in numbers:
            self.feedback.request(number)
        self.connection.flush()
        asked = self.feedback.requested
        wait_until(lambda: sum(call[1] == "feedback" for call in self.compositor.calls) >= asked)

    def answers(self) -> list[Answer]:
        """Return what came since the last call, when nothing is owed any more."""
        wait_until(lambda: self.feedback.answered >= self.feedback.requested)
        taken = []
        while (answer := self.feedback.take()) is not None:
            taken.append(answer)
        return taken

    def close(self) -> None:
        self.window.close()
        self.connection.close()


@pytest.fixture
def asker(scripted: ScriptedCompositor) -> Iterator[Asker]:
    one = Asker(scripted)
    yield one
    one.close()


def test_an_answer_carries_the_number_the_moment_and_what_the_compositor_knows(asker: Asker) -> None:
    asker.ask(41)
    asker.compositor.present(5 * SECOND_NS + 250, refresh_ns=16_666_666)
    assert asker.answers() == [Answer(41, 5 * SECOND_NS + 250, 16_666_666, discarded=False)]
    assert (asker.feedback.requested, asker.feedback.answered, asker.feedback.shown) == (1, 1, 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 2**63 - 1), st.integers(0, 2**62))
def test_no_number_and_no_stamp_is_bent(asker: Asker, number: int, stamp_ns: int) -> None:
    asker.ask(number)
    asker.compositor.present(stamp_ns)
    (answer,) = asker.answers()
    assert (answer.number, answer.displayed_ns) == (number, stamp_ns)


@given(st.lists(st.booleans(), min_size=1, max_size=40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_picture_is_answered_once_in_whatever_order(asker: Asker, shown: list[bool]) -> None:
    first = asker.feedback.requested
    numbers = list(range(first, first + len(shown)))
    asker.ask(*numbers)
    for each in shown:
        asker.compositor.present(SECOND_NS) if each else asker.compositor.discard(-1)
    answers = asker.answers()
    assert sorted(answer.number for answer in answers) == numbers
    assert [answer.discarded for answer in answers] == [not each for each in shown]


def test_a_picture_that_was_replaced_is_known_before_an_older_one_that_is_shown(asker: Asker) -> None:
    asker.ask(1, 2)
    asker.compositor.discard(1)
    asker.compositor.present(SECOND_NS)
    assert [(answer.number, answer.discarded) for answer in asker.answers()] == [(2, True), (1, False)]


@pytest.mark.parametrize("clock_id", [time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW, time.CLOCK_BOOTTIME])
def test_stamps_arrive_in_clock_monotonic_whatever_clock_the_compositor_keeps(
    clock_id: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(ScriptedCompositor(clock_id=clock_id), monkeypatch) as compositor:
        asker = Asker(compositor)
        asker.ask(1, 2)
        moment_ns = time.monotonic_ns()
        stamp_ns = time.clock_gettime_ns(clock_id)
        compositor.present(stamp_ns)
        compositor.present(stamp_ns + 4_000_000)  # a flip foretold
        shown, foretold = asker.answers()
        assert shown.displayed_ns == pytest.approx(moment_ns, abs=100_000)
        assert foretold.displayed_ns - shown.displayed_ns == 4_000_000
        asker.close()


@pytest.mark.parametrize(
    ("clock_id", "left_out", "reason"),
    [
        (1, "wp_presentation", "the compositor has no wp_presentation"),
        (4711, "", "the compositor stamps in clock 4711, which cannot be read here"),
    ],
)
def test_a_compositor_that_cannot_tell_is_not_asked_and_the_reason_is_known(
    clock_id: int, left_out: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered = {name: version for name, version in GLOBALS.items() if name != left_out}
    with serving(ScriptedCompositor(offered, clock_id=clock_id), monkeypatch) as compositor:
        asker = Asker(compositor)
        assert not asker.feedback.available
        assert asker.feedback.unavailable == reason
        asker.close()


def test_answers_that_are_owed_for_ever_do_not_hold_the_closing_up(asker: Asker) -> None:
    asker.ask(*range(100))
    assert asker.feedback.take() is None
