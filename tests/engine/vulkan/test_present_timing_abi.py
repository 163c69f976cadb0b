from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.engine.vulkan import api
from app.engine.vulkan import present_timing_abi as abi

HEADER = Path("/usr/include/vulkan/vulkan_core.h")

LAYOUTS = {
    "VkPhysicalDevicePresentId2FeaturesKHR": {"sType": 0, "pNext": 8, "presentId2": 16, "": 24},
    "VkSurfaceCapabilitiesPresentId2KHR": {"sType": 0, "pNext": 8, "presentId2Supported": 16, "": 24},
    "VkPresentId2KHR": {"sType": 0, "pNext": 8, "swapchainCount": 16, "pPresentIds": 24, "": 32},
    "VkPhysicalDevicePresentWait2FeaturesKHR": {"sType": 0, "pNext": 8, "presentWait2": 16, "": 24},
    "VkSurfaceCapabilitiesPresentWait2KHR": {"sType": 0, "pNext": 8, "presentWait2Supported": 16, "": 24},
    "VkPresentWait2InfoKHR": {"sType": 0, "pNext": 8, "presentId": 16, "timeout": 24, "": 32},
    "VkPhysicalDevicePresentTimingFeaturesEXT": {
        "sType": 0, "pNext": 8, "presentTiming": 16, "presentAtAbsoluteTime": 20, "presentAtRelativeTime": 24, "": 32,
    },
    "VkPresentTimingSurfaceCapabilitiesEXT": {
        "sType": 0, "pNext": 8, "presentTimingSupported": 16, "presentAtAbsoluteTimeSupported": 20,
        "presentAtRelativeTimeSupported": 24, "presentStageQueries": 28, "": 32,
    },
    "VkSwapchainTimingPropertiesEXT": {"sType": 0, "pNext": 8, "refreshDuration": 16, "refreshInterval": 24, "": 32},
    "VkSwapchainTimeDomainPropertiesEXT": {
        "sType": 0, "pNext": 8, "timeDomainCount": 16, "pTimeDomains": 24, "pTimeDomainIds": 32, "": 40,
    },
    "VkPresentTimingInfoEXT": {
        "sType": 0, "pNext": 8, "flags": 16, "targetTime": 24, "timeDomainId": 32, "presentStageQueries": 40,
        "targetTimeDomainPresentStage": 44, "": 48,
    },
    "VkPresentTimingsInfoEXT": {"sType": 0, "pNext": 8, "swapchainCount": 16, "pTimingInfos": 24, "": 32},
    "VkPresentStageTimeEXT": {"stage": 0, "time": 8, "": 16},
    "VkPastPresentationTimingEXT": {
        "sType": 0, "pNext": 8, "presentId": 16, "targetTime": 24, "presentStageCount": 32, "pPresentStages": 40,
        "timeDomain": 48, "timeDomainId": 56, "reportComplete": 64, "": 72,
    },
    "VkPastPresentationTimingInfoEXT": {"sType": 0, "pNext": 8, "flags": 16, "swapchain": 24, "": 32},
    "VkPastPresentationTimingPropertiesEXT": {
        "sType": 0, "pNext": 8, "timingPropertiesCounter": 16, "timeDomainsCounter": 24,
        "presentationTimingCount": 32, "pPresentationTimings": 40, "": 48,
    },
}  # fmt: skip
"""Struct → member → offset in bytes where pointers and 64-bit numbers are aligned to 8; "" is the size."""


def fields(name: str) -> list[str]:
    return [field for field, _ in abi.ffi.typeof(name).fields]


@pytest.mark.parametrize("name", LAYOUTS)
def test_structs_lie_in_memory_as_c_lays_them_out(name: str) -> None:
    offsets = {field: abi.ffi.offsetof(name, field) for field in fields(name)}
    assert {**offsets, "": abi.ffi.sizeof(name)} == LAYOUTS[name]


def test_every_struct_with_a_type_has_one_and_no_two_share_it() -> None:
    typed = {name for name in LAYOUTS if "sType" in LAYOUTS[name]}
    assert set(abi.STRUCTURE_TYPES) == typed
    assert len(set(abi.STRUCTURE_TYPES.values())) == len(typed)
    for name, value in abi.STRUCTURE_TYPES.items():
        assert abi.struct(name).sType == value
        # The registry numbers them 1000000000 + 1000 × (extension number − 1) + position.
        assert value // 1000 in (1_000_208, 1_000_479, 1_000_480)


def _header_members(text: str, name: str) -> list[str]:
    body = re.search(rf"typedef struct {name} {{(.*?)}} {name};", text, re.DOTALL)
    assert body is not None, f"{name} is not in {HEADER}"
    return re.findall(r"(\w+);", body.group(1))


def test_the_system_s_own_header_agrees() -> None:
    text = HEADER.read_text() if HEADER.exists() else ""
    if "VK_EXT_present_timing" not in text:
        pytest.skip(
            f"{HEADER} is missing or older than VK_EXT_present_timing (Vulkan 1.4.335): nothing to compare with"
        )
    for name in LAYOUTS:
        assert _header_members(text, name) == fields(name)
    for name, value in abi.STRUCTURE_TYPES.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z])", "_", name.removeprefix("Vk")).upper()
        assert f"VK_STRUCTURE_TYPE_{words} = {value}" in text


def test_structs_of_both_declarations_chain_and_keep_each_other_alive() -> None:
    ids = api.ffi.new("uint64_t[]", [4711])
    inner = abi.struct("VkPresentId2KHR", swapchainCount=1, pPresentIds=abi.chain_from(ids))
    outer = api.struct("VkPresentInfoKHR", pNext=abi.chained(inner))
    del inner
    found = abi.ffi.cast("VkPresentId2KHR *", abi.handle_number(outer.pNext))
    assert found.sType == abi.STRUCTURE_TYPES["VkPresentId2KHR"]
    assert found.pPresentIds[0] == 4711
    back = abi.struct("VkPresentTimingsInfoEXT", pNext=abi.chain_from(outer))
    assert int(abi.ffi.cast("uintptr_t", back.pNext)) == abi.handle_number(outer)
    assert abi.chain_from(api.ffi.NULL) == abi.ffi.NULL
