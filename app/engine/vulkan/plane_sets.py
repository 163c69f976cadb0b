"""The plane images that a tile's pictures are copied into, and the descriptor sets that name them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

from app.core.errors import SinkError
from app.engine.picture import PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi, lib
from app.engine.vulkan.convert import BINDINGS, Conversion, Samplers
from app.engine.vulkan.device import Device
from app.engine.vulkan.memory import DeviceImage, image_barrier
from app.engine.vulkan.results import check


class PlaneSet:
    """The plane images of one picture, and the descriptor sets that name them.

    Attributes:
        images: one a plane, luma first.
        smooth, exact: pointers to a `VkDescriptorSet`: every plane filtered, and planes of full resolution not. At 1:1
            both give the same picture; unfiltered it is exact by construction, and software Vulkan needs a fifth less.
    """

    def __init__(self, device: Device, picture_format: PictureFormat, sets: list[Handle], samplers: Samplers) -> None:
        vk = api.vk
        usage = vk.VK_IMAGE_USAGE_SAMPLED_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
        self.images: list[DeviceImage] = []
        with ExitStack() as stack:
            for plane in range(picture_format.plane_count):
                image_format = plane_image_format(picture_format, plane)
                self.images.append(DeviceImage(device, image_format, *picture_format.plane_size(plane), usage))
                stack.callback(self.images[-1].close)
            self._parts = stack.pop_all()
        self.smooth = ffi.new("VkDescriptorSet[]", [sets[0]])
        self.exact = ffi.new("VkDescriptorSet[]", [sets[1]])
        self._to_transfer = self._barriers(
            (0, vk.VK_ACCESS_TRANSFER_WRITE_BIT),
            (vk.VK_IMAGE_LAYOUT_UNDEFINED, vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL),
        )
        self._to_sampled = self._barriers(
            (vk.VK_ACCESS_TRANSFER_WRITE_BIT, vk.VK_ACCESS_SHADER_READ_BIT),
            (vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, vk.VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL),
        )
        chroma = samplers.linear if picture_format.chroma_shift_x or picture_format.chroma_shift_y else samplers.nearest
        self._write_descriptors(device, sets[0], [samplers.linear] * BINDINGS)
        self._write_descriptors(device, sets[1], [samplers.nearest, chroma, chroma])

    def copy_from(self, device: Device, command_buffer: Handle, buffer: Handle, regions: Struct) -> None:
        """Record the copy of a picture from a buffer; what was drawn from the images before is waited for.

        Args:
            regions: `VkBufferImageCopy[planes]`.
        """
        vk, functions, count = api.vk, device.functions, len(self.images)
        transfer, fragment = vk.VK_PIPELINE_STAGE_TRANSFER_BIT, vk.VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT
        functions.vkCmdPipelineBarrier(
            command_buffer, fragment, transfer, 0, 0, ffi.NULL, 0, ffi.NULL, count, self._to_transfer
        )
        layout = vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL
        for index, image in enumerate(self.images):
            functions.vkCmdCopyBufferToImage(command_buffer, buffer, image.handle, layout, 1, regions + index)
        functions.vkCmdPipelineBarrier(
            command_buffer, transfer, fragment, 0, 0, ffi.NULL, 0, ffi.NULL, count, self._to_sampled
        )

    def close(self) -> None:
        """Free the images; the GPU must be done with them."""
        self._parts.close()

    def _barriers(self, access: tuple[int, int], layout: tuple[int, int]) -> Struct:
        return api.array(
            "VkImageMemoryBarrier", [image_barrier(i.handle, access=access, layout=layout) for i in self.images]
        )

    def _write_descriptors(self, device: Device, descriptor_set: Handle, samplers: list[Handle]) -> None:
        # A format with fewer planes leaves bindings that the specialised shader never reads; they still need an image.
        views = [self.images[min(binding, len(self.images) - 1)].view for binding in range(BINDINGS)]
        images = [
            api.struct(
                "VkDescriptorImageInfo",
                sampler=sampler,
                imageView=view,
                imageLayout=api.vk.VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
            )
            for view, sampler in zip(views, samplers, strict=True)
        ]
        write = api.struct(
            "VkWriteDescriptorSet",
            dstSet=descriptor_set,
            descriptorCount=BINDINGS,
            descriptorType=api.vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
            pImageInfo=api.array("VkDescriptorImageInfo", images),
        )
        device.functions.vkUpdateDescriptorSets(device.handle, 1, write, 0, ffi.NULL)


class PlaneSets:
    """All plane sets of one tile, for one picture format.

    Attributes:
        picture_format: what goes in. plane_sets: those made so far.
    """

    def __init__(self, device: Device, picture_format: PictureFormat, conversion: Conversion, most: int) -> None:
        """Have room for `most` sets; `grow` makes them."""
        self._device = device
        self._samplers = conversion.samplers
        self.picture_format = picture_format
        self.plane_sets: list[PlaneSet] = []
        _require_images(device, picture_format)
        with ExitStack() as stack:
            pool = device.create("DescriptorPool", _pool_info(2 * most))
            stack.callback(device.destroy, "DescriptorPool", pool)
            self._descriptor_sets = _allocate_sets(device, pool, conversion.set_layout, 2 * most)
            self._parts = stack.pop_all()

    def __getitem__(self, index: int) -> PlaneSet:
        return self.plane_sets[index]

    def grow(self, count: int) -> None:
        """Have at least `count` sets; existing ones stay as they are."""
        while (made := len(self.plane_sets)) < count:
            descriptor_sets = [self._descriptor_sets[2 * made], self._descriptor_sets[2 * made + 1]]
            self.plane_sets.append(PlaneSet(self._device, self.picture_format, descriptor_sets, self._samplers))

    def close(self) -> None:
        """Free everything; the GPU must be done with it."""
        for plane_set in self.plane_sets:
            plane_set.close()
        self.plane_sets.clear()
        self._parts.close()


def plane_image_format(picture_format: PictureFormat, plane: int) -> int:
    """Return the `VkFormat` of a plane's image."""
    vk = api.vk
    formats = {
        (1, 1): vk.VK_FORMAT_R8_UNORM,
        (1, 2): vk.VK_FORMAT_R8G8_UNORM,
        (2, 1): vk.VK_FORMAT_R16_UNORM,
        (2, 2): vk.VK_FORMAT_R16G16_UNORM,
    }
    return int(formats[picture_format.bytes_per_sample, picture_format.components(plane)])


