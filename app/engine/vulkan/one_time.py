"""Commands that run once, outside the frames."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, closing

from app.core.errors import SinkError
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.results import MAX_WAIT_NS, TIMEOUT, DeviceHungError, check


class OneTimeCommands:
    """One command buffer with a pool and fence of its own; `begin`, record, `submit`, `wait`, `close`."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._buffers = ffi.new("VkCommandBuffer[1]")
        with ExitStack() as stack:
            info = api.struct("VkCommandPoolCreateInfo", queueFamilyIndex=device.family.index)
            pool = device.create("CommandPool", info)
            stack.callback(device.destroy, "CommandPool", pool)
            self._fence: Handle = device.create("Fence", api.struct("VkFenceCreateInfo"))
            stack.callback(device.destroy, "Fence", self._fence)
            allocation = api.struct(
                "VkCommandBufferAllocateInfo",
                commandPool=pool,
                level=api.vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                commandBufferCount=1,
            )
            code = device.functions.vkAllocateCommandBuffers(device.handle, allocation, self._buffers)
            check(code, "vkAllocateCommandBuffers")
            self._parts = stack.pop_all()

    def begin(self) -> Handle:
        """Begin the command buffer and return it."""
        info = api.struct("VkCommandBufferBeginInfo", flags=api.vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        check(self._device.functions.vkBeginCommandBuffer(self._buffers[0], info), "vkBeginCommandBuffer")
        return self._buffers[0]

    def submit(self) -> None:
        """Submit; belongs to the present thread, which owns the queue. `wait` may be called by another.

        Raises:
            SinkError: the device is lost.
        """
        functions = self._device.functions
        check(functions.vkEndCommandBuffer(self._buffers[0]), "vkEndCommandBuffer")
        info = api.struct("VkSubmitInfo", commandBufferCount=1, pCommandBuffers=self._buffers)
        check(functions.vkQueueSubmit(self._device.queue, 1, info, self._fence), "vkQueueSubmit")

    def wait(self) -> None:
        """Wait until the GPU is done.

        Raises:
            SinkError: the device is lost or hangs.
        """
        fences = ffi.new("VkFence[]", [self._fence])
        code = self._device.functions.vkWaitForFences(self._device.handle, 1, fences, 1, MAX_WAIT_NS)
        if code == TIMEOUT:
            raise DeviceHungError
        check(code, "vkWaitForFences")

    def close(self) -> None:
        """Free pool and fence."""
        self._parts.close()


def run_once(device: Device, record: Callable[[Handle], None]) -> None:
    """Run what `record` writes into a command buffer, and wait for it; belongs to the present thread.

    Raises:
        SinkError: the device is lost or hangs; nothing runs on it any more then, so that what it used may go.
    """
    with closing(OneTimeCommands(device)) as commands:
        record(commands.begin())
        commands.submit()
        try:
            commands.wait()
        except SinkError:
            device.wait_idle()
            raise
