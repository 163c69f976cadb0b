"""Frames in flight: records upload, conversion and stamps of a frame, submits them, and reads what the GPU says."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from app.core.clock import NO_STAMP_NS
from app.core.errors import SinkError
from app.engine.frame import Frame
from app.engine.picture import Picture, PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.convert import Conversion
from app.engine.vulkan.device import Device
from app.engine.vulkan.geometry import PUSH_CONSTANT_FLOATS, Rectangle, is_exact, letterbox, push_constants
from app.engine.vulkan.gpu_clock import GpuClock
from app.engine.vulkan.memory import DeviceImage, image_barrier
from app.engine.vulkan.results import DEVICE_LOST, MAX_WAIT_NS, SUCCESS, TIMEOUT, DeviceHungError, check
from app.engine.vulkan.upload import StagingRing


class RenderTarget:
    """An image to draw into, with the structs that drawing needs, made once.

    Attributes:
        image, view: handles; they belong to whoever made the target. width, height: in pixels.
    """

    def __init__(self, image: Handle, view: Handle, size: tuple[int, int], final_layout: int) -> None:
        vk = api.vk
        self.image, self.view = image, view
        self.width, self.height = size
        colour = vk.VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL
        written = vk.VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT
        self.to_drawing = image_barrier(image, access=(0, written), layout=(vk.VK_IMAGE_LAYOUT_UNDEFINED, colour))
        read = vk.VK_ACCESS_TRANSFER_READ_BIT if final_layout == vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL else 0
        self.to_final = image_barrier(image, access=(written, read), layout=(colour, final_layout))
        self.final_stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT if read else vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        attachment = api.struct(
            "VkRenderingAttachmentInfo",
            imageView=view,
            imageLayout=colour,
            loadOp=vk.VK_ATTACHMENT_LOAD_OP_CLEAR,
            storeOp=vk.VK_ATTACHMENT_STORE_OP_STORE,
            clearValue={"color": {"float32": [0.0, 0.0, 0.0, 1.0]}},
        )
        self.rendering = api.struct(
            "VkRenderingInfo",
            renderArea={"extent": {"width": self.width, "height": self.height}},
            layerCount=1,
            colorAttachmentCount=1,
            pColorAttachments=attachment,
        )


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a picture format lies in targets of one size: its rectangle and the structs that say so.

    Attributes:
        exact: one picture pixel is one target pixel, so that nothing needs to be filtered.
    """

    rectangle: Rectangle
    exact: bool
    viewport: Struct
    scissor: Struct
    constants: Struct


def place(picture_format: PictureFormat, size: tuple[int, int]) -> Placement:
    """Return the letterboxed placement of a picture in a target of `size`."""
    rectangle = letterbox(picture_format.display_size, size)
    x, y, width, height = rectangle
    constants = ffi.new("float[]", push_constants(picture_format, rectangle).tolist())
    return Placement(
        rectangle,
        is_exact(picture_format, rectangle),
        api.struct("VkViewport", x=x, y=y, width=width, height=height, maxDepth=1.0),
        api.struct("VkRect2D", offset={"x": x, "y": y}, extent={"width": width, "height": height}),
        constants,
    )


class Submission:
    """A frame given to the GPU. Times are CLOCK_MONOTONIC ns, `NO_STAMP_NS` until finished or without calibration."""

    __slots__ = ("context", "finished", "gpu_end_ns", "gpu_start_ns", "stamped")

    def __init__(self, context: FrameContext, *, stamped: bool) -> None:
        self.context = context
        self.stamped = stamped
        self.finished = False
        self.gpu_start_ns = NO_STAMP_NS
        self.gpu_end_ns = NO_STAMP_NS


