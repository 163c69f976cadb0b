from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from app.engine.vulkan import api
from app.engine.vulkan import present_timing_abi as abi
from app.engine.vulkan.device import LATEST_READY, PRESENT_WAIT, SWAPCHAIN_MAINTENANCE, feature_chain
from app.engine.vulkan.present_chain import PresentChain, PresentTags, read_present_tags
from app.engine.vulkan.results import SUCCESS, SURFACE_LOST, SurfaceLostError

ID2 = abi.STRUCTURE_TYPES["VkPresentId2KHR"]
TIMINGS = abi.STRUCTURE_TYPES["VkPresentTimingsInfoEXT"]
ID1, FENCE, MODE = 1000294000, 1000275001, 1000275003
"""`sType` of VkPresentIdKHR, VkSwapchainPresentFenceInfoEXT and VkSwapchainPresentModeInfoEXT."""

SECOND = (abi.PRESENT_ID2, abi.PRESENT_WAIT2)
ALL = (*SECOND, abi.PRESENT_TIMING, PRESENT_WAIT)


def device(*extensions: str) -> Any:
    return SimpleNamespace(extensions=frozenset(extensions), physical=SimpleNamespace(handle=api.ffi.NULL))


def chained_types(first: Any) -> list[int]:
    """Walk a pNext chain as a driver does."""
    types, address = [], abi.handle_number(first)
    while address:
        struct = abi.ffi.cast("VkPresentId2KHR *", address)
        types.append(int(struct.sType))
        assert len(types) < 20, "the chain bites its tail: a struct in it was freed"
        address = int(abi.ffi.cast("uintptr_t", struct.pNext))
    return types


def surface_with(*, ids: bool, waits: bool, timing: bool, stages: int, code: int = SUCCESS) -> Any:
    """An instance whose driver answers so when it is asked about a surface."""

    def answer(_physical: object, _info: object, full: Any) -> int:
        address = abi.handle_number(full.pNext)
        while address:
            struct = abi.ffi.cast("VkPresentTimingSurfaceCapabilitiesEXT *", address)
            supported = {
                abi.STRUCTURE_TYPES["VkSurfaceCapabilitiesPresentId2KHR"]: ids,
                abi.STRUCTURE_TYPES["VkSurfaceCapabilitiesPresentWait2KHR"]: waits,
                abi.STRUCTURE_TYPES["VkPresentTimingSurfaceCapabilitiesEXT"]: timing,
            }
            struct.presentTimingSupported = supported[int(struct.sType)]
            if struct.sType == abi.STRUCTURE_TYPES["VkPresentTimingSurfaceCapabilitiesEXT"]:
                struct.presentStageQueries = stages
            address = int(abi.ffi.cast("uintptr_t", struct.pNext))
        return code

    return SimpleNamespace(functions=SimpleNamespace(vkGetPhysicalDeviceSurfaceCapabilities2KHR=answer))


@pytest.mark.parametrize(
    ("extensions", "surface", "tags"),
    [
        ((), (True, True, True, 4), PresentTags()),
        ((PRESENT_WAIT,), (True, True, True, 4), PresentTags(1, can_wait=True)),
        (ALL, (True, True, True, 0b1111), PresentTags(2, can_wait=True, timing_stage=4)),
        (ALL, (True, True, True, 0b1001), PresentTags(2, can_wait=True, timing_stage=8)),
        (ALL, (True, True, True, 0b0011), PresentTags(2, can_wait=True)),
        (ALL, (True, True, False, 0b1111), PresentTags(2, can_wait=True)),
        (ALL, (True, False, True, 4), PresentTags(2, timing_stage=4)),
        (ALL, (True, False, False, 4), PresentTags(1, can_wait=True)),
        (ALL, (False, True, True, 4), PresentTags(1, can_wait=True)),
        (SECOND, (True, True, True, 4), PresentTags(2, can_wait=True)),
        (SECOND, (False, False, True, 4), PresentTags()),
    ],
)
def test_presents_carry_what_device_and_surface_have_both(
    extensions: tuple[str, ...], surface: tuple[bool, bool, bool, int], tags: PresentTags
) -> None:
    ids, waits, timing, stages = surface
    instance = surface_with(ids=ids, waits=waits, timing=timing, stages=stages)
    assert read_present_tags(instance, device(*extensions), api.ffi.NULL) == tags


