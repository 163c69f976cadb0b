from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource, Fate
from app.engine.frame import Frame
from app.engine.vulkan.display_time import WAIT_SLICE_NS, AcquireReturns, DisplayWatcher, Presentation
from app.engine.vulkan.results import DEVICE_LOST, OUT_OF_DATE, SUBOPTIMAL, SUCCESS, TIMEOUT

REFRESH_NS = 16_666_667


class FakeDevice:
    """A device with present_wait, which no software driver has; `answers` are the results of one wait after another."""

    def __init__(self, answers: list[int]) -> None:
        self.extensions = frozenset({"VK_KHR_present_id", "VK_KHR_present_wait"})
        self.handle = None
        self.functions = self
        self.asked: list[int] = []
        self._answers = answers

    def vkWaitForPresentKHR(self, _device: object, _swapchain: object, present_id: int, timeout_ns: int) -> int:  # noqa: N802 - Vulkan's name
        assert 0 < timeout_ns <= WAIT_SLICE_NS
        self.asked.append(present_id)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def presentation(present_return_ns: int, present_id: int = 0) -> Presentation:
    made = Presentation([Frame()], None, None, present_id, None)  # type: ignore[arg-type]  # no GPU work belongs to it
    made.return_ns = present_return_ns
    return made


def picture(*tiles: int) -> Presentation:
    frames = [Frame(tile) for tile in tiles]
    for tile, frame in zip(tiles, frames, strict=True):
        frame.source_index = tile
    return Presentation(frames, None, None, 0, None)  # type: ignore[arg-type]  # no GPU work belongs to it


@given(st.lists(st.tuples(st.sets(st.integers(0, 3), min_size=1), st.booleans()), min_size=1, max_size=12))
def test_a_frame_is_lost_only_to_a_newer_one_of_its_tile_and_no_frame_is_forgotten(
    pictures: list[tuple[set[int], bool]],
) -> None:
    presented = [picture(*sorted(tiles)) for tiles, _ in pictures]
    settled: dict[int, tuple[int, Fate]] = {}
    for index, (each, (_, shown)) in enumerate(zip(presented, pictures, strict=True)):
        each.fate = Fate.DISPLAYED if shown else Fate.COMPOSITOR_DISCARDED
        each.displayed_ns = 1_000 * (index + 1)
        for frame in each.settle(presented[index + 1] if index + 1 < len(presented) else None):
            assert id(frame) not in settled
            settled[id(frame)] = (index, each.fate)
    for index, each in enumerate(presented):
        for frame in each.frames:
            at, fate = settled[id(frame)]
            followers = [n for n in range(index + 1, len(pictures)) if frame.source_index in pictures[n][0]]
            shown_at = next((n for n in range(index, len(pictures)) if pictures[n][1]), len(pictures))
            lost = shown_at >= (followers[0] if followers else len(pictures))
            assert fate is (Fate.COMPOSITOR_DISCARDED if lost else Fate.DISPLAYED)
            assert lost or (at == shown_at and frame.displayed_ns == 1_000 * (shown_at + 1))


@pytest.mark.parametrize("images", [2, 3, 4, 6])
def test_in_a_saturated_fifo_an_acquire_that_waited_proves_the_flip_of_the_frame_images_minus_one_before(
    images: int,
) -> None:
    """Frame n is acquired at refresh n and flips at refresh n + K − 1, which is the law the virtual display keeps."""
    returns = AcquireReturns(images)
    frames = []
    for refresh in range(images, 40):
        acquired_ns = refresh * REFRESH_NS
        returns.acquired(acquired_ns - 10_000_000, acquired_ns)
        frames.append((refresh, presentation(acquired_ns + 100)))
        returns.presented(frames[-1][1])
    for refresh, each in frames[: -(images - 1)]:
        assert each.source is DisplayTimeSource.ACQUIRE_RETURN
        assert each.displayed_ns == (refresh + images - 1) * REFRESH_NS


def test_an_acquire_that_found_an_image_at_once_proves_nothing() -> None:
    returns = AcquireReturns(3)
    shown = [presentation(1_000 * n) for n in range(4)]
    for n, each in enumerate(shown):
        returns.acquired(10_000 * n, 10_000 * n + 20)
        returns.presented(each)
    returns.acquired(90_000, 90_020)
    assert [each.source for each in shown[:3]] == [DisplayTimeSource.CALL_RETURN] * 3
    assert shown[2].displayed_ns == 2_000
    assert shown[3].displayed_ns == NO_STAMP_NS
    returns.give_up()
    assert shown[3].displayed_ns == 3_000


def watch(answers: list[int], *presentations: Presentation, abandon: bool = False) -> DisplayWatcher:
    watcher = DisplayWatcher(FakeDevice(answers))  # type: ignore[arg-type]  # the driver's part only
    for each in presentations:
        each.abandoned = abandon
        watcher.watch(each)
    watcher.wait_idle()
    watcher.close()
    return watcher


def test_present_wait_stamps_when_the_wait_ends_however_often_it_timed_out() -> None:
    first, second = presentation(1_000, 1), presentation(2_000, 2)
    before_ns = time.monotonic_ns()
    watcher = watch([TIMEOUT, TIMEOUT, SUCCESS, SUBOPTIMAL], first, second)
    assert before_ns <= first.displayed_ns <= second.displayed_ns <= time.monotonic_ns()
    assert first.source is second.source is watcher.source is DisplayTimeSource.PRESENT_WAIT
    assert watcher.fault is None


@pytest.mark.parametrize(("answer", "abandon"), [(TIMEOUT, True), (OUT_OF_DATE, False)])
def test_a_present_that_never_completes_keeps_the_return_of_its_call(answer: int, abandon: bool) -> None:
    only = presentation(1_234, 1)
    watch([answer], only, abandon=abandon)
    assert only.displayed_ns == 1_234
    assert only.source is DisplayTimeSource.CALL_RETURN


def test_a_lost_device_is_reported_and_stamps_nothing() -> None:
    only = presentation(1_000, 1)
    watcher = watch([DEVICE_LOST], only)
    assert watcher.fault is not None
    assert watcher.fault.is_device_lost
    assert only.displayed_ns == NO_STAMP_NS