class FrameContext:
    """What one frame in flight needs on the host: command buffer, fence, acquire semaphore, two queries, structs.

    Attributes:
        acquire_semaphore: signalled by the acquire of the image this frame draws into.
        submission: what was last submitted with it, None before the first.
    """

    def __init__(self, device: Device, index: int, command_buffer: Handle) -> None:
        self.index = index
        self.command_buffer = command_buffer
        self.fence: Handle = device.create("Fence", api.struct("VkFenceCreateInfo"))
        self.acquire_semaphore: Handle = device.create("Semaphore", api.struct("VkSemaphoreCreateInfo"))
        self.submission: Submission | None = None
        self.fences = ffi.new("VkFence[]", [self.fence])
        self.signals = ffi.new("VkSemaphore[1]")
        self.submit_info = api.struct(
            "VkSubmitInfo",
            pWaitSemaphores=ffi.new("VkSemaphore[]", [self.acquire_semaphore]),
            pWaitDstStageMask=ffi.new("VkPipelineStageFlags[]", [api.vk.VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT]),
            commandBufferCount=1,
            pCommandBuffers=ffi.new("VkCommandBuffer[]", [command_buffer]),
            pSignalSemaphores=self.signals,
        )

    def close(self, device: Device) -> None:
        """Free fence and semaphore; the GPU must be done with them."""
        device.destroy("Fence", self.fence)
        device.destroy("Semaphore", self.acquire_semaphore)