def test_a_surface_that_is_gone_is_said_to_be() -> None:
    instance = surface_with(ids=True, waits=True, timing=True, stages=4, code=SURFACE_LOST)
    with pytest.raises(SurfaceLostError):
        read_present_tags(instance, device(*ALL), api.ffi.NULL)


@pytest.mark.parametrize(
    ("tags", "flags"),
    [
        (PresentTags(), 0),
        (PresentTags(1, can_wait=True), 0),
        (PresentTags(2, can_wait=True), 0x40 | 0x80),
        (PresentTags(2, timing_stage=4), 0x40 | 0x200),
        (PresentTags(2, can_wait=True, timing_stage=4), 0x40 | 0x80 | 0x200),
    ],
)
def test_a_swapchain_is_made_for_what_its_presents_carry(tags: PresentTags, flags: int) -> None:
    assert tags.create_flags == flags


def test_a_present_without_anything_has_no_chain() -> None:
    assert chained_types(PresentChain(device(), PresentTags()).link(1, None)) == []


@pytest.mark.parametrize(("version", "structure_type"), [(1, ID1), (2, ID2)])
def test_each_present_carries_its_id(version: int, structure_type: int) -> None:
    chain = PresentChain(device(), PresentTags(version, can_wait=True))
    for present_id in (1, 2, 2**40):
        first = chain.link(present_id, None)
        assert chained_types(first) == [structure_type]
        assert abi.ffi.cast("VkPresentId2KHR *", abi.handle_number(first)).pPresentIds[0] == present_id
        chain.presented()


def test_fence_mode_and_timing_are_chained_for_the_present_they_are_meant_for() -> None:
    chain = PresentChain(device(SWAPCHAIN_MAINTENANCE), PresentTags(2, can_wait=True, timing_stage=4))
    fence = api.ffi.cast("VkFence", 0x1234)
    assert sorted(chained_types(chain.link(1, fence))) == sorted([ID2, FENCE])
    chain.presented()
    chain.change_mode(1)
    chain.ask_for_timing(77)
    assert sorted(chained_types(chain.link(2, fence))) == sorted([ID2, TIMINGS, FENCE, MODE])
    # The queue of timings was full: the same present again, without the question.
    assert sorted(chained_types(chain.link(2, fence, timed=False))) == sorted([ID2, FENCE, MODE])
    chain.presented()
    assert chained_types(chain.link(3, None)) == [ID2]


def test_the_question_for_a_display_time_names_stage_and_clock() -> None:
    chain = PresentChain(device(), PresentTags(2, can_wait=True, timing_stage=8))
    chain.ask_for_timing(77)
    first = abi.ffi.cast("VkPresentTimingsInfoEXT *", abi.handle_number(chain.link(1, None)))
    assert first.swapchainCount == 1
    timing = first.pTimingInfos[0]
    assert (timing.timeDomainId, timing.presentStageQueries, timing.targetTime, timing.flags) == (77, 8, 0, 0)


@pytest.mark.parametrize(
    ("extensions", "types"),
    [
        ((), set()),
        (SECOND, {1000479002, 1000480001}),
        (ALL, {1000479002, 1000480001, 1000208000, 1000294001, 1000248000}),
        ((*ALL, SWAPCHAIN_MAINTENANCE, LATEST_READY[0]), {1000479002, 1000480001, 1000208000, 1000294001, 1000248000,
                                                          1000275000, 1000361000}),
    ],
)  # fmt: skip
def test_a_device_is_made_with_the_features_of_its_extensions(extensions: tuple[str, ...], types: set[int]) -> None:
    vulkan_1_3 = 53
    assert set(chained_types(feature_chain(frozenset(extensions)))) == {vulkan_1_3, *types}
