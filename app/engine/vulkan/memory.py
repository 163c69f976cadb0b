"""Buffers and images with memory of their own."""

from __future__ import annotations

from contextlib import ExitStack

import numpy as np
import numpy.typing as npt

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.device import Device, host_visible_flags
from app.engine.vulkan.results import check

Bytes = npt.NDArray[np.uint8]


class HostBuffer:
    """A buffer in host memory that stays mapped.

    Attributes:
        handle: `VkBuffer`. size_bytes: its size. bytes: its memory, uint8 of shape (size_bytes,), host-coherent.
    """

    def __init__(self, device: Device, size_bytes: int, usage: int, *, cached: bool = False) -> None:
        vk = api.vk
        self.size_bytes = size_bytes
        # Staging memory is written once in order, so write-combined system memory is best and device-local memory
        # reached over the bus is second; what is read back wants the cache.
        wanted = host_visible_flags() | (vk.VK_MEMORY_PROPERTY_HOST_CACHED_BIT if cached else 0)
        with ExitStack() as stack:
            avoided = vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
            self.handle, memory = _make_buffer(device, stack, size_bytes, usage, wanted, avoided)
            address = ffi.new("void **")
            check(device.functions.vkMapMemory(device.handle, memory, 0, size_bytes, 0, address), "vkMapMemory")
            self._parts = stack.pop_all()
        self.bytes: Bytes = np.frombuffer(ffi.buffer(address[0], size_bytes), np.uint8)

    def close(self) -> None:
        """Free it; the device must have finished with it, and `bytes` must not be touched again."""
        self.bytes = np.empty(0, np.uint8)
        self._parts.close()


class DeviceBuffer:
    """A buffer in device memory that the host does not see.

    Attributes:
        handle: `VkBuffer`. size_bytes: its size.
    """

    def __init__(self, device: Device, size_bytes: int, usage: int) -> None:
        self.size_bytes = size_bytes
        with ExitStack() as stack:
            wanted = api.vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT
            self.handle, _ = _make_buffer(device, stack, size_bytes, usage, wanted)
            self._parts = stack.pop_all()

    def close(self) -> None:
        """Free it; the device must have finished with it."""
        self._parts.close()


class DeviceImage:
    """A 2-D image with one mip level in device memory, and a view of it.

    Attributes:
        handle: `VkImage`. view: `VkImageView`. width, height: in texels.
    """

    def __init__(self, device: Device, image_format: int, width: int, height: int, usage: int) -> None:
        functions = device.functions
        self.width, self.height = width, height
        with ExitStack() as stack:
            self.handle: Handle = device.create("Image", _image_info(image_format, width, height, usage))
            stack.callback(device.destroy, "Image", self.handle)
            requirements = ffi.new("VkMemoryRequirements *")
            functions.vkGetImageMemoryRequirements(device.handle, self.handle, requirements)
            memory = device.allocate(requirements, api.vk.VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT)
            stack.callback(device.free, memory)
            check(functions.vkBindImageMemory(device.handle, self.handle, memory, 0), "vkBindImageMemory")
            self.view: Handle = create_view(device, self.handle, image_format)
            stack.callback(device.destroy, "ImageView", self.view)
            self._parts = stack.pop_all()

    def close(self) -> None:
        """Free it; the device must have finished with it."""
        self._parts.close()


def _make_buffer(
    device: Device, stack: ExitStack, size_bytes: int, usage: int, wanted: int, avoided: int = 0
) -> tuple[Handle, Handle]:
    """Return a buffer and its memory, which the stack frees; memory properties as in `Device.allocate`."""
    functions = device.functions
    buffer = device.create("Buffer", api.struct("VkBufferCreateInfo", size=size_bytes, usage=usage))
    stack.callback(device.destroy, "Buffer", buffer)
    requirements = ffi.new("VkMemoryRequirements *")
    functions.vkGetBufferMemoryRequirements(device.handle, buffer, requirements)
    memory = device.allocate(requirements, wanted, avoided)
    stack.callback(device.free, memory)  # which unmaps it too
    check(functions.vkBindBufferMemory(device.handle, buffer, memory, 0), "vkBindBufferMemory")
    return buffer, memory


def _image_info(image_format: int, width: int, height: int, usage: int) -> api.Struct:
    vk = api.vk
    return api.struct(
        "VkImageCreateInfo",
        imageType=vk.VK_IMAGE_TYPE_2D,
        format=image_format,
        extent={"width": width, "height": height, "depth": 1},
        mipLevels=1,
        arrayLayers=1,
        samples=vk.VK_SAMPLE_COUNT_1_BIT,
        tiling=vk.VK_IMAGE_TILING_OPTIMAL,
        usage=usage,
    )


def create_view(device: Device, image: Handle, image_format: int) -> Handle:
    """Return a view of the whole colour image."""
    info = api.struct(
        "VkImageViewCreateInfo",
        image=image,
        viewType=api.vk.VK_IMAGE_VIEW_TYPE_2D,
        format=image_format,
        subresourceRange=colour_range(),
    )
    return device.create("ImageView", info)


def colour_range() -> dict[str, int]:
    """Return the fields of a `VkImageSubresourceRange` over a colour image of one level and layer."""
    return {"aspectMask": api.vk.VK_IMAGE_ASPECT_COLOR_BIT, "levelCount": 1, "layerCount": 1}


def image_barrier(image: Handle, *, access: tuple[int, int], layout: tuple[int, int]) -> api.Struct:
    """Return a `VkImageMemoryBarrier` within one queue.

    Args:
        access: access masks before and after. layout: layouts before and after.
    """
    ignored = 0xFFFFFFFF
    return api.struct(
        "VkImageMemoryBarrier",
        srcAccessMask=access[0],
        dstAccessMask=access[1],
        oldLayout=layout[0],
        newLayout=layout[1],
        srcQueueFamilyIndex=ignored,
        dstQueueFamilyIndex=ignored,
        image=image,
        subresourceRange=colour_range(),
    )