def _require_images(device: Device, picture_format: PictureFormat) -> None:
    vk = api.vk
    needed = vk.VK_FORMAT_FEATURE_SAMPLED_IMAGE_BIT | vk.VK_FORMAT_FEATURE_SAMPLED_IMAGE_FILTER_LINEAR_BIT
    for plane in range(picture_format.plane_count):
        properties = ffi.new("VkFormatProperties *")
        image_format = plane_image_format(picture_format, plane)
        lib.vkGetPhysicalDeviceFormatProperties(device.physical.handle, image_format, properties)
        if properties.optimalTilingFeatures & needed != needed:
            raise SinkError(
                f"{device.physical.name} cannot filter {picture_format.name or 'this pixel format'}; convert the video "
                "to 8-bit 4:2:0 or choose another device."
            )
    limit = device.max_image_size
    if max(picture_format.width, picture_format.height) > limit:
        raise SinkError(
            f"A picture of {picture_format.width}×{picture_format.height} is larger than {device.physical.name} can "
            f"hold ({limit} pixels a side); scale the video down."
        )


def _pool_info(sets: int) -> Struct:
    size = api.struct(
        "VkDescriptorPoolSize",
        type=api.vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
        descriptorCount=BINDINGS * sets,
    )
    return api.struct("VkDescriptorPoolCreateInfo", maxSets=sets, poolSizeCount=1, pPoolSizes=size)


def _allocate_sets(device: Device, pool: Handle, layout: Handle, count: int) -> Any:
    info = api.struct(
        "VkDescriptorSetAllocateInfo",
        descriptorPool=pool,
        descriptorSetCount=count,
        pSetLayouts=ffi.new("VkDescriptorSetLayout[]", [layout] * count),
    )
    sets = ffi.new("VkDescriptorSet[]", count)
    check(device.functions.vkAllocateDescriptorSets(device.handle, info, sets), "vkAllocateDescriptorSets")
    return sets
