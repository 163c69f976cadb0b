"""The C interface of VK_KHR_present_id2, VK_KHR_present_wait2 and VK_EXT_present_timing.

The `vulkan` package was made from headers of 2023 and its declarations cannot be added to, so these extensions have an
FFI of their own. Layouts and values are those of the Vulkan registry (vk.xml, header 1.4.335 and later). Handles are
plain 64-bit numbers here, enumerations 32-bit ones; that is how every 64-bit platform passes them.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

from cffi import FFI  # type: ignore[import-untyped]  # cffi ships no types

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct

PRESENT_ID2: Final = "VK_KHR_present_id2"
PRESENT_WAIT2: Final = "VK_KHR_present_wait2"
PRESENT_TIMING: Final = "VK_EXT_present_timing"

CREATE_PRESENT_ID2: Final = 0x40
CREATE_PRESENT_WAIT2: Final = 0x80
CREATE_PRESENT_TIMING: Final = 0x200
"""`VkSwapchainCreateFlagBitsKHR`."""

STAGE_FIRST_PIXEL_OUT: Final = 4
STAGE_FIRST_PIXEL_VISIBLE: Final = 8
"""`VkPresentStageFlagBitsEXT`: the stages at the display; those before are no display times."""

TIMING_QUEUE_FULL: Final = -1000208000
"""`VK_ERROR_PRESENT_TIMING_QUEUE_FULL_EXT`: the present was not queued; without timing it would be."""

DOMAIN_CLOCK_MONOTONIC: Final = 1
DOMAIN_CLOCK_MONOTONIC_RAW: Final = 2
"""`VkTimeDomainKHR`."""

STRUCTURE_TYPES: Final = {
    "VkPhysicalDevicePresentTimingFeaturesEXT": 1000208000,
    "VkSwapchainTimingPropertiesEXT": 1000208001,
    "VkSwapchainTimeDomainPropertiesEXT": 1000208002,
    "VkPresentTimingsInfoEXT": 1000208003,
    "VkPresentTimingInfoEXT": 1000208004,
    "VkPastPresentationTimingInfoEXT": 1000208005,
    "VkPastPresentationTimingPropertiesEXT": 1000208006,
    "VkPastPresentationTimingEXT": 1000208007,
    "VkPresentTimingSurfaceCapabilitiesEXT": 1000208008,
    "VkSurfaceCapabilitiesPresentId2KHR": 1000479000,
    "VkPresentId2KHR": 1000479001,
    "VkPhysicalDevicePresentId2FeaturesKHR": 1000479002,
    "VkSurfaceCapabilitiesPresentWait2KHR": 1000480000,
    "VkPhysicalDevicePresentWait2FeaturesKHR": 1000480001,
    "VkPresentWait2InfoKHR": 1000480002,
}

_DECLARATIONS: Final = """
typedef struct { int32_t sType; void *pNext; uint32_t presentId2; } VkPhysicalDevicePresentId2FeaturesKHR;
typedef struct { int32_t sType; void *pNext; uint32_t presentId2Supported; } VkSurfaceCapabilitiesPresentId2KHR;
typedef struct { int32_t sType; const void *pNext; uint32_t swapchainCount; const uint64_t *pPresentIds; }
    VkPresentId2KHR;

typedef struct { int32_t sType; void *pNext; uint32_t presentWait2; } VkPhysicalDevicePresentWait2FeaturesKHR;
typedef struct { int32_t sType; void *pNext; uint32_t presentWait2Supported; } VkSurfaceCapabilitiesPresentWait2KHR;
typedef struct { int32_t sType; const void *pNext; uint64_t presentId; uint64_t timeout; } VkPresentWait2InfoKHR;

typedef struct { int32_t sType; void *pNext; uint32_t presentTiming; uint32_t presentAtAbsoluteTime;
    uint32_t presentAtRelativeTime; } VkPhysicalDevicePresentTimingFeaturesEXT;
typedef struct { int32_t sType; void *pNext; uint32_t presentTimingSupported; uint32_t presentAtAbsoluteTimeSupported;
    uint32_t presentAtRelativeTimeSupported; uint32_t presentStageQueries; } VkPresentTimingSurfaceCapabilitiesEXT;
typedef struct { int32_t sType; void *pNext; uint64_t refreshDuration; uint64_t refreshInterval; }
    VkSwapchainTimingPropertiesEXT;
typedef struct { int32_t sType; void *pNext; uint32_t timeDomainCount; int32_t *pTimeDomains;
    uint64_t *pTimeDomainIds; } VkSwapchainTimeDomainPropertiesEXT;
