"""Reads a drawn picture back and writes it as PNG, beside the frames: nothing is made before it is asked for.

Only the recording and the submission happen on the present thread (a fraction of a millisecond). A thread of the
capture's own waits for the GPU, puts the bytes in order, compresses and writes, nearly all of it without the GIL: at
1280×720 that takes tens to hundreds of milliseconds on software Vulkan, several frames.
"""

from __future__ import annotations

import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np

from app.core.errors import SinkError
from app.core.records import MISSING_COUNT
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.in_flight import Shown, Submission
from app.engine.vulkan.memory import Bytes, DeviceImage, HostBuffer
from app.engine.vulkan.one_time import OneTimeCommands
from app.engine.vulkan.png import write_png
from app.engine.vulkan.render import Renderer
from app.engine.vulkan.targets import RenderTarget


class PendingCapture:
    """A picture on its way into a file.

    Attributes:
        path: the file. frame_id: the frame it shows, -1 where only the caller knows. width, height: in pixels.
    """

    def __init__(
        self,
        renderer: Renderer,
        target: RenderTarget,
        path: Path,
        frame_id: int = MISSING_COUNT,
        shown: Shown | None = None,
        image: DeviceImage | None = None,
    ) -> None:
        """Submit the read-back of a target and leave the rest to a thread.

        Args:
            shown: picture that is drawn into the target first; None when the target holds its picture.
            image: what the target lies on, to be freed at the end; None when it belongs to somebody else.

        Raises:
            SinkError: out of memory, or the device is lost.
        """
        self.path = path
        self.frame_id = frame_id
        self.width, self.height = target.width, target.height
        self._is_bgra = renderer.target_format == api.vk.VK_FORMAT_B8G8R8A8_UNORM
        self._fault: SinkError | None = None
        with ExitStack() as stack:
            if image is not None:
                stack.callback(image.close)
            usage = api.vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT
            self._buffer = HostBuffer(renderer.device, 4 * self.width * self.height, usage, cached=True)
            stack.callback(self._buffer.close)
            self._commands = OneTimeCommands(renderer.device)
            stack.callback(self._commands.close)
            command_buffer = self._commands.begin()
            if shown is not None:
                renderer.draw(command_buffer, shown, target)
            _copy_out(renderer, command_buffer, target, self._buffer)
            self._commands.submit()
            self._resources = stack.pop_all()
        self._device = renderer.device
        self._is_released = False
        self._thread = threading.Thread(target=self._run, name="capture")
        self._thread.start()

    @property
    def is_released(self) -> bool:
        """Tell whether its Vulkan objects are freed; the rest of the work needs no device."""
        return self._is_released

    @property
    def done(self) -> bool:
        """Tell whether the file is written or the attempt has failed."""
        return not self._thread.is_alive()

    def finish(self) -> None:
        """Wait for the file.

        Raises:
            SinkError: it could not be written, or the device was lost.
        """
        self._thread.join()
        if self._fault is not None:
            raise self._fault

    def close(self) -> None:
        """Wait for the end, whatever it is, and free what is left; before the device goes. Present thread."""
        self._thread.join()
        if not self._is_released:
            self._device.wait_idle()
            self._resources.close()
            self._is_released = True

    def _run(self) -> None:
        try:
            # Where the wait fails the GPU may still write: the objects are left to `close`.
            self._commands.wait()
            rgb = self._pixels()
            self._resources.close()
            self._is_released = True
            write_png(self.path, rgb)
        except SinkError as error:
            self._fault = error
        except OSError as error:
            self._fault = SinkError(f"{self.path}: cannot be written ({error.strerror}); choose another place.")

    def _pixels(self) -> Bytes:
        """Return R′G′B′, uint8 of shape (height, width, 3)."""
        pixels = self._buffer.bytes.reshape(self.height, self.width, 4)
        order = (2, 1, 0) if self._is_bgra else (0, 1, 2)
        return np.ascontiguousarray(pixels[:, :, order])


class Captures:
    """The captures of one device that are not done yet. Present thread only."""

    def __init__(self) -> None:
        self._pending: list[PendingCapture] = []

    def add(self, capture: PendingCapture) -> None:
        """Take note of a capture, and forget those that are done."""
        self._pending = [*(each for each in self._pending if not (each.done and each.is_released)), capture]

    def close(self) -> None:
        """Wait for all of them: before the device goes."""
        for capture in self._pending:
            capture.close()
        self._pending.clear()


def capture_last_picture(
    renderer: Renderer, source: Submission, size: tuple[int, int], path: Path, frame_id: int
) -> PendingCapture:
    """Begin to write a picture that was drawn last, drawn again into an image of its own.

    A presented swapchain image cannot be read; the plane images behind it can, until they are written again, and the
    queue keeps that order.

    Raises:
        SinkError: the device is lost.
    """
    vk, device = api.vk, renderer.device
    usage = vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT
    image = DeviceImage(device, renderer.target_format, *size, usage)
    target = RenderTarget(image.handle, image.view, size, vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL)
    return PendingCapture(renderer, target, path, frame_id, source.shown, image)


def capture_target(renderer: Renderer, target: RenderTarget, path: Path) -> PendingCapture:
    """Begin to write what a target that ends in TRANSFER_SRC layout holds, after what was submitted for it.

    Raises:
        SinkError: the device is lost.
    """
    return PendingCapture(renderer, target, path)


def _copy_out(renderer: Renderer, command_buffer: Handle, target: RenderTarget, buffer: HostBuffer) -> None:
    vk, functions = api.vk, renderer.device.functions
    region = api.struct(
        "VkBufferImageCopy",
        imageSubresource={"aspectMask": vk.VK_IMAGE_ASPECT_COLOR_BIT, "layerCount": 1},
        imageExtent={"width": target.width, "height": target.height, "depth": 1},
    )
    source_layout = vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL
    functions.vkCmdCopyImageToBuffer(command_buffer, target.image, source_layout, buffer.handle, 1, region)
    to_host = api.struct(
        "VkMemoryBarrier", srcAccessMask=vk.VK_ACCESS_TRANSFER_WRITE_BIT, dstAccessMask=vk.VK_ACCESS_HOST_READ_BIT
    )
    # The next frame may draw into this very target as soon as the copy has read it.
    after = vk.VK_PIPELINE_STAGE_HOST_BIT | vk.VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT
    functions.vkCmdPipelineBarrier(
        command_buffer, vk.VK_PIPELINE_STAGE_TRANSFER_BIT, after, 0, 1, to_host, 0, ffi.NULL, 0, ffi.NULL
    )
