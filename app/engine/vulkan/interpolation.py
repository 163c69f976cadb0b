"""Frame interpolation: makes up the picture between two others, by mixing them or by following what moves.

`blend` mixes: (1 − phase) · earlier + phase · later, sample by sample. `motion` finds where blocks of luma have gone
and takes every sample from its place in both pictures; where nothing fits, at a cut above all, it mixes as `blend`
does. assets/shaders/interpolation.glsl lists the passes.

The result lies in a buffer with the planes of the picture format, just as a staging slot does, and is shown the same
way. So nothing is asked of the device beyond Vulkan's floor: no storage image of a format that some drivers lack.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from itertools import chain
from typing import NamedTuple

from app.core.clock import NO_STAMP_NS
from app.engine.picture import PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi, lib
from app.engine.vulkan.device import Device
from app.engine.vulkan.gpu_clock import GpuClock
from app.engine.vulkan.instance import enumerate_items
from app.engine.vulkan.interpolation_layout import TALLY_WORDS, InterpolationLayout, lay_out
from app.engine.vulkan.interpolation_objects import CONSTANT_WORDS, PassObjects
from app.engine.vulkan.interpolation_passes import InterpolationKind, Pass, PassTable, Step
from app.engine.vulkan.memory import DeviceBuffer, DeviceImage, image_barrier
from app.engine.vulkan.one_time import run_once
from app.engine.vulkan.plane_sets import plane_image_format
from app.engine.vulkan.results import SUCCESS

__all__ = ["InterpolationKind", "Interpolator", "MadePicture", "interpolation_unavailable"]


class MadePicture(NamedTuple):
    """A made-up picture, to be copied into plane images as from a staging slot.

    Attributes:
        buffer: `VkBuffer`. regions: `VkBufferImageCopy[planes]`.
    """

    buffer: Handle
    regions: Struct


def interpolation_unavailable(device: Device, picture_format: PictureFormat) -> str:
    """Return why pictures of this format cannot be made up on this device, or ""."""
    families = enumerate_items(
        "VkQueueFamilyProperties",
        lambda count, out: lib.vkGetPhysicalDeviceQueueFamilyProperties(device.physical.handle, count, out),
        "vkGetPhysicalDeviceQueueFamilyProperties",
    )
    if not families[device.family.index].queueFlags & api.vk.VK_QUEUE_COMPUTE_BIT:
        return f"the graphics queue of {device.physical.name} does not run compute shaders"
    properties = ffi.new("VkPhysicalDeviceProperties *")
    lib.vkGetPhysicalDeviceProperties(device.physical.handle, properties)
    needed, limit = max(lay_out(picture_format).buffer_bytes), int(properties.limits.maxStorageBufferRange)
    if needed > limit:
        return (
            f"a picture of {picture_format.width}×{picture_format.height} needs a buffer of {needed} bytes and "
            f"{device.physical.name} allows {limit}"
        )
    return ""


class Interpolator:
    """Makes up pictures of one format. All methods belong to the present thread.

    Every recording uses the same buffers: barriers keep apart what runs one after another in a queue.

    Args:
        pictures: plane images of every picture that `record` may be told of by its index.
        frames_in_flight: how many recordings have time stamps of their own.

    Attributes:
        made: where the made-up picture lies after the passes that `record` records.

    Raises:
        SinkError: out of memory. `interpolation_unavailable` is to be asked first.
    """

    def __init__(
        self,
        device: Device,
        clock: GpuClock,
        picture_format: PictureFormat,
        pictures: Sequence[Sequence[DeviceImage]],
        frames_in_flight: int,
    ) -> None:
        self._device = device
        self._functions = device.functions
        self._clock = clock
        self._layout = lay_out(picture_format)
        self._sets = ffi.new("VkDescriptorSet[3]")
        self._phase = ffi.new("float[1]")
        self._ticks = ffi.new("uint64_t[2]")
        self._barrier_info = _memory_barrier()
        with ExitStack() as stack, ExitStack() as first_run:
            blank = _blank_picture(device, picture_format, first_run)
            self._buffers = self._make_buffers(stack)
            self._objects = PassObjects(device, [*pictures, blank], self._buffers)
            stack.callback(self._objects.close)
            passes = PassTable(device, self._objects.layout, picture_format, self._layout)
            stack.callback(passes.close)
            self._steps = passes.steps
            self._queries = self._make_queries(stack, frames_in_flight)
            self._warm_up(blank, len(pictures))
            self._parts = stack.pop_all()
        self.made = MadePicture(self._buffers[-1].handle, _copy_regions(picture_format, self._layout))

    def record(
        self,
        command_buffer: Handle,
        frame_in_flight: int,
        pair: tuple[int, int],
        phase: float,
        kind: InterpolationKind,
    ) -> None:
        """Record the making of the picture between two others; transfers recorded after it may read `made`.

        The plane images are in SHADER_READ_ONLY_OPTIMAL layout then, written by transfers recorded before.

        Args:
            frame_in_flight: whose time stamps to take, 0 … frames_in_flight − 1.
            pair: indices of the earlier and the later of `pictures`.
            phase: place between the two, 0 at the earlier, 1 at the later.
        """
        self._stamp(command_buffer, frame_in_flight, 0)
        self._barrier(command_buffer)
        if kind == "motion":
            tally = self._buffers[2].handle
            self._functions.vkCmdFillBuffer(command_buffer, tally, 0, 4 * TALLY_WORDS, 0)
        self._bind(command_buffer, pair, phase)
        for step in self._steps[kind]:
            self._run(command_buffer, step)
        self._stamp(command_buffer, frame_in_flight, 1)

    def gpu_time_ns(self, frame_in_flight: int) -> int:
        """Return how long the GPU took for the passes last recorded there, `NO_STAMP_NS` where it cannot say.

        To be asked after the frame's fence has signalled and before its next recording.
        """
        if self._queries is None:
            return NO_STAMP_NS
        code = self._functions.vkGetQueryPoolResults(
            self._device.handle, self._queries, 2 * frame_in_flight, 2, 16, self._ticks, 8,
            api.vk.VK_QUERY_RESULT_64_BIT,
        )  # fmt: skip
        if code != SUCCESS:
            return NO_STAMP_NS
        start_ns, end_ns = self._clock.monotonic_ns(self._ticks[0]), self._clock.monotonic_ns(self._ticks[1])
        return NO_STAMP_NS if NO_STAMP_NS in (start_ns, end_ns) else end_ns - start_ns

    def close(self) -> None:
        """Free everything; the GPU must be done with it. A second call does nothing."""
        self._parts.close()

    def _warm_up(self, blank: Sequence[DeviceImage], index: int) -> None:
        """Run every pass once, on a picture of nothing.

        Drivers finish compiling a pipeline at its first use (lavapipe: 1.5 s for all of them, 25 ms from its cache);
        that belongs here and not into the first frame. On a busy machine it takes many times as long, so each step is
        submitted by itself: together they were once taken for a hung GPU.
        """
        vk = api.vk
        layout = (vk.VK_IMAGE_LAYOUT_UNDEFINED, vk.VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL)
        access = (0, vk.VK_ACCESS_SHADER_READ_BIT)
        barriers = [image_barrier(image.handle, access=access, layout=layout) for image in blank]
        to_sampled = api.array("VkImageMemoryBarrier", barriers)

        def record_barriers(command_buffer: Handle) -> None:
            self._functions.vkCmdPipelineBarrier(
                command_buffer, vk.VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT, vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT,
                0, 0, ffi.NULL, 0, ffi.NULL, len(blank), to_sampled,
            )  # fmt: skip

        def record_step(step: Step, command_buffer: Handle) -> None:
            self._bind(command_buffer, (index, index), 0.5)
            self._run(command_buffer, step)

        run_once(self._device, record_barriers)
        for step in chain.from_iterable(self._steps.values()):
            run_once(self._device, partial(record_step, step))

    def _make_buffers(self, stack: ExitStack) -> list[DeviceBuffer]:
        vk, buffers = api.vk, []
        extra = (0, 0, vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT, vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT)
        for size_bytes, usage in zip(self._layout.buffer_bytes, extra, strict=True):
            buffers.append(DeviceBuffer(self._device, size_bytes, vk.VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | usage))
            stack.callback(buffers[-1].close)
        return buffers

    def _make_queries(self, stack: ExitStack, frames_in_flight: int) -> Handle | None:
        if self._clock.unavailable:
            return None
        info = api.struct(
            "VkQueryPoolCreateInfo", queryType=api.vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2 * frames_in_flight
        )
        queries = self._device.create("QueryPool", info)
        stack.callback(self._device.destroy, "QueryPool", queries)
        return queries

    def _bind(self, command_buffer: Handle, pair: tuple[int, int], phase: float) -> None:
        vk = api.vk
        self._sets[0] = self._objects.picture_sets[pair[0]]
        self._sets[1] = self._objects.picture_sets[pair[1]]
        self._sets[2] = self._objects.buffer_set
        self._phase[0] = phase
        self._functions.vkCmdBindDescriptorSets(
            command_buffer, vk.VK_PIPELINE_BIND_POINT_COMPUTE, self._objects.layout, 0, 3, self._sets, 0, ffi.NULL
        )
        self._functions.vkCmdPushConstants(
            command_buffer, self._objects.layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 4 * (CONSTANT_WORDS - 1), 4,
            self._phase,
        )  # fmt: skip

    def _run(self, command_buffer: Handle, step: Step) -> None:
        for each in step:
            self._dispatch(command_buffer, each)
        self._barrier(command_buffer)

    def _dispatch(self, command_buffer: Handle, each: Pass) -> None:
        vk, functions = api.vk, self._functions
        functions.vkCmdBindPipeline(command_buffer, vk.VK_PIPELINE_BIND_POINT_COMPUTE, each.pipeline)
        functions.vkCmdPushConstants(
            command_buffer, self._objects.layout, vk.VK_SHADER_STAGE_COMPUTE_BIT, 0, 4 * (CONSTANT_WORDS - 1),
            each.constants,
        )  # fmt: skip
        functions.vkCmdDispatch(command_buffer, *each.groups)

    def _barrier(self, command_buffer: Handle) -> None:
        """Let what comes after see what was written before, and overwrite what was read before."""
        vk = api.vk
        work = vk.VK_PIPELINE_STAGE_TRANSFER_BIT | vk.VK_PIPELINE_STAGE_COMPUTE_SHADER_BIT
        # Plane images come out of the copy by way of a barrier towards the fragment shader; this one follows on it.
        before = work | vk.VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT
        self._functions.vkCmdPipelineBarrier(
            command_buffer, before, work, 0, 1, self._barrier_info, 0, ffi.NULL, 0, ffi.NULL
        )

    def _stamp(self, command_buffer: Handle, frame_in_flight: int, which: int) -> None:
        """Write the start (0) or end (1) stamp; the start also resets both.

        The start is taken when what came before has ended, so that waiting for an earlier frame is no cost of these
        passes.
        """
        if self._queries is None:
            return
        vk, first = api.vk, 2 * frame_in_flight
        stage = vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        if which == 0:
            self._functions.vkCmdResetQueryPool(command_buffer, self._queries, first, 2)
        self._functions.vkCmdWriteTimestamp(command_buffer, stage, self._queries, first + which)


def _blank_picture(device: Device, picture_format: PictureFormat, stack: ExitStack) -> list[DeviceImage]:
    images = []
    for plane in range(picture_format.plane_count):
        size = picture_format.plane_size(plane)
        image_format = plane_image_format(picture_format, plane)
        images.append(DeviceImage(device, image_format, *size, api.vk.VK_IMAGE_USAGE_SAMPLED_BIT))
        stack.callback(images[-1].close)
    return images


def _copy_regions(picture_format: PictureFormat, layout: InterpolationLayout) -> Struct:
    regions = []
    for index, plane in enumerate(layout.planes):
        width, height = picture_format.plane_size(index)
        regions.append(
            api.struct(
                "VkBufferImageCopy",
                bufferOffset=4 * plane.first_word,
                bufferRowLength=plane.stride_words * plane.texels_per_word,
                imageSubresource={"aspectMask": api.vk.VK_IMAGE_ASPECT_COLOR_BIT, "layerCount": 1},
                imageExtent={"width": width, "height": height, "depth": 1},
            )
        )
    return api.array("VkBufferImageCopy", regions)


def _memory_barrier() -> Struct:
    vk = api.vk
    written = vk.VK_ACCESS_TRANSFER_WRITE_BIT | vk.VK_ACCESS_SHADER_WRITE_BIT
    return api.struct(
        "VkMemoryBarrier",
        srcAccessMask=written,
        dstAccessMask=written | vk.VK_ACCESS_TRANSFER_READ_BIT | vk.VK_ACCESS_SHADER_READ_BIT,
    )
