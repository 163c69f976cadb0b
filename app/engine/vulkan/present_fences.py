"""Fences that tell when presentation has let go of a frame's resources (VK_EXT_swapchain_maintenance1), used again."""

from __future__ import annotations

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.results import SUCCESS, check


class PresentFences:
    """A pool of present fences; it grows to the greatest number of presents in flight. Present thread only."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._all: list[Handle] = []
        self._free: list[Handle] = []
        self._one = ffi.new("VkFence[1]")

    def take(self) -> Handle:
        """Return an unsignalled fence."""
        if self._free:
            return self._free.pop()
        fence = self._device.create("Fence", api.struct("VkFenceCreateInfo"))
        self._all.append(fence)
        return fence

    def is_free(self, fence: Handle | None) -> bool:
        """Tell whether presentation is done with what the fence guards."""
        return fence is None or self._device.functions.vkGetFenceStatus(self._device.handle, fence) == SUCCESS

    def give_back(self, fence: Handle | None) -> None:
        """Reset a signalled fence for its next use."""
        if fence is None:
            return
        self._one[0] = fence
        check(self._device.functions.vkResetFences(self._device.handle, 1, self._one), "vkResetFences")
        self._free.append(fence)

    def close(self) -> None:
        """Destroy all fences; the swapchains they were used with must be gone."""
        for fence in self._all:
            self._device.destroy("Fence", fence)
        self._all.clear()
        self._free.clear()
