"""The way in is bounded, never waits, keeps order, and an encoder that needs more frames than it allows is fed."""

from __future__ import annotations

import threading
from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from app.engine.encode.admission import Admission, Offered
from tests.engine.encode.pictures import INTERVAL_60_NS, moving_picture
from tests.support.waiting import wait_until

PICTURE = moving_picture(0)


def frame(number: int) -> Offered:
    return Offered(number, 0, 0, number * INTERVAL_60_NS, INTERVAL_60_NS, PICTURE)


@given(st.integers(1, 6), st.lists(st.sampled_from(["offer", "take", "settle"]), max_size=80))
def test_while_the_encoder_works_no_more_than_depth_are_waiting_or_inside(depth: int, steps: list[str]) -> None:
    admission = Admission(depth)
    waiting, inside, number = deque[int](), deque[int](), 0
    for step in steps:
        if step == "offer":
            let_in = admission.offer(frame(number))
            assert let_in == (len(waiting) + len(inside) < depth)
            if let_in:
                waiting.append(number)
            number += 1
        elif step == "take" and waiting:
            taken = admission.next()
            assert taken is not None
            assert taken.frame_id == waiting.popleft()
            inside.append(taken.frame_id)
        elif step == "settle" and inside:
            inside.popleft()
            admission.settle()
        assert admission.in_flight == len(waiting) + len(inside) <= depth


def test_a_frame_knows_how_many_it_found_before_it() -> None:
    admission, frames = Admission(3), [frame(number) for number in range(4)]
    assert [admission.offer(each) for each in frames] == [True, True, True, False]
    assert [each.queue_in for each in frames] == [0, 1, 2, 3]


def test_an_idle_encoder_that_holds_more_than_depth_is_fed_one_at_a_time() -> None:
    admission, inside, depth, taken = Admission(2), list[Offered](), 2, threading.Event()

    def take() -> None:
        while (offered := admission.next()) is not None:
            inside.append(offered)
            taken.set()

    thread = threading.Thread(target=take)
    thread.start()
    for number in range(10):
        wait_until(lambda: admission._idle)
        taken.clear()
        assert admission.offer(frame(number)), number
        assert taken.wait(20)
    admission.close()
    thread.join(20)
    assert [each.frame_id for each in inside] == list(range(10))
    assert admission.in_flight == 10 > depth


def test_closing_hands_out_what_waits_and_then_ends() -> None:
    admission = Admission(4)
    for number in range(3):
        admission.offer(frame(number))
    admission.close()
    ids = []
    while (offered := admission.next()) is not None:
        ids.append(offered.frame_id)
    assert ids == [0, 1, 2]


def test_closing_wakes_a_waiting_encoder() -> None:
    admission, ends = Admission(4), list[object]()
    thread = threading.Thread(target=lambda: ends.append(admission.next()))
    thread.start()
    wait_until(lambda: admission._idle)
    admission.close()
    thread.join(20)
    assert ends == [None]


def test_what_waits_can_be_taken_out_at_once() -> None:
    admission = Admission(4)
    for number in range(3):
        admission.offer(frame(number))
    assert [each.frame_id for each in admission.drain()] == [0, 1, 2]
    assert admission.drain() == []
