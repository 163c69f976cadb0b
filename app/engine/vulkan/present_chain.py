"""What a present carries beside its image: an id to wait for, a question for its display time, a fence, a new mode."""

from __future__ import annotations

from typing import Final, NamedTuple

from app.engine.vulkan import api
from app.engine.vulkan import present_timing_abi as abi
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.device import PRESENT_WAIT, SWAPCHAIN_MAINTENANCE, Device
from app.engine.vulkan.instance import Instance
from app.engine.vulkan.results import check

_DISPLAY_STAGES: Final = (abi.STAGE_FIRST_PIXEL_OUT, abi.STAGE_FIRST_PIXEL_VISIBLE)
"""Wanted first: most drivers know when they send a picture; when it lights up depends on the panel."""


class PresentTags(NamedTuple):
    """How presents to a surface can be told apart afterwards.

    Attributes:
        id_version: 2 for VK_KHR_present_id2, 1 for VK_KHR_present_id, 0 for neither.
        can_wait: the driver can wait until an id is on the screen.
        timing_stage: `VkPresentStageFlagBitsEXT` of which VK_EXT_present_timing tells the time, 0 for none.
    """

    id_version: int = 0
    can_wait: bool = False
    timing_stage: int = 0

    @property
    def create_flags(self) -> int:
        """Return the `VkSwapchainCreateFlagBitsKHR` that a swapchain needs for them."""
        if self.id_version < 2:
            return 0
        waits = abi.CREATE_PRESENT_WAIT2 if self.can_wait else 0
        times = abi.CREATE_PRESENT_TIMING if self.timing_stage else 0
        return abi.CREATE_PRESENT_ID2 | waits | times


def read_present_tags(instance: Instance, device: Device, surface: Handle) -> PresentTags:
    """Return what device and surface have of them.

    Raises:
        SurfaceLostError: the window is gone.
    """
    first = PresentTags(1, can_wait=True) if PRESENT_WAIT in device.extensions else PresentTags()
    if abi.PRESENT_ID2 not in device.extensions:
        return first
    ids = abi.struct("VkSurfaceCapabilitiesPresentId2KHR")
    waits = abi.struct("VkSurfaceCapabilitiesPresentWait2KHR", pNext=ids)
    timing = abi.struct("VkPresentTimingSurfaceCapabilitiesEXT", pNext=waits)
    asked = timing if abi.PRESENT_TIMING in device.extensions else waits
    info = api.struct("VkPhysicalDeviceSurfaceInfo2KHR", surface=surface)
    full = api.struct("VkSurfaceCapabilities2KHR", pNext=abi.chained(asked))
    code = instance.functions.vkGetPhysicalDeviceSurfaceCapabilities2KHR(device.physical.handle, info, full)
    check(code, "vkGetPhysicalDeviceSurfaceCapabilities2KHR")
    known = timing.presentStageQueries if timing.presentTimingSupported else 0
    stage = next((stage for stage in _DISPLAY_STAGES if stage & known), 0)
    second = PresentTags(2, bool(waits.presentWait2Supported), stage)
    is_better = second.can_wait or second.timing_stage or not first.can_wait
    return second if ids.presentId2Supported and is_better else first


class PresentIdWaits:
    """Waits until the picture of an id is on the screen. One thread at a time."""

    def __init__(self, device: Device, functions: abi.TimingFunctions) -> None:
        self._device = device
        self._functions = functions
        self._info = abi.struct("VkPresentWait2InfoKHR")

    def wait(self, swapchain: Handle, tags: PresentTags, present_id: int, timeout_ns: int) -> int:
        """Wait for a present of a swapchain, or a later one, and return the result code."""
        if tags.id_version == 1:
            device = self._device
            return int(device.functions.vkWaitForPresentKHR(device.handle, swapchain, present_id, timeout_ns))
        self._info.presentId, self._info.timeout = present_id, timeout_ns
        return int(self._functions.vkWaitForPresent2KHR(abi.handle_number(swapchain), self._info))


class PresentChain:
    """The structs that are chained to presents, made once; their constructors cost more than the call."""

    def __init__(self, device: Device, tags: PresentTags) -> None:
        self._ids = ffi.new("uint64_t[1]")
        self._fences = ffi.new("VkFence[1]")
        self._modes = ffi.new("VkPresentModeKHR[1]")
        self._changes_mode = False
        self._asks_timing = False
        self._with_id: Struct | None = None
        if tags.id_version == 2:
            numbers = abi.ffi.cast("uint64_t *", abi.handle_number(self._ids))
            self._id2 = abi.struct("VkPresentId2KHR", swapchainCount=1, pPresentIds=numbers)
            self._with_id = abi.chained(self._id2)
        elif tags.id_version == 1:
            self._with_id = api.struct("VkPresentIdKHR", swapchainCount=1, pPresentIds=self._ids)
        self._timing = abi.struct("VkPresentTimingInfoEXT", presentStageQueries=tags.timing_stage)
        self._timings = abi.struct("VkPresentTimingsInfoEXT", swapchainCount=1, pTimingInfos=self._timing)
        self._with_timing = abi.chained(self._timings)
        self._with_fence: Struct | None = None
        self._with_mode: Struct | None = None
        if SWAPCHAIN_MAINTENANCE in device.extensions:
            self._with_fence = api.struct("VkSwapchainPresentFenceInfoEXT", swapchainCount=1, pFences=self._fences)
            self._with_mode = api.struct("VkSwapchainPresentModeInfoEXT", swapchainCount=1, pPresentModes=self._modes)

    def change_mode(self, value: int) -> None:
        """Let the next present, and all behind it, be in another `VkPresentModeKHR`."""
        self._modes[0] = value
        self._changes_mode = True

    def ask_for_timing(self, time_domain: int) -> None:
        """Let the next present be one whose display time is told, in this time domain of the swapchain."""
        self._timing.timeDomainId = time_domain
        self._asks_timing = True

    def link(self, present_id: int, fence: Handle | None, *, timed: bool = True) -> Struct:
        """Return the first struct of the chain of a present.

        Args:
            timed: take up the question of `ask_for_timing`, if there is one.
        """
        chain = ffi.NULL
        if self._with_id is not None:
            self._ids[0] = present_id
            chain = self._with_id
        if self._asks_timing and timed:
            self._timings.pNext = abi.chain_from(chain)
            chain = self._with_timing
        if fence is not None and self._with_fence is not None:
            self._fences[0] = fence
            self._with_fence.pNext = chain
            chain = self._with_fence
        if self._changes_mode and self._with_mode is not None:
            self._with_mode.pNext = chain
            chain = self._with_mode
        return chain

    def presented(self) -> None:
        """Forget what was for one present: it was accepted, or will not be tried again."""
        self._changes_mode = self._asks_timing = False
