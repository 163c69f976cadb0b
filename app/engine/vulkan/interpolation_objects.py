"""The Vulkan objects of frame interpolation: buffers, descriptor sets and compute pipelines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.memory import DeviceBuffer, DeviceImage
from app.engine.vulkan.results import check
from app.engine.vulkan.shaders import create_shader_module

PLANES: Final = 3
"""Images a picture's descriptor set names; a format with fewer planes names its last one again."""

BUFFERS: Final = 4
"""Storage buffers of all passes, which is what every device has room for in a stage."""

CONSTANT_WORDS: Final = 20
"""32-bit words of the push constants, `Pass` of assets/shaders/interpolation.glsl: 80 of 128 bytes; phase is last."""

Constant = int | float
"""A specialisation constant: int32 or float32, as its Python type says."""


class PassObjects:
    """What all passes have in common: one pipeline layout, and the descriptor sets bound to it.

    Sets 0 and 1 are the earlier and the later picture, set 2 the buffers.

    Attributes:
        layout: `VkPipelineLayout`. buffer_set: the set of the buffers. picture_sets: one set a picture of `pictures`.
    """

    def __init__(
        self, device: Device, pictures: Sequence[Sequence[DeviceImage]], buffers: Sequence[DeviceBuffer]
    ) -> None:
        vk = api.vk
        images, storage = vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER, vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER
        with ExitStack() as stack:
            sampler = _create(device, stack, "Sampler", _sampler_info())
            picture_layout = _create(device, stack, "DescriptorSetLayout", _set_layout_info([(images, PLANES)]))
            buffer_layout = _create(device, stack, "DescriptorSetLayout", _set_layout_info([(storage, 1)] * BUFFERS))
            layout_info = _pipeline_layout_info([picture_layout, picture_layout, buffer_layout])
            self.layout = _create(device, stack, "PipelineLayout", layout_info)
            pool = _create(device, stack, "DescriptorPool", _pool_info(len(pictures)))
            layouts = [buffer_layout, *[picture_layout] * len(pictures)]
            self.buffer_set, *self.picture_sets = _allocate_sets(device, pool, layouts)
            self._parts = stack.pop_all()
        _write_buffers(device, self.buffer_set, buffers)
        for picture_set, planes in zip(self.picture_sets, pictures, strict=True):
            _write_planes(device, picture_set, planes, sampler)

    def close(self) -> None:
        """Free everything; the GPU must be done with it."""
        self._parts.close()


def create_compute_pipeline(device: Device, layout: Handle, shader: str, constants: Mapping[int, Constant]) -> Handle:
    """Return a `VkPipeline` of a compute shader (`interpolation_luma.comp`), specialised by constant id → value."""
    module = create_shader_module(device, shader)
    stage = api.struct(
        "VkPipelineShaderStageCreateInfo",
        stage=api.vk.VK_SHADER_STAGE_COMPUTE_BIT,
        module=module,
        pName=ffi.new("char[]", b"main"),
        pSpecializationInfo=_specialisation(constants),
    )
    info = api.struct("VkComputePipelineCreateInfo", stage=stage[0], layout=layout)
    out = ffi.new("VkPipeline *")
    code = device.functions.vkCreateComputePipelines(device.handle, ffi.NULL, 1, info, ffi.NULL, out)
    device.destroy("ShaderModule", module)
    check(code, "vkCreateComputePipelines")
    device.census.born("Pipeline")
    return out[0]


def _create(device: Device, stack: ExitStack, kind: str, info: Struct) -> Handle:
    """Return a new object, which the stack destroys."""
    handle = device.create(kind, info)
    stack.callback(device.destroy, kind, handle)
    return handle


def _specialisation(constants: Mapping[int, Constant]) -> Struct:
    data = ffi.new("uint32_t[]", max(1, len(constants)))
    for index, value in enumerate(constants.values()):
        ffi.cast("float *" if isinstance(value, float) else "int32_t *", data)[index] = value
    entries = [
        api.struct("VkSpecializationMapEntry", constantID=identifier, offset=4 * index, size=4)
        for index, identifier in enumerate(constants)
    ]
    return api.struct(
        "VkSpecializationInfo",
        mapEntryCount=len(entries),
        pMapEntries=api.array("VkSpecializationMapEntry", entries),
        dataSize=4 * len(entries),
        pData=data,
    )


