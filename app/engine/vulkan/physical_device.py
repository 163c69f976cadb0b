"""Which Vulkan devices exist, what each can do, and which one the preview runs on."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, Final

from app.core.errors import SinkError
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi, lib
from app.engine.vulkan.instance import API_VERSION, NO_DRIVER_CURE, Instance, enumerate_items

SWAPCHAIN: Final = "VK_KHR_swapchain"


class DeviceKind(IntEnum):
    """`VkPhysicalDeviceType`."""

    OTHER = 0
    INTEGRATED_GPU = 1
    DISCRETE_GPU = 2
    VIRTUAL_GPU = 3
    CPU = 4


PREFERENCE: Final = (
    DeviceKind.DISCRETE_GPU,
    DeviceKind.INTEGRATED_GPU,
    DeviceKind.VIRTUAL_GPU,
    DeviceKind.OTHER,
    DeviceKind.CPU,
)
"""Best first: hardware before software."""


@dataclass(frozen=True, slots=True)
class QueueFamily:
    """One queue family. `timestamp_bits` is 0 where its queues cannot take timestamps."""

    index: int
    graphics: bool
    timestamp_bits: int


@dataclass(frozen=True, slots=True)
class PhysicalDevice:
    """A Vulkan device of this machine.

    Attributes:
        handle: `VkPhysicalDevice`.
        name: as the driver says it. kind: its type. api_version: packed Vulkan version.
        uuid: of the device, hyphenated lower-case hexadecimal (the form NVML uses after `GPU-`).
        pci_bus_id: `0000:01:00.0`, or "" where the driver does not say (software devices).
        extensions: names of the device extensions it offers.
        queue_families: in the driver's order.
        timestamp_period_ns: ns a timestamp tick lasts.
        driver: driver name and version as text.
    """

    handle: Handle
    name: str
    kind: DeviceKind
    api_version: int
    uuid: str
    pci_bus_id: str
    extensions: frozenset[str]
    queue_families: tuple[QueueFamily, ...]
    timestamp_period_ns: float
    driver: str

    @property
    def is_software(self) -> bool:
        """Tell whether the device is a CPU implementation."""
        return self.kind is DeviceKind.CPU

    def answers_to(self, preference: str) -> bool:
        """Tell whether `preference` is part of the name (any case) or the uuid (with or without `GPU-`)."""
        wanted = preference.strip().lower()
        return wanted in self.name.lower() or wanted.removeprefix("gpu-").replace("-", "") == self.uuid.replace("-", "")


def list_physical_devices(instance: Instance) -> tuple[PhysicalDevice, ...]:
    """Return every device, best first (see `PREFERENCE`), in the driver's order among equals.

    Raises:
        VulkanError: the driver failed.
    """
    handles = enumerate_items(
        "VkPhysicalDevice",
        lambda count, out: lib.vkEnumeratePhysicalDevices(instance.handle, count, out),
        "vkEnumeratePhysicalDevices",
    )
    return tuple(sorted((_describe(handle) for handle in handles), key=lambda device: PREFERENCE.index(device.kind)))


def choose_physical_device(
    instance: Instance, surface: Handle | None, preference: str = ""
) -> tuple[PhysicalDevice, QueueFamily]:
    """Return the best device that can draw and present to `surface`, and the queue family to do both with.

    Args:
        surface: `VkSurfaceKHR`, or None for off-screen work.
        preference: part of a device name or a uuid; "" for the best.

    Raises:
        SinkError: no device, none that fits, or none that answers to `preference`; the text lists what was found.
    """
    devices = list_physical_devices(instance)
    if not devices:
        raise SinkError(f"No Vulkan device was found; {NO_DRIVER_CURE}.")
    named = [device for device in devices if not preference or device.answers_to(preference)]
    if not named:
        found = ", ".join(device.name for device in devices)
        raise SinkError(f"No Vulkan device answers to {preference!r}; choose one of: {found}.")
    for device in named:
        family = _queue_family(device, surface)
        if family is not None and not _unfit_reason(device, surface):
            return device, family
    listed = "; ".join(f"{device.name} {_unfit_reason(device, surface)}" for device in named)
    raise SinkError(f"No Vulkan device can show the preview ({listed}); update the driver or {NO_DRIVER_CURE}.")


def _unfit_reason(device: PhysicalDevice, surface: Handle | None) -> str:
    if device.api_version < API_VERSION:
        return f"has Vulkan {_version_text(device.api_version)}, 1.3 is needed"
    if surface is not None and SWAPCHAIN not in device.extensions:
        return f"lacks {SWAPCHAIN}"
    if _queue_family(device, surface) is None:
        return "cannot present to this window" if surface is not None else "has no graphics queue"
    return ""


def _queue_family(device: PhysicalDevice, surface: Handle | None) -> QueueFamily | None:
    return next((f for f in device.queue_families if f.graphics and _can_present(device, f.index, surface)), None)


def _can_present(device: PhysicalDevice, family: int, surface: Handle | None) -> bool:
    if surface is None:
        return True
    supported = ffi.new("VkBool32 *")
    return lib.vkGetPhysicalDeviceSurfaceSupportKHR(device.handle, family, surface, supported) == 0 and bool(
        supported[0]
    )


def _describe(handle: Handle) -> PhysicalDevice:
    extensions = frozenset(
        api.text(item.extensionName)
        for item in enumerate_items(
            "VkExtensionProperties",
            lambda count, out: lib.vkEnumerateDeviceExtensionProperties(handle, ffi.NULL, count, out),
            "vkEnumerateDeviceExtensionProperties",
        )
    )
    identity = api.struct("VkPhysicalDeviceIDProperties")
    driver = api.struct("VkPhysicalDeviceDriverProperties", pNext=identity)
    chain = driver
    pci = None
    if "VK_EXT_pci_bus_info" in extensions:
        pci = api.struct("VkPhysicalDevicePCIBusInfoPropertiesEXT", pNext=driver)
        chain = pci
    properties = api.struct("VkPhysicalDeviceProperties2", pNext=chain)
    lib.vkGetPhysicalDeviceProperties2(handle, properties)
    plain = properties.properties
    return PhysicalDevice(
        handle=handle,
        name=api.text(plain.deviceName),
        kind=DeviceKind(plain.deviceType),
        api_version=plain.apiVersion,
        uuid=str(uuid.UUID(bytes=bytes(identity.deviceUUID))),
        pci_bus_id="" if pci is None else _bus_id(pci),
        extensions=extensions,
        queue_families=_queue_families(handle),
        timestamp_period_ns=plain.limits.timestampPeriod,
        driver=f"{api.text(driver.driverName)} {api.text(driver.driverInfo)}".strip(),
    )


def _bus_id(pci: Any) -> str:
    return f"{pci.pciDomain:04x}:{pci.pciBus:02x}:{pci.pciDevice:02x}.{pci.pciFunction:x}"


def _queue_families(handle: Handle) -> tuple[QueueFamily, ...]:
    families = enumerate_items(
        "VkQueueFamilyProperties",
        lambda count, out: lib.vkGetPhysicalDeviceQueueFamilyProperties(handle, count, out),
        "vkGetPhysicalDeviceQueueFamilyProperties",
    )
    graphics = api.vk.VK_QUEUE_GRAPHICS_BIT
    return tuple(
        QueueFamily(index, bool(family.queueFlags & graphics), family.timestampValidBits)
        for index, family in enumerate(families)
    )


def _version_text(version: int) -> str:
    return f"{version >> 22}.{version >> 12 & 0x3FF}"
