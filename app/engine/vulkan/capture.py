"""Reads a drawn picture back into host memory. Everything is made on request, so that no frame pays for it."""

from __future__ import annotations

import numpy as np

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.memory import Bytes, DeviceImage, HostBuffer
from app.engine.vulkan.one_time import OneTimeCommands
from app.engine.vulkan.render import FrameContext, Renderer, RenderTarget


def read_last_picture(renderer: Renderer, source: FrameContext, size: tuple[int, int]) -> Bytes:
    """Return the picture a context last drew, drawn again into an image of its own.

    A presented swapchain image cannot be read; the plane images behind it can, until the context is used again.

    Returns:
        uint8 of shape (height, width, 3), R′G′B′.

    Raises:
        SinkError: the device is lost or hangs.
    """
    vk, device = api.vk, renderer.device
    usage = vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT
    image = DeviceImage(device, renderer.target_format, *size, usage)
    try:
        target = RenderTarget(image.handle, image.view, size, vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL)
        return _read(renderer, target, redraw=source)
    finally:
        image.close()


def read_target(renderer: Renderer, target: RenderTarget) -> Bytes:
    """Return what a target that ends in TRANSFER_SRC layout holds: uint8 of shape (height, width, 3), R′G′B′."""
    return _read(renderer, target, redraw=None)


def _read(renderer: Renderer, target: RenderTarget, redraw: FrameContext | None) -> Bytes:
    vk, device = api.vk, renderer.device
    renderer.wait_all()
    buffer = HostBuffer(device, 4 * target.width * target.height, vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT, cached=True)
    pool = OneTimeCommands(device)
    try:
        command_buffer = pool.begin()
        if redraw is not None:
            renderer.draw(command_buffer, redraw, target)
        _copy_out(renderer, command_buffer, target, buffer)
        pool.run()
        pixels = buffer.bytes.reshape(target.height, target.width, 4)
        order = (2, 1, 0) if renderer.target_format == vk.VK_FORMAT_B8G8R8A8_UNORM else (0, 1, 2)
        return np.ascontiguousarray(pixels[:, :, order])
    finally:
        pool.close()
        buffer.close()


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
    functions.vkCmdPipelineBarrier(
        command_buffer, vk.VK_PIPELINE_STAGE_TRANSFER_BIT, vk.VK_PIPELINE_STAGE_HOST_BIT, 0,
        1, to_host, 0, ffi.NULL, 0, ffi.NULL,
    )  # fmt: skip