def _sampler_info() -> Struct:
    vk = api.vk
    edge = vk.VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE
    return api.struct(
        "VkSamplerCreateInfo",
        magFilter=vk.VK_FILTER_LINEAR,
        minFilter=vk.VK_FILTER_LINEAR,
        addressModeU=edge,
        addressModeV=edge,
        addressModeW=edge,
    )


def _set_layout_info(kinds: Sequence[tuple[int, int]]) -> Struct:
    """Return the layout of a set whose bindings are of these descriptor types and counts."""
    bindings = [
        api.struct(
            "VkDescriptorSetLayoutBinding",
            binding=binding,
            descriptorType=kind,
            descriptorCount=count,
            stageFlags=api.vk.VK_SHADER_STAGE_COMPUTE_BIT,
        )
        for binding, (kind, count) in enumerate(kinds)
    ]
    return api.struct(
        "VkDescriptorSetLayoutCreateInfo",
        bindingCount=len(bindings),
        pBindings=api.array("VkDescriptorSetLayoutBinding", bindings),
    )


def _pipeline_layout_info(set_layouts: Sequence[Handle]) -> Struct:
    return api.struct(
        "VkPipelineLayoutCreateInfo",
        setLayoutCount=len(set_layouts),
        pSetLayouts=ffi.new("VkDescriptorSetLayout[]", list(set_layouts)),
        pushConstantRangeCount=1,
        pPushConstantRanges=api.struct(
            "VkPushConstantRange", stageFlags=api.vk.VK_SHADER_STAGE_COMPUTE_BIT, size=4 * CONSTANT_WORDS
        ),
    )


def _pool_info(pictures: int) -> Struct:
    vk = api.vk
    sizes = [
        api.struct(
            "VkDescriptorPoolSize",
            type=vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
            descriptorCount=PLANES * pictures,
        ),
        api.struct("VkDescriptorPoolSize", type=vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER, descriptorCount=BUFFERS),
    ]
    return api.struct(
        "VkDescriptorPoolCreateInfo",
        maxSets=pictures + 1,
        poolSizeCount=len(sizes),
        pPoolSizes=api.array("VkDescriptorPoolSize", sizes),
    )


def _allocate_sets(device: Device, pool: Handle, layouts: Sequence[Handle]) -> list[Handle]:
    info = api.struct(
        "VkDescriptorSetAllocateInfo",
        descriptorPool=pool,
        descriptorSetCount=len(layouts),
        pSetLayouts=ffi.new("VkDescriptorSetLayout[]", list(layouts)),
    )
    sets = ffi.new("VkDescriptorSet[]", len(layouts))
    check(device.functions.vkAllocateDescriptorSets(device.handle, info, sets), "vkAllocateDescriptorSets")
    return list(sets)


def _write_buffers(device: Device, descriptor_set: Handle, buffers: Sequence[DeviceBuffer]) -> None:
    infos = [
        api.struct("VkDescriptorBufferInfo", buffer=buffer.handle, offset=0, range=buffer.size_bytes)
        for buffer in buffers
    ]
    write = api.struct(
        "VkWriteDescriptorSet",
        dstSet=descriptor_set,
        descriptorCount=len(infos),
        descriptorType=api.vk.VK_DESCRIPTOR_TYPE_STORAGE_BUFFER,
        pBufferInfo=api.array("VkDescriptorBufferInfo", infos),
    )
    device.functions.vkUpdateDescriptorSets(device.handle, 1, write, 0, ffi.NULL)


def _write_planes(device: Device, descriptor_set: Handle, planes: Sequence[DeviceImage], sampler: Handle) -> None:
    infos = [
        api.struct(
            "VkDescriptorImageInfo",
            sampler=sampler,
            imageView=planes[min(plane, len(planes) - 1)].view,
            imageLayout=api.vk.VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL,
        )
        for plane in range(PLANES)
    ]
    write = api.struct(
        "VkWriteDescriptorSet",
        dstSet=descriptor_set,
        descriptorCount=PLANES,
        descriptorType=api.vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
        pImageInfo=api.array("VkDescriptorImageInfo", infos),
    )
    device.functions.vkUpdateDescriptorSets(device.handle, 1, write, 0, ffi.NULL)
