"""Queues: order, depth, policies, and how they end."""

from __future__ import annotations

import threading
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import OverflowPolicy
from app.engine.frame import Frame
from app.engine.frame_queue import FrameQueue, SlotPool


def make(frame_id: int) -> Frame:
    frame = Frame()
    frame.reset(frame_id)
    return frame


def ids(queue: FrameQueue) -> list[int]:
    taken = []
    while (frame := queue.look()) is not None and queue.take(frame):
        taken.append(frame.frame_id)
    return taken


@given(
    st.sampled_from([OverflowPolicy.DROP_OLDEST, OverflowPolicy.DROP_NEWEST]),
    st.integers(1, 6),
    st.lists(st.one_of(st.just("put"), st.just("take"), st.integers(1, 6)), max_size=60),
)
def test_a_dropping_queue_behaves_like_its_definition(
    policy: OverflowPolicy, depth: int, steps: list[str | int]
) -> None:
    queue, model = FrameQueue(depth, policy), deque[int]()
    produced, lost = 0, []
    for step in steps:
        if step == "put":
            admission = queue.put(make(produced))
            if len(model) < depth:
                model.append(produced)
                assert admission.accepted
                assert admission.dropped is None
            else:
                assert admission.dropped is not None
                lost.append(admission.dropped.frame_id)
                if policy is OverflowPolicy.DROP_OLDEST:
                    assert model.popleft() == lost[-1]
                    model.append(produced)
            produced += 1
        elif step == "take":
            head = queue.look()
            assert (head.frame_id if head else None) == (model[0] if model else None)
            if head is not None:
                assert queue.take(head)
                model.popleft()
        elif isinstance(step, int):
            depth = step
            queue.configure(depth, policy)
    assert len(queue) == len(model)
    assert ids(queue) == list(model)


def test_block_waits_for_room_and_loses_nothing() -> None:
    queue = FrameQueue(2)
    producer = threading.Thread(target=lambda: [queue.put(make(number)) for number in range(100)])
    producer.start()
    seen: list[int] = []
    while len(seen) < 100:
        frame = queue.get()
        assert frame is not None
        seen.append(frame.frame_id)
        assert len(queue) <= 2
    producer.join()
    assert seen == list(range(100))


def test_a_deeper_queue_lets_a_blocked_producer_go_on() -> None:
    queue = FrameQueue(1)
    queue.put(make(0))
    producer = threading.Thread(target=queue.put, args=(make(1),))
    producer.start()
    queue.configure(2)
    producer.join(20)
    assert ids(queue) == [0, 1]


@pytest.mark.parametrize("policy", list(OverflowPolicy))
def test_closing_wakes_a_blocked_producer_and_keeps_what_is_inside(policy: OverflowPolicy) -> None:
    queue = FrameQueue(1)
    queue.put(make(0))
    results = []
    producer = threading.Thread(target=lambda: results.append(queue.put(make(1))))
    producer.start()
    queue.close()
    producer.join(20)
    assert (results[0].accepted, results[0].dropped, len(queue)) == (False, None, 1)
    assert queue.get() is None


def test_a_finished_queue_is_emptied_before_it_ends() -> None:
    queue = FrameQueue(4)
    queue.put(make(0))
    queue.finish()
    ends = [queue.is_exhausted]
    assert ids(queue) == [0]
    ends.append(queue.is_exhausted)
    assert (ends, queue.get()) == ([False, True], None)


def test_a_head_that_was_dropped_meanwhile_cannot_be_taken() -> None:
    queue = FrameQueue(1, OverflowPolicy.DROP_OLDEST)
    queue.put(make(0))
    head = queue.look()
    assert head is not None
    queue.put(make(1))
    assert not queue.take(head)


def test_slots_are_handed_out_once_and_grow() -> None:
    pool = SlotPool()
    pool.grow(2)
    assert {pool.take(), pool.take()} == {0, 1}
    pool.grow(3)
    assert pool.take() == 2
    pool.grow(1)
    pool.give(1)
    assert pool.take() == 1
    pool.close()
    assert pool.take() is None
