from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import PresentMode
from app.engine.vulkan.display_time import (
    OVERTAKEN,
    WAIT_SLICE_NS,
    AcquireReturns,
    CallReturns,
    FeedbackTimes,
    PresentWaits,
    Shown,
    WaitedTimes,
)
from app.engine.vulkan.present_chain import PresentTags
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.results import DEVICE_LOST, OUT_OF_DATE, SUBOPTIMAL, SUCCESS, TIMEOUT, VulkanError
from app.engine.wayland.feedback import Answer
from tests.engine.vulkan.presentations import presentation

REFRESH_NS = 16_666_667


class FakeSwapchain:
    """A swapchain with present_wait, which no software driver has; `answers` are the results of one wait after another.

    The last answer is repeated for ever.
    """

    def __init__(self, answers: list[int] = [SUCCESS], images: int = 3) -> None:  # noqa: B006 - read only
        self.targets = [None] * images
        self.mode = PresentMode.FIFO
        self.paces = True
        self.tags = PresentTags(1, can_wait=True)
        self.asked: list[int] = []
        self._answers = list(answers)

    def wait_for_present(self, present_id: int, timeout_ns: int) -> int:
        assert 0 < timeout_ns <= WAIT_SLICE_NS
        self.asked.append(present_id)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def stamps(shown: list[Shown]) -> dict[int, int]:
    return {each.presentation.serial: each.displayed_ns for each in shown}


def test_the_return_of_the_call_is_told_at_once() -> None:
    times = CallReturns()
    times.presented(presentation(1, return_ns=1_234))
    assert stamps(list(times.collect())) == {1: 1_234}
    assert list(times.collect()) == []


@pytest.mark.parametrize("images", [2, 3, 4, 6])
def test_in_a_saturated_fifo_an_acquire_that_waited_proves_the_flip_of_the_frame_images_minus_one_before(
    images: int,
) -> None:
    """Frame n is acquired at refresh n and flips at refresh n + K − 1, which is the law the virtual display keeps."""
    times = AcquireReturns()
    times.rebuilt(FakeSwapchain(images=images))  # type: ignore[arg-type]  # the part that is asked
    shown: dict[int, int] = {}
    for refresh in range(images, 40):
        acquired_ns = refresh * REFRESH_NS
        times.acquired(acquired_ns - 10_000_000, acquired_ns)
        shown |= stamps(list(times.collect()))
        times.presented(presentation(refresh, return_ns=acquired_ns + 100))
    assert shown == {refresh: (refresh + images - 1) * REFRESH_NS for refresh in range(images, 40 - images + 1)}


def test_an_acquire_that_found_an_image_at_once_proves_nothing() -> None:
    times = AcquireReturns()
    times.rebuilt(FakeSwapchain())  # type: ignore[arg-type]  # the part that is asked
    for n in range(4):
        times.acquired(10_000 * n, 10_000 * n + 20)
        times.presented(presentation(n))
    times.acquired(90_000, 90_020)
    assert stamps(list(times.collect())) == dict.fromkeys(range(3), NO_STAMP_NS)
    times.give_up()
    assert stamps(list(times.collect())) == {3: NO_STAMP_NS}


@pytest.mark.parametrize(
    ("mode", "paces", "usable"),
    [(PresentMode.FIFO, True, True), (PresentMode.FIFO, False, False), (PresentMode.MAILBOX, True, False)],
)
def test_acquires_tell_display_times_only_of_a_fifo_that_paces(mode: PresentMode, paces: bool, usable: bool) -> None:
    swapchain = FakeSwapchain()
    swapchain.mode, swapchain.paces = mode, paces
    times = AcquireReturns()
    times.rebuilt(swapchain)  # type: ignore[arg-type]  # the part that is asked
    assert times.is_usable is usable


def wait_for(times: WaitedTimes, *presentations: Presentation) -> dict[int, int]:
    for each in presentations:
        times.presented(each)
    shown: dict[int, int] = {}
    deadline_ns = time.monotonic_ns() + 5_000_000_000
    while len(shown) < len(presentations) and time.monotonic_ns() < deadline_ns:
        shown |= stamps(list(times.collect()))
        time.sleep(0.001)
    return shown


def present_waits(answers: list[int]) -> tuple[PresentWaits, FakeSwapchain]:
    swapchain = FakeSwapchain(answers)
    times = PresentWaits(SimpleNamespace())  # type: ignore[arg-type]  # the swapchain does the waiting
    times.rebuilt(swapchain)  # type: ignore[arg-type]  # the part that is asked
    return times, swapchain


