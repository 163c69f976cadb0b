from __future__ import annotations

import gc

import pytest

from app.engine.vulkan import api


def test_structs_built_inside_a_list_keep_what_they_point_to() -> None:
    """The trap of the `vulkan` package: 298 of 300 such structs lost their members."""
    arrays = []
    for number in range(300):
        entries = [
            api.struct("VkSpecializationInfo", dataSize=1, pData=api.ffi.new("int32_t *", 1_000 * number + entry))
            for entry in range(3)
        ]
        arrays.append(api.array("VkSpecializationInfo", entries))
        del entries
    gc.collect()
    for number, entries in enumerate(arrays):
        values = [api.ffi.cast("int32_t *", entries[entry].pData)[0] for entry in range(3)]
        assert values == [1_000 * number + entry for entry in range(3)]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("VkSubmitInfo", 4),
        ("VkPhysicalDeviceVulkan13Features", 53),
        ("VkPhysicalDeviceSwapchainMaintenance1FeaturesEXT", 1000275000),
        ("VkSurfaceCapabilities2KHR", 1000119001),
        ("VkCalibratedTimestampInfoKHR", 1000184000),
        ("VkXcbSurfaceCreateInfoKHR", 1000005000),
    ],
)
def test_structs_know_their_type(name: str, value: int) -> None:
    assert api.struct(name).sType == value


def test_a_field_that_is_zero_is_not_dropped() -> None:
    info = api.struct("VkImageMemoryBarrier", srcQueueFamilyIndex=0, dstQueueFamilyIndex=5)
    assert (info.srcQueueFamilyIndex, info.dstQueueFamilyIndex) == (0, 5)


def test_a_field_that_does_not_exist_is_refused() -> None:
    with pytest.raises(KeyError):
        api.struct("VkSubmitInfo", waitSemaphores=1)


def test_what_a_struct_points_to_goes_with_it() -> None:
    before = len(api._kept)
    for _ in range(100):
        api.struct("VkSpecializationInfo", pData=api.ffi.new("int32_t *", 1))
    gc.collect()
    assert len(api._kept) <= before
