from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import PresentMode
from app.engine.vulkan import api
from app.engine.vulkan import present_timing_abi as abi
from app.engine.vulkan.display_time import OVERTAKEN, Shown
from app.engine.vulkan.present_chain import PresentIdWaits, PresentTags
from app.engine.vulkan.present_timing import QUEUE_SIZE, PresentTimingTimes
from app.engine.vulkan.results import DEVICE_LOST, INCOMPLETE, SUCCESS, TIMEOUT
from tests.engine.vulkan.presentations import presentation

MONOTONIC, RAW, SWAPCHAIN_LOCAL = 1, 2, 1000208001
REFRESH_NS = 6_944_444


class FakeDriver:
    """VK_EXT_present_timing of a driver; `results` are pairs of present id and time that are ready to be read."""

    def __init__(self, domains: dict[int, int]) -> None:
        self.domains = domains
        self.results: list[tuple[int, int]] = []
        self.queue_size = 0
        self.code = SUCCESS

    def vkSetSwapchainPresentTimingQueueSizeEXT(self, _swapchain: int, size: int) -> int:  # noqa: N802 - Vulkan's name
        self.queue_size = size
        return self.code

    def vkGetSwapchainTimingPropertiesEXT(self, _swapchain: int, properties: Any, _counter: Any) -> int:  # noqa: N802 - Vulkan's name
        properties.refreshDuration = REFRESH_NS
        return SUCCESS

    def vkGetSwapchainTimeDomainPropertiesEXT(self, _swapchain: int, properties: Any, _counter: Any) -> int:  # noqa: N802 - Vulkan's name
        for index, (domain, number) in enumerate(self.domains.items()):
            properties.pTimeDomains[index] = domain
            properties.pTimeDomainIds[index] = number
        properties.timeDomainCount = len(self.domains)
        return SUCCESS

    def vkGetPastPresentationTimingEXT(self, _info: Any, properties: Any) -> int:  # noqa: N802 - Vulkan's name
        room = properties.presentationTimingCount
        given, self.results = self.results[:room], self.results[room:]
        for index, (present_id, stamp) in enumerate(given):
            timing = properties.pPresentationTimings[index]
            assert timing.sType == abi.STRUCTURE_TYPES["VkPastPresentationTimingEXT"]
            assert timing.presentStageCount == 1
            timing.presentId = present_id
            timing.pPresentStages[0].time = stamp
        properties.presentationTimingCount = len(given)
        return INCOMPLETE if self.results else self.code


def bind(monkeypatch: pytest.MonkeyPatch, name: str, signature: str, body: Any) -> abi.TimingFunctions:
    """Return the functions of a driver that has exactly this one."""
    callback = abi.ffi.callback(signature, body)
    address = api.ffi.cast("PFN_vkVoidFunction", int(abi.ffi.cast("uintptr_t", callback)))
    nothing = api.ffi.cast("PFN_vkVoidFunction", 0)

    def get_address(_device: object, asked: bytes) -> Any:
        return address if asked == name.encode() else nothing

    monkeypatch.setattr(api, "lib", SimpleNamespace(vkGetDeviceProcAddr=get_address, kept=callback))
    return abi.TimingFunctions(api.ffi.cast("VkDevice", 0x42))


def test_functions_are_called_with_device_handle_and_numbers_as_the_driver_expects(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    called: list[tuple[int, int, int]] = []

    def body(device: Any, swapchain: int, size: int) -> int:
        called.append((int(abi.ffi.cast("uintptr_t", device)), swapchain, size))
        return -7

    functions = bind(
        monkeypatch, "vkSetSwapchainPresentTimingQueueSizeEXT", "int32_t(void *, uint64_t, uint32_t)", body
    )
    for size in (1, 2):
        assert functions.vkSetSwapchainPresentTimingQueueSizeEXT(0x77, size) == -7
    assert called == [(0x42, 0x77, 1), (0x42, 0x77, 2)]
    with pytest.raises(AttributeError, match="the Vulkan driver has no vkGetPastPresentationTimingEXT"):
        functions.vkGetPastPresentationTimingEXT(None, None)


def test_present_wait2_waits_for_the_id_it_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int, int]] = []

    def body(_device: Any, swapchain: int, info: Any) -> int:
        assert info.sType == abi.STRUCTURE_TYPES["VkPresentWait2InfoKHR"]
        asked.append((swapchain, info.presentId, info.timeout))
        return TIMEOUT

    signature = "int32_t(void *, uint64_t, const VkPresentWait2InfoKHR *)"
    waits = PresentIdWaits(SimpleNamespace(), bind(monkeypatch, "vkWaitForPresent2KHR", signature, body))  # type: ignore[arg-type]  # the functions do the work
    handle = api.ffi.cast("VkSwapchainKHR", 0x77)
    assert waits.wait(handle, PresentTags(2, can_wait=True), 2**40, 50_000_000) == TIMEOUT
    assert asked == [(0x77, 2**40, 50_000_000)]