typedef struct { int32_t sType; const void *pNext; uint32_t flags; uint64_t targetTime; uint64_t timeDomainId;
    uint32_t presentStageQueries; uint32_t targetTimeDomainPresentStage; } VkPresentTimingInfoEXT;
typedef struct { int32_t sType; const void *pNext; uint32_t swapchainCount;
    const VkPresentTimingInfoEXT *pTimingInfos; } VkPresentTimingsInfoEXT;
typedef struct { uint32_t stage; uint64_t time; } VkPresentStageTimeEXT;
typedef struct { int32_t sType; void *pNext; uint64_t presentId; uint64_t targetTime; uint32_t presentStageCount;
    VkPresentStageTimeEXT *pPresentStages; int32_t timeDomain; uint64_t timeDomainId; uint32_t reportComplete; }
    VkPastPresentationTimingEXT;
typedef struct { int32_t sType; const void *pNext; uint32_t flags; uint64_t swapchain; }
    VkPastPresentationTimingInfoEXT;
typedef struct { int32_t sType; void *pNext; uint64_t timingPropertiesCounter; uint64_t timeDomainsCounter;
    uint32_t presentationTimingCount; VkPastPresentationTimingEXT *pPresentationTimings; }
    VkPastPresentationTimingPropertiesEXT;

typedef int32_t (*PFN_vkWaitForPresent2KHR)(void *device, uint64_t swapchain, const VkPresentWait2InfoKHR *info);
typedef int32_t (*PFN_vkSetSwapchainPresentTimingQueueSizeEXT)(void *device, uint64_t swapchain, uint32_t size);
typedef int32_t (*PFN_vkGetSwapchainTimingPropertiesEXT)(void *device, uint64_t swapchain,
    VkSwapchainTimingPropertiesEXT *properties, uint64_t *counter);
typedef int32_t (*PFN_vkGetSwapchainTimeDomainPropertiesEXT)(void *device, uint64_t swapchain,
    VkSwapchainTimeDomainPropertiesEXT *properties, uint64_t *counter);
typedef int32_t (*PFN_vkGetPastPresentationTimingEXT)(void *device, const VkPastPresentationTimingInfoEXT *info,
    VkPastPresentationTimingPropertiesEXT *properties);
"""

ffi: Any = FFI()
ffi.cdef(_DECLARATIONS)

_kept: weakref.WeakKeyDictionary[Any, tuple[object, ...]] = weakref.WeakKeyDictionary()


def struct(name: str, **fields: object) -> Struct:
    """Return a new struct of these extensions with `sType` set; what its fields point to lives as long as it does."""
    pointer = ffi.new(f"{name} *", {"sType": STRUCTURE_TYPES[name], **fields})
    _kept[pointer] = tuple(fields.values())
    return pointer


def chained(pointer: Struct) -> Any:
    """Return a struct of these extensions as the `pNext` of one of the `vulkan` package.

    It keeps the struct alive as long as it lives itself.
    """
    result = api.ffi.cast("void *", int(ffi.cast("uintptr_t", pointer)))
    _kept[result] = (pointer,)
    return result


def chain_from(pointer: Struct) -> Any:
    """Return a struct of the `vulkan` package (or its NULL) as the `pNext` of one of these extensions.

    It keeps the struct alive as long as it lives itself.
    """
    result = ffi.cast("void *", int(api.ffi.cast("uintptr_t", pointer)))
    _kept[result] = (pointer,)
    return result


def handle_number(handle: Handle) -> int:
    """Return a handle of the `vulkan` package as the number that the functions of these extensions take."""
    return int(api.ffi.cast("uintptr_t", handle))


class TimingFunctions:
    """The functions of these extensions, bound to a device; each is fetched when it is first called.

    Raises:
        AttributeError: the driver has no such function.
    """

    def __init__(self, device: Handle) -> None:
        self._device = device
        self._number = ffi.cast("void *", handle_number(device))

    def __getattr__(self, name: str) -> Any:
        address = api.lib.vkGetDeviceProcAddr(self._device, name.encode())
        if address == api.ffi.NULL:
            raise AttributeError(f"the Vulkan driver has no {name}")
        raw = ffi.cast(f"PFN_{name}", int(api.ffi.cast("uintptr_t", address)))
        number = self._number

        def function(*arguments: Any) -> int:
            return int(raw(number, *arguments))

        setattr(self, name, function)
        return function