class Renderer:
    """Uploads, converts and stamps. All methods belong to the present thread, save `upload` (process thread).

    Attributes:
        device, clock: what it runs on. target_format: `VkFormat` of what it draws into.
    """

    def __init__(self, device: Device, clock: GpuClock, target_format: int, frames_in_flight: int) -> None:
        self.device = device
        self.clock = clock
        self.target_format = target_format
        self._functions = device.functions
        self._serial = 0
        self._ring: StagingRing | None = None
        self._conversion: Conversion | None = None
        self._placements: dict[tuple[int, int], Placement] = {}
        self._command_pool = device.create("CommandPool", _command_pool_info(device.family.index))
        self.contexts = [
            FrameContext(device, index, buffer)
            for index, buffer in enumerate(_allocate_commands(device, self._command_pool, frames_in_flight))
        ]
        self._queries: Handle | None = None
        if not clock.unavailable:
            info = api.struct(
                "VkQueryPoolCreateInfo", queryType=api.vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2 * frames_in_flight
            )
            self._queries = device.create("QueryPool", info)
        self._ticks = ffi.new("uint64_t[2]")
        self._begin = api.struct("VkCommandBufferBeginInfo", flags=api.vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)

    @property
    def picture_format(self) -> PictureFormat | None:
        """Return the format prepared for, None before the first `prepare`."""
        return self._conversion.picture_format if self._conversion is not None else None

    def prepare(self, picture_format: PictureFormat, slots: int, tile: int = 0) -> None:
        """Make the staging ring and conversion of a format, or only more slots when the format is the same."""
        if self._conversion is not None and self._conversion.picture_format == picture_format:
            assert self._ring is not None
            self._ring.grow(slots)
            return
        self.wait_all()
        self.device.wait_idle()  # a capture may still draw from the plane images
        self._close_conversion()
        self._conversion = Conversion(self.device, picture_format, self.target_format, len(self.contexts))
        self._ring = StagingRing(self.device, picture_format, slots)
        self._warm_up()

    def upload(self, picture: Picture, slot: int, tile: int = 0) -> int:
        """Copy a picture into a staging slot and return the bytes copied."""
        if self._ring is None:
            raise SinkError("A picture was uploaded before its format was prepared; this is a fault of VeoTuner.")
        return self._ring[slot].write(picture)

    def placement(self, size: tuple[int, int]) -> Placement:
        """Return where the picture lies in targets of this size; computed once a size and format."""
        placement = self._placements.get(size)
        if placement is None:
            assert self._conversion is not None, "prepare comes first"
            placement = place(self._conversion.picture_format, size)
            self._placements[size] = placement
        return placement

    def forget_placements(self) -> None:
        """Drop the cached placements of sizes that are gone."""
        self._placements.clear()

    def next_context(self) -> FrameContext:
        """Return the context of the next frame; `wait_free` must say that it is free before it is used."""
        return self.contexts[self._serial % len(self.contexts)]

    def wait_free(self, context: FrameContext, deadline_ns: int) -> bool:
        """Wait until the GPU is done with the context's last frame; False when `deadline_ns` comes first."""
        submission = context.submission
        return submission is None or self.wait(submission, max(0, deadline_ns - time.monotonic_ns()))

    def record(self, context: FrameContext, frames: Sequence[Frame], target: RenderTarget) -> None:
        """Record the frames that are new in their tiles into a target; `context` must be free, `queue` follows."""
        assert self._conversion is not None, "prepare comes first"
        assert self._ring is not None, "prepare comes first"
        vk, functions = api.vk, self._functions
        command_buffer = self.begin(context)
        self._stamp(context, 0)
        staging = self._ring[frames[0].slot]
        planes = self._conversion.planes[context.index]
        count = len(planes.images)
        transfer, fragment = vk.VK_PIPELINE_STAGE_TRANSFER_BIT, vk.VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT
        functions.vkCmdPipelineBarrier(
            command_buffer, fragment, transfer, 0, 0, ffi.NULL, 0, ffi.NULL, count, planes.to_transfer
        )
        layout = vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
        for index, image in enumerate(planes.images):
            functions.vkCmdCopyBufferToImage(
                command_buffer, staging.buffer, image.handle, layout, 1, staging.regions + index
            )
        functions.vkCmdPipelineBarrier(
            command_buffer, transfer, fragment, 0, 0, ffi.NULL, 0, ffi.NULL, count, planes.to_sampled
        )
        self.draw(command_buffer, context, target)
        self._stamp(context, 1)

    def queue(self, context: FrameContext, signal: Handle | None, *, stamped: bool = True) -> Submission:
        """Submit what was recorded and return it; never waits. `next_context` moves on.

        Args:
            signal: semaphore to signal for presentation; None when nothing was acquired and nothing is presented.
            stamped: the recording took GPU time stamps (`record` does).

        Raises:
            VulkanError: the device is lost.
        """
        functions = self._functions
        info = context.submit_info
        presents = signal is not None
        info.waitSemaphoreCount = info.signalSemaphoreCount = int(presents)
        if presents:
            context.signals[0] = signal
        check(functions.vkEndCommandBuffer(context.command_buffer), "vkEndCommandBuffer")
        check(functions.vkResetFences(self.device.handle, 1, context.fences), "vkResetFences")
        submission = Submission(context, stamped=stamped)
        check(functions.vkQueueSubmit(self.device.queue, 1, info, context.fence), "vkQueueSubmit")
        context.submission = submission
        self._serial += 1
        return submission

    def discard_acquired(self, context: FrameContext) -> None:
        """Use up the signalled acquire semaphore of an image that will not be presented, and wait for the end of it.

        On a lost device there is nothing to use up.
        """
        info = api.struct(
            "VkSubmitInfo",
            waitSemaphoreCount=1,
            pWaitSemaphores=context.submit_info.pWaitSemaphores,
            pWaitDstStageMask=context.submit_info.pWaitDstStageMask,
        )
        code = self._functions.vkQueueSubmit(self.device.queue, 1, info, ffi.NULL)
        if code != DEVICE_LOST:
            check(code, "vkQueueSubmit")
        self.device.wait_idle()

    def begin(self, context: FrameContext) -> Handle:
        """Begin the context's command buffer and return it, for work that is no frame."""
        self._functions.vkBeginCommandBuffer(context.command_buffer, self._begin)
        return context.command_buffer

    def poll(self, submission: Submission) -> bool:
        """Tell whether the GPU has finished, and if so fill in its times. Does not wait."""
        if submission.finished:
            return True
        code = self._functions.vkGetFenceStatus(self.device.handle, submission.context.fence)
        if code != SUCCESS:
            if code < 0:
                check(code, "vkGetFenceStatus")
            return False
        self._finish(submission)
        return True

    def wait(self, submission: Submission, timeout_ns: int) -> bool:
        """Wait until the GPU has finished; False on time-out."""
        if submission.finished:
            return True
        context = submission.context
        code = self._functions.vkWaitForFences(self.device.handle, 1, context.fences, 1, timeout_ns)
        if code == TIMEOUT:
            return False
        check(code, "vkWaitForFences")
        self._finish(submission)
        return True

    def wait_all(self) -> None:
        """Wait for every frame in flight.

        Raises:
            DeviceHungError: the GPU does not come to an end.
        """
        for context in self.contexts:
            if context.submission is not None and not self.wait(context.submission, MAX_WAIT_NS):
                raise DeviceHungError

    def draw(self, command_buffer: Handle, context: FrameContext, target: RenderTarget) -> None:
        """Record drawing the picture that a context's plane images hold into a target."""
        assert self._conversion is not None, "prepare comes first"
        vk, functions, conversion = api.vk, self._functions, self._conversion
        placement = self.placement((target.width, target.height))
        planes = conversion.planes[context.index]
        output = vk.VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT
        functions.vkCmdPipelineBarrier(
            command_buffer, output, output, 0, 0, ffi.NULL, 0, ffi.NULL, 1, target.to_drawing
        )
        functions.vkCmdBeginRendering(command_buffer, target.rendering)
        functions.vkCmdBindPipeline(command_buffer, vk.VK_PIPELINE_BIND_POINT_GRAPHICS, conversion.pipeline)
        functions.vkCmdSetViewport(command_buffer, 0, 1, placement.viewport)
        functions.vkCmdSetScissor(command_buffer, 0, 1, placement.scissor)
        functions.vkCmdPushConstants(
            command_buffer, conversion.layout, vk.VK_SHADER_STAGE_FRAGMENT_BIT, 0, 4 * PUSH_CONSTANT_FLOATS,
            placement.constants,
        )  # fmt: skip
        functions.vkCmdBindDescriptorSets(
            command_buffer, vk.VK_PIPELINE_BIND_POINT_GRAPHICS, conversion.layout, 0, 1,
            planes.exact if placement.exact else planes.smooth, 0, ffi.NULL,
        )  # fmt: skip
        functions.vkCmdDraw(command_buffer, 3, 1, 0, 0)
        functions.vkCmdEndRendering(command_buffer)
        functions.vkCmdPipelineBarrier(
            command_buffer, output, target.final_stage, 0, 0, ffi.NULL, 0, ffi.NULL, 1, target.to_final
        )

    def close(self) -> None:
        """Free everything; the device must be idle."""
        self._close_conversion()
        for context in self.contexts:
            context.close(self.device)
        if self._queries is not None:
            self.device.destroy("QueryPool", self._queries)
        self.device.destroy("CommandPool", self._command_pool)
        self.device.census.died("CommandBuffer", len(self.contexts))

    def _warm_up(self) -> None:
        """Draw one frame of nothing into a tiny image.

        Drivers finish compiling a pipeline at its first draw (lavapipe: 40 ms idle, seconds on a busy machine); that
        belongs here and not into the first frame.
        """
        vk = api.vk
        image = DeviceImage(self.device, self.target_format, 16, 16, vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT)
        target = RenderTarget(image.handle, image.view, (16, 16), vk.VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL)
        context = self.next_context()
        frame = Frame()
        frame.slot = 0
        self.record(context, [frame], target)
        try:
            self.queue(context, None)
            self.wait_all()
        finally:
            image.close()
        self._placements.clear()

    def _stamp(self, context: FrameContext, which: int) -> None:
        """Write the frame's start (0) or end (1) stamp; the start also resets both."""
        if self._queries is None:
            return
        vk, first = api.vk, 2 * context.index
        stage = vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        if which == 0:
            self._functions.vkCmdResetQueryPool(context.command_buffer, self._queries, first, 2)
            stage = vk.VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT
        self._functions.vkCmdWriteTimestamp(context.command_buffer, stage, self._queries, first + which)

    def _finish(self, submission: Submission) -> None:
        submission.finished = True
        if self._queries is None or not submission.stamped:
            return
        code = self._functions.vkGetQueryPoolResults(
            self.device.handle, self._queries, 2 * submission.context.index, 2, 16, self._ticks, 8,
            api.vk.VK_QUERY_RESULT_64_BIT,
        )  # fmt: skip
        if code == SUCCESS:
            submission.gpu_start_ns = self.clock.monotonic_ns(self._ticks[0])
            submission.gpu_end_ns = self.clock.monotonic_ns(self._ticks[1])

    def _close_conversion(self) -> None:
        self._placements.clear()
        if self._ring is not None:
            self._ring.close()
            self._ring = None
        if self._conversion is not None:
            self._conversion.close()
            self._conversion = None


def _command_pool_info(family: int) -> Struct:
    return api.struct(
        "VkCommandPoolCreateInfo",
        flags=api.vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        queueFamilyIndex=family,
    )


def _allocate_commands(device: Device, pool: Handle, count: int) -> list[Handle]:
    info = api.struct(
        "VkCommandBufferAllocateInfo",
        commandPool=pool,
        level=api.vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
        commandBufferCount=count,
    )
    out = ffi.new("VkCommandBuffer[]", count)
    check(device.functions.vkAllocateCommandBuffers(device.handle, info, out), "vkAllocateCommandBuffers")
    device.census.born("CommandBuffer", count)
    return [out[index] for index in range(count)]