def test_present_wait_stamps_when_the_wait_ends_however_often_it_timed_out() -> None:
    times, swapchain = present_waits([TIMEOUT, TIMEOUT, SUCCESS, SUBOPTIMAL])
    before_ns = time.monotonic_ns()
    shown = wait_for(times, presentation(1), presentation(2))
    assert before_ns <= shown[1] <= shown[2] <= time.monotonic_ns()
    assert swapchain.asked == [1, 1, 1, 2]
    times.close()


def test_a_wait_that_ends_because_the_window_changed_tells_nothing() -> None:
    times, _ = present_waits([OUT_OF_DATE])
    assert wait_for(times, presentation(1)) == {1: NO_STAMP_NS}
    times.close()


def test_waits_that_never_end_are_given_up_on_demand_and_the_next_are_waited_for() -> None:
    times, swapchain = present_waits([TIMEOUT])
    for serial in (1, 2):
        times.presented(presentation(serial))
    assert list(times.collect()) == []
    times.abandon()
    assert stamps(list(times.collect())) == {1: NO_STAMP_NS, 2: NO_STAMP_NS}
    swapchain._answers = [SUCCESS]
    assert wait_for(times, presentation(3))[3] > 0
    times.close()


def test_closing_ends_a_wait_that_never_ends() -> None:
    times, _ = present_waits([TIMEOUT])
    times.presented(presentation(1))
    times.close()
    times.close()


def test_a_lost_device_is_reported_and_stamps_nothing() -> None:
    times, _ = present_waits([DEVICE_LOST])
    with pytest.raises(VulkanError, match="DEVICE_LOST") as caught:
        wait_for(times, presentation(1))
    assert caught.value.is_device_lost
    times.abandon()
    times.close()


class FakeFeedback:
    """A compositor that answers what the test lets it answer."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.answers: list[Answer] = []

    def request(self, number: int) -> None:
        self.asked.append(number)

    def take(self) -> Answer | None:
        return self.answers.pop(0) if self.answers else None

    def answer(self, number: int, displayed_ns: int = 0, *, discarded: bool = False) -> None:
        self.answers.append(Answer(number, displayed_ns, 16_666_666, discarded=discarded))


def feedback_times() -> tuple[FeedbackTimes, FakeFeedback]:
    feedback: Any = FakeFeedback()
    return FeedbackTimes(feedback), feedback


def test_feedback_is_asked_for_before_each_present_and_matched_by_number_whatever_its_order() -> None:
    times, feedback = feedback_times()
    pictures = [presentation(serial) for serial in range(4)]
    for each in pictures:
        times.before_present(each)
        times.presented(each)
    feedback.answer(2, discarded=True)
    feedback.answer(1, 5_000)
    assert list(times.collect()) == [
        Shown(pictures[2], NO_STAMP_NS, 16_666_666, discarded=True),
        Shown(pictures[1], 5_000, 16_666_666),
    ]
    assert feedback.asked == [0, 1, 2, 3]


def test_an_answer_for_a_present_that_failed_is_passed_over() -> None:
    times, feedback = feedback_times()
    times.before_present(presentation(0))
    feedback.answer(0, 5_000)
    assert list(times.collect()) == []


def test_a_picture_the_compositor_forgot_is_given_up_once_much_younger_ones_were_shown() -> None:
    times, feedback = feedback_times()
    for serial in range(OVERTAKEN + 1):
        times.presented(presentation(serial))
    for serial in range(1, OVERTAKEN):
        feedback.answer(serial, 1_000 * serial)
    assert 0 not in stamps(list(times.collect()))
    feedback.answer(OVERTAKEN, 1_000 * OVERTAKEN)
    assert stamps(list(times.collect())) == {0: NO_STAMP_NS, OVERTAKEN: 1_000 * OVERTAKEN}


def test_answers_of_a_hidden_window_are_waited_for_until_nobody_does_any_more() -> None:
    times, feedback = feedback_times()
    times.presented(presentation(0))
    times.give_up()
    assert list(times.collect()) == []
    times.abandon()
    assert stamps(list(times.collect())) == {0: NO_STAMP_NS}
    feedback.answer(0, 5_000)
    assert list(times.collect()) == []
