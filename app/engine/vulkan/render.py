"""Draws pictures of one to nine tiles: records uploads and conversion, submits them, and reads what the GPU says."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from contextlib import ExitStack
from typing import Final

from app.config.model import CommandBuffers as CommandBuffersMode
from app.engine.frame import Frame
from app.engine.picture import Picture, PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.command_buffers import CommandBuffers
from app.engine.vulkan.convert import Conversion
from app.engine.vulkan.device import Device
from app.engine.vulkan.gpu_clock import GpuClock
from app.engine.vulkan.in_flight import FrameContext, Shown, Submission
from app.engine.vulkan.memory import DeviceImage
from app.engine.vulkan.one_time import run_once
from app.engine.vulkan.picture_stamps import PictureStamps
from app.engine.vulkan.results import DEVICE_LOST, MAX_WAIT_NS, SUCCESS, TIMEOUT, DeviceHungError, check
from app.engine.vulkan.targets import RenderTarget
from app.engine.vulkan.tiles import MadeUp, Tile

_FIXED_PARTS: Final = 6
_PARTS_PER_TILE: Final = 3
"""Command buffers of a picture at most: room for the list that is submitted."""


class Renderer:
    """Uploads, converts and stamps. All methods belong to the present thread, save `upload` (process threads).

    A picture is made of parts in this order: start stamp; copies of what is new from staging slots into plane sets;
    drawing of all tiles; end stamp. Command buffers are either recorded anew (`record`: one buffer holds all parts) or
    kept and submitted again (`reuse`: a buffer for each part).

    Attributes:
        device, clock: what it runs on. target_format: `VkFormat` of what it draws into.
        contexts: one for each picture in flight.
    """

    def __init__(
        self, device: Device, clock: GpuClock, target_format: int, frames_in_flight: int, tiles: int = 1
    ) -> None:
        self.device = device
        self.clock = clock
        self.target_format = target_format
        self._functions = device.functions
        self._serial = 0
        self._reuses = False
        with ExitStack() as stack:
            self._commands = CommandBuffers(device, self.poll)
            stack.callback(self._commands.close)
            self._stamps = PictureStamps(device, clock, frames_in_flight)
            stack.callback(self._stamps.close)
            self.contexts: list[FrameContext] = []
            for index in range(frames_in_flight):
                buffers = _FIXED_PARTS + _PARTS_PER_TILE * tiles
                self.contexts.append(FrameContext(device, index, self._commands.allocate(), buffers))
                stack.callback(self.contexts[-1].close)
            self._conversion = Conversion(device, target_format)
            stack.callback(self._conversion.close)
            places = [(index, tiles) for index in range(tiles)]
            self._tiles = [Tile(device, clock, self._conversion, place, frames_in_flight) for place in places]
            for tile in self._tiles:
                stack.callback(tile.close)
            self._parts = stack.pop_all()

    @property
    def recordings(self) -> int:
        """Return how many command buffers were recorded so far."""
        return self._commands.recordings

    def format_of(self, tile: int) -> PictureFormat | None:
        """Return the format a tile is prepared for, None before the first `prepare`."""
        return self._tiles[tile].picture_format

    def set_command_buffers(self, mode: CommandBuffersMode) -> None:
        """Record command buffers anew for each picture, or reuse them, from the next picture on."""
        self._reuses = mode == "reuse"

    def prepare(self, picture_format: PictureFormat, slots: int, tile: int = 0) -> None:
        """Make staging ring and plane sets of a tile's format, or only more slots when the format is the same.

        With a new format the tile is black until its first picture.
        """
        part = self._tiles[tile]
        if part.picture_format == picture_format:
            part.grow(slots)
            return
        self.wait_all()
        self.device.wait_idle()  # a capture may still draw from the plane images
        self._commands.forget(lambda what: what is part)
        part.prepare(picture_format, slots)
        self._warm_up(part)

    def upload(self, picture: Picture, slot: int, tile: int = 0) -> int:
        """Copy a picture into a tile's staging slot and return the bytes copied."""
        return self._tiles[tile].upload(picture, slot)

    def prepare_interpolation(self, tile: int = 0) -> None:
        """Make ready to make pictures up in a prepared tile; otherwise its first made-up frame pays for it (a second).

        Where pictures cannot be made up, `take_notices` says why.
        """
        self._tiles[tile].make_interpolator()

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call: tiles whose pictures cannot be made up, and why.

        From any thread.
        """
        notices = [(index, tile.take_notice()) for index, tile in enumerate(self._tiles)]
        return [
            f"source {index + 1}: {notice}" if len(self._tiles) > 1 else notice for index, notice in notices if notice
        ]

    def forget_targets(self) -> None:
        """Drop what is kept for the targets drawn into so far, because some of them go."""
        self._commands.forget(lambda what: isinstance(what, RenderTarget))
        for tile in self._tiles:
            tile.forget_placements()

    def next_context(self) -> FrameContext:
        """Return the context of the next picture; `wait_free` must say that it is free before it is used."""
        return self.contexts[self._serial % len(self.contexts)]

    def wait_free(self, context: FrameContext, deadline_ns: int) -> bool:
        """Wait until the GPU is done with the context's last picture; False when `deadline_ns` comes first."""
        submission = context.submission
        return submission is None or self.wait(submission, max(0, deadline_ns - time.monotonic_ns()))

    def record(self, context: FrameContext, frames: Sequence[Frame], target: RenderTarget) -> None:
        """Put a picture together with the frames that are new in their tiles; `context` must be free, `queue` follows.

        The CPU time of this thread from here to the end of `queue` becomes the frames' `submit_cpu_ns`. It counts what
        the thread worked, not what it waited, so that a busy machine or a second of sleep in the driver is no cost.
        """
        context.cpu_start_ns = time.thread_time_ns()
        context.start(frames)
        tiles, serial, made = self._tiles, self._serial, []
        if not self._reuses:
            self._open(context)
        self._add(context, self._stamps.write_start, context.index)
        for frame in frames:
            tile = tiles[frame.source_index]
            load, make = tile.take(frame, serial)
            if load is not None:
                self._add(context, _write_load, tile, *load, tile.slot_revision(load.slot))
            if make is not None:
                made.append((frame, make))
        if made:
            self._add_made(context, made)
        context.shown = tuple([tile.keep(serial) for tile in tiles])
        self._add_drawing(context, target)
        self._add(context, self._stamps.write_end, context.index)

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
        self._close(context)
        check(functions.vkResetFences(self.device.handle, 1, context.fences), "vkResetFences")
        submission = Submission(context, stamped=stamped)
        check(functions.vkQueueSubmit(self.device.queue, 1, info, context.fence), "vkQueueSubmit")
        self._commands.submitted(submission)
        context.submission = submission
        self._serial += 1
        cpu_ns = time.thread_time_ns() - context.cpu_start_ns
        for frame in context.frames:
            frame.submit_cpu_ns = cpu_ns
        context.frames = ()
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
        """Begin the context's command buffer and return it, for work that is no picture of tiles; `queue` follows."""
        context.start(())
        self._open(context)
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
        """Wait for every picture in flight.

        Raises:
            DeviceHungError: the GPU does not come to an end.
        """
        for context in self.contexts:
            if context.submission is not None and not self.wait(context.submission, MAX_WAIT_NS):
                raise DeviceHungError

    def draw(self, command_buffer: Handle, shown: Shown, target: RenderTarget) -> None:
        """Record drawing a picture, whose plane sets still hold it, into a target."""
        target.begin(self.device, command_buffer, target.whole)
        for tile, plane_set in zip(self._tiles, shown, strict=True):
            if plane_set is not None:
                tile.write_draw(command_buffer, plane_set, target.size)
        target.end(self.device, command_buffer)

    def close(self) -> None:
        """Free everything; the device must be idle."""
        self._parts.close()

    # --- parts of a picture -------------------------------------------------------------------------------------------

    def _open(self, context: FrameContext) -> None:
        """Begin to record anew, and submit it after the parts added before."""
        self._commands.begin(context.command_buffer, once=True)
        context.is_open = True
        context.add(context.command_buffer)

    def _close(self, context: FrameContext) -> None:
        if context.is_open:
            context.is_open = False
            self._commands.end(context.command_buffer)

    def _add(self, context: FrameContext, write: Callable[..., None], *what: Hashable) -> None:
        """Add a part: written into the open command buffer, else found among those recorded for the same."""
        if context.is_open:
            write(context.command_buffer, *what)
        else:
            context.add(self._commands.find(write, *what))

    def _add_made(self, context: FrameContext, made: Sequence[tuple[Frame, MadeUp]]) -> None:
        """Add the making of pictures: recorded anew always, since each has a phase of its own."""
        context.made = [(frame, self._tiles[frame.source_index]) for frame, _ in made]
        opened = not context.is_open
        if opened:
            self._open(context)
        for frame, each in made:
            self._tiles[frame.source_index].write_made(context.command_buffer, context.index, each)
        if opened:
            self._close(context)

    def _add_drawing(self, context: FrameContext, target: RenderTarget) -> None:
        """Add the drawing of all tiles: in one go, or tile by tile from what is recorded of each.

        The number of whole pictures is that of all combinations of plane sets, so they are not kept; tiles are few.
        """
        if context.is_open:
            self.draw(context.command_buffer, context.shown, target)
        elif len(self._tiles) == 1:
            self._add(context, self._write_only_tile, target, self._tiles[0], context.shown[0])
        else:
            self._add(context, self._write_first, target)
            for tile, plane_set in zip(self._tiles, context.shown, strict=True):
                if plane_set is not None:
                    self._add(context, self._write_tile, target, tile, plane_set)
            self._add(context, self._write_last, target)

    def _write_only_tile(self, command_buffer: Handle, target: RenderTarget, tile: Tile, plane_set: int) -> None:
        target.begin(self.device, command_buffer, target.whole)
        tile.write_draw(command_buffer, plane_set, target.size)
        target.end(self.device, command_buffer)

    def _write_first(self, command_buffer: Handle, target: RenderTarget) -> None:
        target.begin(self.device, command_buffer, target.first)
        self._functions.vkCmdEndRendering(command_buffer)

    def _write_tile(self, command_buffer: Handle, target: RenderTarget, tile: Tile, plane_set: int) -> None:
        self._functions.vkCmdBeginRendering(command_buffer, target.middle)
        tile.write_draw(command_buffer, plane_set, target.size)
        self._functions.vkCmdEndRendering(command_buffer)

    def _write_last(self, command_buffer: Handle, target: RenderTarget) -> None:
        self._functions.vkCmdBeginRendering(command_buffer, target.last)
        target.end(self.device, command_buffer)

    def _warm_up(self, tile: Tile) -> None:
        """Copy and draw nothing once, into a tiny image.

        Drivers finish compiling a pipeline at its first draw (lavapipe: 40 ms idle, seconds on a busy machine); that
        belongs here and not into the first frame.
        """
        vk = api.vk
        image = DeviceImage(self.device, self.target_format, 16, 16, vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT)
        target = RenderTarget(image.handle, image.view, (16, 16), vk.VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL)

        def write(command_buffer: Handle) -> None:
            tile.write_load(command_buffer, 0, 0)
            self._write_only_tile(command_buffer, target, tile, 0)

        try:
            run_once(self.device, write)
        finally:
            image.close()
        tile.forget_placements()

    def _finish(self, submission: Submission) -> None:
        submission.finished = True
        if submission.stamped:
            submission.gpu_start_ns, submission.gpu_end_ns = self._stamps.read(submission.context.index)
        for frame, tile in submission.made:
            frame.interpolation_ns = tile.interpolation_ns(submission.context.index)


def _write_load(command_buffer: Handle, tile: Tile, slot: int, plane_set: int, _revision: int) -> None:
    """Record a tile's copy from staging slot to plane set, as the slot is laid out in this revision."""
    tile.write_load(command_buffer, slot, plane_set)
