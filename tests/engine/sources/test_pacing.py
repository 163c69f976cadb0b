"""A wait ends at its deadline or by a disturbance, and a disturbance is never lost."""

from __future__ import annotations

import threading

from app.engine.sources.pacing import MonotonicPacer

HOUR_NS = 3_600_000_000_000


def test_a_wait_lasts_until_its_deadline() -> None:
    pacer = MonotonicPacer()
    deadline_ns = pacer.now_ns() + 3_000_000
    assert pacer.wait_until_ns(deadline_ns)
    assert pacer.now_ns() >= deadline_ns


def test_a_deadline_in_the_past_is_over_at_once() -> None:
    pacer = MonotonicPacer()
    assert pacer.wait_until_ns(pacer.now_ns() - HOUR_NS)


def test_a_disturbance_before_the_wait_ends_it_once() -> None:
    pacer = MonotonicPacer()
    pacer.disturb()
    assert not pacer.wait_until_ns(pacer.now_ns() + HOUR_NS)
    assert pacer.wait_until_ns(pacer.now_ns())


def test_another_thread_ends_a_running_wait() -> None:
    pacer = MonotonicPacer()
    results: list[bool] = []
    waiter = threading.Thread(target=lambda: results.append(pacer.wait_until_ns(pacer.now_ns() + HOUR_NS)))
    waiter.start()
    pacer.disturb()
    waiter.join(timeout=10)
    assert results == [False]
