"""The logical device: one queue, optional features, creation and destruction of objects, memory types."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from app.engine.vulkan import api
from app.engine.vulkan import present_timing_abi as abi
from app.engine.vulkan.api import FunctionTable, Handle, Struct, ffi, lib
from app.engine.vulkan.census import ObjectCensus
from app.engine.vulkan.instance import Instance
from app.engine.vulkan.physical_device import SWAPCHAIN, PhysicalDevice, QueueFamily
from app.engine.vulkan.present_timing_abi import PRESENT_ID2, PRESENT_TIMING, PRESENT_WAIT2
from app.engine.vulkan.results import SUCCESS, VulkanError, check

SWAPCHAIN_MAINTENANCE: Final = "VK_EXT_swapchain_maintenance1"
PRESENT_ID: Final = "VK_KHR_present_id"
PRESENT_WAIT: Final = "VK_KHR_present_wait"
LATEST_READY: Final[tuple[str, ...]] = (
    "VK_KHR_present_mode_fifo_latest_ready",
    "VK_EXT_present_mode_fifo_latest_ready",
)
CALIBRATED_TIMESTAMPS: Final[tuple[str, ...]] = ("VK_KHR_calibrated_timestamps", "VK_EXT_calibrated_timestamps")

LATEST_READY_FEATURES_TYPE: Final = 1000361000
"""`sType` of VkPhysicalDevicePresentModeFifoLatestReadyFeaturesEXT, newer than the headers of the `vulkan` package."""


class Device:
    """A logical device with one graphics (and present) queue.

    The queue belongs to the present thread. `create` and `destroy` are safe from any thread.

    Args:
        presents: enable the swapchain and what tells display times.
        without: optional extensions to leave off although the device has them.

    Attributes:
        handle: `VkDevice`. functions: device functions, fetched once each. queue: `VkQueue`.
        physical: the device it is made on. family: the queue's family.
        extensions: names of the enabled device extensions.
        max_image_size: longest side of a 2-D image, in texels.
        census: counts live objects.
    """

    def __init__(
        self,
        instance: Instance,
        physical: PhysicalDevice,
        family: QueueFamily,
        *,
        presents: bool,
        without: Collection[str] = (),
    ) -> None:
        self.physical = physical
        self.family = family
        self.census: ObjectCensus = instance.census
        self.extensions = _wanted_extensions(physical, instance, presents).difference(without)
        self.handle = _create_device(physical, family, self.extensions)
        self.census.born("Device")
        self.functions = FunctionTable("vkGetDeviceProcAddr", self.handle)
        queue = ffi.new("VkQueue *")
        self.functions.vkGetDeviceQueue(self.handle, family.index, 0, queue)
        self.queue = queue[0]
        memory = ffi.new("VkPhysicalDeviceMemoryProperties *")
        lib.vkGetPhysicalDeviceMemoryProperties(physical.handle, memory)
        properties = ffi.new("VkPhysicalDeviceProperties *")
        lib.vkGetPhysicalDeviceProperties(physical.handle, properties)
        self.max_image_size = int(properties.limits.maxImageDimension2D)
        self._memory_flags = [memory.memoryTypes[i].propertyFlags for i in range(memory.memoryTypeCount)]

    def create(self, kind: str, info: Struct) -> Handle:
        """Return a new object of `kind` (`Fence`, `ImageView`, …) by `vkCreate<kind>`.

        Raises:
            VulkanError: the call failed.
        """
        out = ffi.new(f"Vk{kind} *")
        check(getattr(self.functions, f"vkCreate{kind}")(self.handle, info, ffi.NULL, out), f"vkCreate{kind}")
        self.census.born(kind)
        return out[0]

    def destroy(self, kind: str, handle: Handle) -> None:
        """Destroy an object that `create` made."""
        getattr(self.functions, f"vkDestroy{kind}")(self.handle, handle, ffi.NULL)
        self.census.died(kind)

    def allocate(self, requirements: Struct, wanted: int, avoided: int = 0) -> Handle:
        """Return device memory that has all `wanted` property bits, and none of `avoided` where that is possible.

        Raises:
            VulkanError: out of memory, or no such memory.
        """
        info = api.struct(
            "VkMemoryAllocateInfo",
            allocationSize=requirements.size,
            memoryTypeIndex=self._memory_type(requirements.memoryTypeBits, wanted, avoided),
        )
        out = ffi.new("VkDeviceMemory *")
        check(self.functions.vkAllocateMemory(self.handle, info, ffi.NULL, out), "vkAllocateMemory")
        self.census.born("DeviceMemory")
        return out[0]

    def free(self, memory: Handle) -> None:
        """Free memory that `allocate` gave."""
        self.functions.vkFreeMemory(self.handle, memory, ffi.NULL)
        self.census.died("DeviceMemory")

    @property
    def has_latest_ready(self) -> bool:
        """Tell whether the present mode FIFO_LATEST_READY may be used where a surface offers it."""
        return not self.extensions.isdisjoint(LATEST_READY)

    def wait_idle(self) -> None:
        """Wait for all work of the device; for rebuilds and the end, never for a frame.

        A lost device is idle: its objects can only be destroyed.
        """
        code = self.functions.vkDeviceWaitIdle(self.handle)
        if code != SUCCESS and not VulkanError(code, "vkDeviceWaitIdle").is_device_lost:
            check(code, "vkDeviceWaitIdle")

    def close(self) -> None:
        """Destroy the device; its objects must be gone. A second call does nothing."""
        if self.handle is None:
            return
        self.functions.vkDestroyDevice(self.handle, ffi.NULL)
        self.census.died("Device")
        self.handle = None

    def _memory_type(self, type_bits: int, wanted: int, avoided: int) -> int:
        fits = [i for i, flags in enumerate(self._memory_flags) if type_bits >> i & 1 and flags & wanted == wanted]
        best = [i for i in fits if not self._memory_flags[i] & avoided]
        if not fits:
            raise VulkanError(-2, "vkAllocateMemory")
        return (best or fits)[0]


def _wanted_extensions(physical: PhysicalDevice, instance: Instance, presents: bool) -> frozenset[str]:
    wanted: list[str] = [name for name in CALIBRATED_TIMESTAMPS if name in physical.extensions][:1]
    if presents:
        wanted.append(SWAPCHAIN)
        if "VK_EXT_surface_maintenance1" in instance.extensions and SWAPCHAIN_MAINTENANCE in physical.extensions:
            wanted.append(SWAPCHAIN_MAINTENANCE)
        if {PRESENT_ID, PRESENT_WAIT} <= physical.extensions:
            wanted += [PRESENT_ID, PRESENT_WAIT]
        if {PRESENT_ID2, PRESENT_WAIT2} <= physical.extensions:
            wanted += [PRESENT_ID2, PRESENT_WAIT2]
            if PRESENT_TIMING in physical.extensions and wanted[0] in CALIBRATED_TIMESTAMPS:
                wanted.append(PRESENT_TIMING)
        wanted += [name for name in LATEST_READY if name in physical.extensions][:1]
    return frozenset(wanted)


def feature_chain(extensions: frozenset[str]) -> Struct:
    """Return the chained features that the extensions of a device are enabled with."""
    chain = api.struct("VkPhysicalDeviceVulkan13Features", dynamicRendering=1)
    if SWAPCHAIN_MAINTENANCE in extensions:
        chain = api.struct("VkPhysicalDeviceSwapchainMaintenance1FeaturesEXT", swapchainMaintenance1=1, pNext=chain)
    if PRESENT_WAIT in extensions:
        chain = api.struct("VkPhysicalDevicePresentIdFeaturesKHR", presentId=1, pNext=chain)
        chain = api.struct("VkPhysicalDevicePresentWaitFeaturesKHR", presentWait=1, pNext=chain)
    if PRESENT_ID2 in extensions:
        ids = abi.struct("VkPhysicalDevicePresentId2FeaturesKHR", presentId2=1, pNext=abi.chain_from(chain))
        waits = abi.struct("VkPhysicalDevicePresentWait2FeaturesKHR", presentWait2=1, pNext=ids)
        timing = abi.struct("VkPhysicalDevicePresentTimingFeaturesEXT", presentTiming=1, pNext=waits)
        chain = abi.chained(timing if PRESENT_TIMING in extensions else waits)
    if not extensions.isdisjoint(LATEST_READY):
        # Same layout as the missing struct: sType, pNext, one VkBool32.
        chain = api.struct("VkPhysicalDevicePresentIdFeaturesKHR", presentId=1, pNext=chain)
        chain.sType = LATEST_READY_FEATURES_TYPE
    return chain


def _create_device(physical: PhysicalDevice, family: QueueFamily, extensions: frozenset[str]) -> Handle:
    priorities = ffi.new("float[]", [1.0])
    queue = api.struct(
        "VkDeviceQueueCreateInfo", queueFamilyIndex=family.index, queueCount=1, pQueuePriorities=priorities
    )
    names = sorted(extensions)
    info = api.struct(
        "VkDeviceCreateInfo",
        pNext=feature_chain(extensions),
        queueCreateInfoCount=1,
        pQueueCreateInfos=queue,
        enabledExtensionCount=len(names),
        ppEnabledExtensionNames=api.strings(names),
    )
    handle = ffi.new("VkDevice *")
    check(lib.vkCreateDevice(physical.handle, info, ffi.NULL, handle), "vkCreateDevice")
    return handle[0]


def host_visible_flags() -> int:
    """Return the property bits of memory that the host writes without flushing."""
    vk: Any = api.vk
    return int(vk.VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | vk.VK_MEMORY_PROPERTY_HOST_COHERENT_BIT)
