"""Presents cleared images as fast as the driver takes them: for the pacing probe and the bench."""

from __future__ import annotations

import time

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.memory import colour_range, image_barrier
from app.engine.vulkan.render import Renderer
from app.engine.vulkan.results import OUT_OF_DATE, SUBOPTIMAL, SUCCESS, check
from app.engine.vulkan.swapchain import Swapchain


class ClearLoop:
    """A present loop that only clears: acquire, clear, submit, present.

    The images it shows are black. It leaves nothing in flight that `Renderer.wait_all` does not know of.
    """

    def __init__(self, renderer: Renderer, swapchain: Swapchain) -> None:
        vk = api.vk
        self._renderer = renderer
        self._swapchain = swapchain
        transfer = vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
        write = vk.VK_ACCESS_TRANSFER_WRITE_BIT
        present = vk.VK_IMAGE_LAYOUT_PRESENT_SRC_KHR
        undefined = vk.VK_IMAGE_LAYOUT_UNDEFINED
        images = [target.image for target in swapchain.targets]
        self._before = [image_barrier(i, access=(0, write), layout=(undefined, transfer)) for i in images]
        self._after = [image_barrier(i, access=(write, 0), layout=(transfer, present)) for i in images]
        self._colour = api.struct("VkClearColorValue", float32=[0.0, 0.0, 0.0, 1.0])
        self._range = api.struct("VkImageSubresourceRange", **colour_range())

    def run(self, count: int, limit_ns: int) -> list[int]:
        """Present `count` images and return when each present call returned, CLOCK_MONOTONIC ns.

        Fewer stamps come back when `limit_ns` passes first or the window changes.

        Raises:
            SinkError: the device or surface is lost.
        """
        deadline_ns = time.monotonic_ns() + limit_ns
        stamps: list[int] = []
        for _ in range(count):
            if not self._present_one(deadline_ns):
                break
            stamps.append(time.monotonic_ns())
        return stamps

    def _present_one(self, deadline_ns: int) -> bool:
        renderer, swapchain = self._renderer, self._swapchain
        context = renderer.next_context()
        if not renderer.wait_free(context, deadline_ns):
            return False
        code, image_index = swapchain.acquire(context.acquire_semaphore, max(0, deadline_ns - time.monotonic_ns()))
        if code not in (SUCCESS, SUBOPTIMAL):
            if code < 0 and code != OUT_OF_DATE:
                check(code, "vkAcquireNextImageKHR")
            return False
        self._record(renderer.begin(context), image_index)
        renderer.queue(context, swapchain.present_semaphores[image_index], stamped=False)
        code = swapchain.present(image_index, None)
        if code < 0 and code != OUT_OF_DATE:
            check(code, "vkQueuePresentKHR")
        return code in (SUCCESS, SUBOPTIMAL)

    def _record(self, command_buffer: Handle, image_index: int) -> None:
        vk, functions = api.vk, self._renderer.device.functions
        top, transfer = vk.VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT, vk.VK_PIPELINE_STAGE_TRANSFER_BIT
        bottom = vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        self._barrier(command_buffer, top, transfer, self._before[image_index])
        functions.vkCmdClearColorImage(
            command_buffer, self._swapchain.targets[image_index].image, vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL,
            self._colour, 1, self._range,
        )  # fmt: skip
        self._barrier(command_buffer, transfer, bottom, self._after[image_index])

    def _barrier(self, command_buffer: Handle, before: int, after: int, barrier: Struct) -> None:
        self._renderer.device.functions.vkCmdPipelineBarrier(
            command_buffer, before, after, 0, 0, ffi.NULL, 0, ffi.NULL, 1, barrier
        )
