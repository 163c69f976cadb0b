"""Command buffers that are recorded once and submitted again, as long as what they were made from stays the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.in_flight import Submission
from app.engine.vulkan.results import check

MOST_RECORDED: Final = 1024
"""Recorded command buffers kept. One source needs about 4 × (staging slots + images); those used longest ago go first.

It is far more than pictures in flight can use together (nine tiles: 24 each), so what goes is never in use."""


class _Recorded:
    """A recorded command buffer, with what it was recorded for and the last submission it was part of."""

    __slots__ = ("buffer", "submission")

    def __init__(self, buffer: Handle) -> None:
        self.buffer = buffer
        self.submission: Submission | None = None


class CommandBuffers:
    """The command pool of the present thread: command buffers to be recorded anew, and recorded ones by their key.

    A recorded buffer is submitted again only when the fence of its last submission has signalled: while it is still
    pending, as with two images and three pictures in flight, a second one is recorded for the same key. So no buffer
    needs `SIMULTANEOUS_USE`, and none is reset while the GPU may read it.

    Attributes:
        recordings: how many command buffers were recorded so far.
    """

    def __init__(self, device: Device, is_finished: Callable[[Submission], bool]) -> None:
        """Make the pool; `is_finished` asks the fence of a submission."""
        self._device = device
        self._is_finished = is_finished
        self.recordings = 0
        self._pool: Handle = device.create("CommandPool", _pool_info(device.family.index))
        self._allocated = 0
        self._spare: list[Handle] = []
        self._recorded: dict[tuple[Hashable, ...], list[_Recorded]] = {}
        self._count = 0
        self._retired: list[_Recorded] = []
        self._used: list[_Recorded] = []
        self._once = api.struct("VkCommandBufferBeginInfo", flags=api.vk.VK_COMMAND_BUFFER_USAGE_ONE_TIME_SUBMIT_BIT)
        self._again = api.struct("VkCommandBufferBeginInfo")

    def allocate(self) -> Handle:
        """Return a new command buffer, which lives as long as the pool."""
        info = api.struct(
            "VkCommandBufferAllocateInfo",
            commandPool=self._pool,
            level=api.vk.VK_COMMAND_BUFFER_LEVEL_PRIMARY,
            commandBufferCount=1,
        )
        out = ffi.new("VkCommandBuffer[1]")
        check(
            self._device.functions.vkAllocateCommandBuffers(self._device.handle, info, out), "vkAllocateCommandBuffers"
        )
        self._device.census.born("CommandBuffer")
        self._allocated += 1
        return out[0]

    def begin(self, buffer: Handle, *, once: bool) -> None:
        """Begin to record a buffer that is not pending, for one submission or for many."""
        info = self._once if once else self._again
        check(self._device.functions.vkBeginCommandBuffer(buffer, info), "vkBeginCommandBuffer")
        self.recordings += 1

    def end(self, buffer: Handle) -> None:
        """End recording."""
        check(self._device.functions.vkEndCommandBuffer(buffer), "vkEndCommandBuffer")

    def find(self, write: Callable[..., None], *what: Hashable) -> Handle:
        """Return a command buffer that holds what `write(buffer, *what)` records: one from before where one is free.

        It counts as used by the picture at hand. `write` and `what` are the key, so they say all that it depends on.
        """
        # Taken out and put back, the key is the youngest: a dictionary keeps the order of insertion.
        key = (write, *what)
        copies = self._recorded.pop(key, None) or []
        self._recorded[key] = copies
        for recorded in copies:
            if self._is_free(recorded):
                break
        else:
            recorded = self._record(write, what)
            copies.append(recorded)
            self._count += 1
        self._used.append(recorded)
        return recorded.buffer

    def submitted(self, submission: Submission) -> None:
        """Take note that what was found since the last submission is part of this one."""
        for recorded in self._used:
            recorded.submission = submission
        self._used.clear()

    def forget(self, is_gone: Callable[[Hashable], bool]) -> None:
        """Drop every buffer that was made from something gone: a tile whose format changes, a target that goes."""
        for key in [key for key in self._recorded if any(map(is_gone, key))]:
            self._drop(key)

    def close(self) -> None:
        """Free everything; the device must be idle."""
        self._recorded.clear()
        self._retired.clear()
        self._device.destroy("CommandPool", self._pool)
        self._device.census.died("CommandBuffer", self._allocated)

    def _record(self, write: Callable[..., None], what: tuple[Hashable, ...]) -> _Recorded:
        while self._count >= MOST_RECORDED:
            self._drop(next(iter(self._recorded)))
        buffer = self._take_spare()
        try:
            self.begin(buffer, once=False)
            write(buffer, *what)
            self.end(buffer)
        except BaseException:
            self._spare.append(buffer)
            raise
        return _Recorded(buffer)

    def _take_spare(self) -> Handle:
        pending = []
        for each in self._retired:
            if self._is_free(each):
                self._spare.append(each.buffer)
            else:
                pending.append(each)
        self._retired = pending
        return self._spare.pop() if self._spare else self.allocate()

    def _drop(self, key: tuple[Hashable, ...]) -> None:
        copies = self._recorded.pop(key)
        self._count -= len(copies)
        self._retired += copies

    def _is_free(self, recorded: _Recorded) -> bool:
        submission = recorded.submission
        return submission is None or submission.finished or self._is_finished(submission)


def _pool_info(family: int) -> Struct:
    return api.struct(
        "VkCommandPoolCreateInfo",
        flags=api.vk.VK_COMMAND_POOL_CREATE_RESET_COMMAND_BUFFER_BIT,
        queueFamilyIndex=family,
    )
