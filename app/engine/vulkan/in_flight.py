"""Pictures in flight: what each needs on the host, and what is known of one that was given to the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from app.core.clock import NO_STAMP_NS
from app.engine.frame import Frame
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.tiles import Tile

Shown = tuple[int | None, ...]
"""Which plane set each tile of a picture shows; None for a tile without a picture yet."""


class Submission:
    """A picture given to the GPU. Times are CLOCK_MONOTONIC ns, `NO_STAMP_NS` until finished or without calibration.

    Attributes:
        shown: what its tiles show. made: its frames whose pictures are made up, with the tiles that make them.
    """

    __slots__ = ("context", "finished", "gpu_end_ns", "gpu_start_ns", "made", "shown", "stamped")

    def __init__(self, context: FrameContext, *, stamped: bool) -> None:
        self.context = context
        self.stamped = stamped
        self.shown = context.shown
        self.made = context.made
        self.finished = False
        self.gpu_start_ns = NO_STAMP_NS
        self.gpu_end_ns = NO_STAMP_NS


class FrameContext:
    """What one picture in flight needs on the host: command buffers, fence, acquire semaphore, structs.

    Attributes:
        command_buffer: for what is recorded anew each time.
        acquire_semaphore: signalled by the acquire of the image this picture is drawn into.
        submission: what was last submitted with it, None before the first.
        is_open: `command_buffer` is being recorded.
        frames, shown, made: of the picture at hand. cpu_start_ns: thread CPU time at the beginning of its recording.
    """

    def __init__(self, device: Device, index: int, command_buffer: Handle, most_buffers: int) -> None:
        self.index = index
        self.command_buffer = command_buffer
        with ExitStack() as stack:
            self.fence: Handle = device.create("Fence", api.struct("VkFenceCreateInfo"))
            stack.callback(device.destroy, "Fence", self.fence)
            self.acquire_semaphore: Handle = device.create("Semaphore", api.struct("VkSemaphoreCreateInfo"))
            stack.callback(device.destroy, "Semaphore", self.acquire_semaphore)
            self._parts = stack.pop_all()
        self.submission: Submission | None = None
        self.is_open = False
        self.frames: Sequence[Frame] = ()
        self.shown: Shown = ()
        self.made: Sequence[tuple[Frame, Tile]] = ()
        self.cpu_start_ns = 0
        self.fences = ffi.new("VkFence[]", [self.fence])
        self.signals = ffi.new("VkSemaphore[1]")
        self.buffers = ffi.new("VkCommandBuffer[]", most_buffers)
        self.submit_info = api.struct(
            "VkSubmitInfo",
            pWaitSemaphores=ffi.new("VkSemaphore[]", [self.acquire_semaphore]),
            pWaitDstStageMask=ffi.new("VkPipelineStageFlags[]", [api.vk.VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT]),
            pCommandBuffers=self.buffers,
            pSignalSemaphores=self.signals,
        )

    def start(self, frames: Sequence[Frame]) -> None:
        """Begin a picture with these new frames: no command buffer is to be submitted yet."""
        self.submit_info.commandBufferCount = 0
        self.frames, self.shown, self.made = frames, (), ()

    def add(self, command_buffer: Handle) -> None:
        """Submit this command buffer too, after those added before."""
        count = self.submit_info.commandBufferCount
        self.buffers[count] = command_buffer
        self.submit_info.commandBufferCount = count + 1

    def close(self) -> None:
        """Free fence and semaphore; the GPU must be done with them."""
        self._parts.close()