def test_present_wait_of_old_waits_for_the_id_it_is_given() -> None:
    asked: list[tuple[Any, ...]] = []

    def wait(*arguments: Any) -> int:
        asked.append(arguments)
        return SUCCESS

    device: Any = SimpleNamespace(functions=SimpleNamespace(vkWaitForPresentKHR=wait), handle="device")
    waits = PresentIdWaits(device, SimpleNamespace())  # type: ignore[arg-type]  # not for these ids
    assert waits.wait("swapchain", PresentTags(1, can_wait=True), 7, 50) == SUCCESS
    assert asked == [("device", "swapchain", 7, 50)]


class FakeSwapchain:
    def __init__(self, tags: PresentTags) -> None:
        self.handle = api.ffi.cast("VkSwapchainKHR", 0x77)
        self.tags = tags
        self.asked: list[int] = []

    def ask_for_timing(self, domain: int) -> None:
        self.asked.append(domain)


def make(domains: dict[int, int] | None = None, stage: int = 4) -> tuple[PresentTimingTimes, FakeDriver, FakeSwapchain]:
    driver: Any = FakeDriver({MONOTONIC: 5, SWAPCHAIN_LOCAL: 9} if domains is None else domains)
    swapchain: Any = FakeSwapchain(PresentTags(2, timing_stage=stage))
    times = PresentTimingTimes(driver)
    times.rebuilt(swapchain)
    return times, driver, swapchain


def present(times: PresentTimingTimes, serial: int, mode: PresentMode = PresentMode.FIFO) -> Any:
    picture = presentation(serial, mode=mode)
    times.before_present(picture)
    times.presented(picture)
    return picture


def test_each_present_is_asked_about_in_a_clock_we_know_and_answers_come_by_id() -> None:
    times, driver, swapchain = make()
    assert times.is_usable
    assert driver.queue_size == QUEUE_SIZE
    first, second = present(times, 1), present(times, 2)
    assert swapchain.asked == [5, 5]
    assert list(times.collect()) == []
    driver.results = [(2, 9_000), (1, 8_000)]
    assert list(times.collect()) == [Shown(second, 9_000, REFRESH_NS), Shown(first, 8_000, REFRESH_NS)]


def test_more_answers_than_are_read_at_once_come_with_the_next_look() -> None:
    times, driver, _ = make()
    for serial in range(1, 31):
        present(times, serial)
    driver.results = [(serial, serial * 1_000) for serial in range(1, 31)]
    seen = [each.displayed_ns for _ in range(3) for each in times.collect()]
    assert seen == [serial * 1_000 for serial in range(1, 31)]


def test_stamps_of_the_raw_clock_are_brought_to_the_monotonic_one() -> None:
    times, driver, swapchain = make({SWAPCHAIN_LOCAL: 9, RAW: 6})
    present(times, 1)
    assert swapchain.asked == [6]
    driver.results = [(1, time.clock_gettime_ns(time.CLOCK_MONOTONIC_RAW))]
    (shown,) = times.collect()
    assert abs(shown.displayed_ns - time.monotonic_ns()) < 50_000_000


@pytest.mark.parametrize(("domains", "stage"), [({SWAPCHAIN_LOCAL: 9}, 4), ({}, 4), ({MONOTONIC: 5}, 0)])
def test_a_swapchain_without_a_readable_clock_or_a_stage_at_the_display_is_not_used(
    domains: dict[int, int], stage: int
) -> None:
    assert not make(domains, stage)[0].is_usable


def test_a_driver_that_refuses_the_queue_is_not_used() -> None:
    times, driver, _ = make()
    driver.code = DEVICE_LOST
    times.rebuilt(FakeSwapchain(PresentTags(2, timing_stage=4)))  # type: ignore[arg-type]  # the part that is asked
    assert not times.is_usable


@pytest.mark.parametrize(("mode", "discarded"), [(PresentMode.MAILBOX, True), (PresentMode.FIFO, False)])
def test_a_picture_that_never_reached_the_display_was_replaced_where_the_mode_replaces(
    mode: PresentMode, discarded: bool
) -> None:
    times, driver, _ = make()
    picture = present(times, 1, mode)
    driver.results = [(1, 0)]
    assert list(times.collect()) == [Shown(picture, NO_STAMP_NS, discarded=discarded)]


def test_no_more_answers_are_asked_for_than_the_driver_keeps() -> None:
    times, _, swapchain = make()
    for serial in range(1, QUEUE_SIZE + 3):
        present(times, serial)
    assert len(swapchain.asked) == QUEUE_SIZE
    assert [each.presentation.serial for each in times.collect()] == [QUEUE_SIZE + 1, QUEUE_SIZE + 2]


def test_a_picture_the_driver_forgot_is_given_up_once_much_younger_ones_were_shown() -> None:
    times, driver, _ = make()
    for serial in range(1, OVERTAKEN + 2):
        present(times, serial)
    driver.results = [(OVERTAKEN + 1, 5_000)]
    assert {each.presentation.serial: each.displayed_ns for each in times.collect()} == {
        OVERTAKEN + 1: 5_000,
        1: NO_STAMP_NS,
    }


def test_another_swapchain_leaves_no_picture_open() -> None:
    times, _, _ = make()
    picture = present(times, 1)
    times.rebuilt(FakeSwapchain(PresentTags()))  # type: ignore[arg-type]  # the part that is asked
    assert list(times.collect()) == [Shown(picture, NO_STAMP_NS)]
    assert not times.is_usable
