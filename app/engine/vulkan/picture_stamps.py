"""GPU time stamps around each picture: two queries for each picture in flight."""

from __future__ import annotations

from app.core.clock import NO_STAMP_NS
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.gpu_clock import GpuClock
from app.engine.vulkan.results import SUCCESS


class PictureStamps:
    """Records and reads when the GPU began and ended a picture. Without calibration nothing is recorded."""

    def __init__(self, device: Device, clock: GpuClock, frames_in_flight: int) -> None:
        self._device = device
        self._clock = clock
        self._queries: Handle | None = None
        self._ticks = ffi.new("uint64_t[2]")
        if not clock.unavailable:
            info = api.struct(
                "VkQueryPoolCreateInfo", queryType=api.vk.VK_QUERY_TYPE_TIMESTAMP, queryCount=2 * frames_in_flight
            )
            self._queries = device.create("QueryPool", info)

    def write_start(self, command_buffer: Handle, context_index: int) -> None:
        """Record the start stamp; it also resets both."""
        if self._queries is not None:
            functions, first = self._device.functions, 2 * context_index
            functions.vkCmdResetQueryPool(command_buffer, self._queries, first, 2)
            stage = api.vk.VK_PIPELINE_STAGE_TOP_OF_PIPE_BIT
            functions.vkCmdWriteTimestamp(command_buffer, stage, self._queries, first)

    def write_end(self, command_buffer: Handle, context_index: int) -> None:
        """Record the end stamp."""
        if self._queries is not None:
            stage = api.vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
            self._device.functions.vkCmdWriteTimestamp(command_buffer, stage, self._queries, 2 * context_index + 1)

    def read(self, context_index: int) -> tuple[int, int]:
        """Return both times of a finished picture, CLOCK_MONOTONIC ns, `NO_STAMP_NS` where they are missing."""
        if self._queries is None:
            return NO_STAMP_NS, NO_STAMP_NS
        code = self._device.functions.vkGetQueryPoolResults(
            self._device.handle, self._queries, 2 * context_index, 2, 16, self._ticks, 8,
            api.vk.VK_QUERY_RESULT_64_BIT,
        )  # fmt: skip
        if code != SUCCESS:
            return NO_STAMP_NS, NO_STAMP_NS
        return self._clock.monotonic_ns(self._ticks[0]), self._clock.monotonic_ns(self._ticks[1])

    def close(self) -> None:
        """Free the queries; the device must be idle."""
        if self._queries is not None:
            self._device.destroy("QueryPool", self._queries)
            self._queries = None
