"""The conversion of one picture format: plane images, sampler, descriptors and the graphics pipeline that draws it."""

from __future__ import annotations

from typing import Any, NamedTuple

from app.core.errors import SinkError
from app.engine.picture import PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi, lib
from app.engine.vulkan.device import Device
from app.engine.vulkan.geometry import PUSH_CONSTANT_FLOATS
from app.engine.vulkan.memory import DeviceImage, image_barrier
from app.engine.vulkan.results import check
from app.engine.vulkan.shaders import create_shader_module

BINDINGS = 3


class Samplers(NamedTuple):
    """`VkSampler` handles, both clamped to the edge."""

    linear: Handle
    nearest: Handle


class PlaneSet:
    """The plane images of one frame in flight, and the descriptor sets that name them.

    Attributes:
        images: one a plane, luma first.
        smooth, exact: pointers to a `VkDescriptorSet`: every plane filtered, and planes of full resolution not. At 1:1
            both give the same picture; unfiltered it is exact by construction, and software Vulkan needs a fifth less.
        to_transfer, to_sampled: `VkImageMemoryBarrier[planes]` before and after the copy.
    """

    def __init__(self, device: Device, picture_format: PictureFormat, sets: list[Handle], samplers: Samplers) -> None:
        vk = api.vk
        self.images = [
            DeviceImage(
                device,
                plane_image_format(picture_format, plane),
                *picture_format.plane_size(plane),
                vk.VK_IMAGE_USAGE_SAMPLED_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT,
            )
            for plane in range(picture_format.plane_count)
        ]
        self.smooth = ffi.new("VkDescriptorSet[]", [sets[0]])
        self.exact = ffi.new("VkDescriptorSet[]", [sets[1]])
        self.to_transfer = self._barriers(
            (0, vk.VK_ACCESS_TRANSFER_WRITE_BIT),
            (vk.VK_IMAGE_LAYOUT_UNDEFINED, vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL),
        )
        self.to_sampled = self._barriers(
            (vk.VK_ACCESS_TRANSFER_WRITE_BIT, vk.VK_ACCESS_SHADER_READ_BIT),
            (vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, vk.VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL),
        )
        chroma = samplers.linear if picture_format.chroma_shift_x or picture_format.chroma_shift_y else samplers.nearest
        self._write_descriptors(device, sets[0], [samplers.linear] * BINDINGS)
        self._write_descriptors(device, sets[1], [samplers.nearest, chroma, chroma])

    def close(self) -> None:
        """Free the images; the GPU must be done with them."""
        for image in self.images:
            image.close()

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


class Conversion:
    """Everything that depends on the picture format and the format of the target images.

    Attributes:
        picture_format: what goes in. pipeline, layout: `VkPipeline`, `VkPipelineLayout`.
        planes: one `PlaneSet` for each frame in flight.
    """

    def __init__(
        self, device: Device, picture_format: PictureFormat, target_format: int, frames_in_flight: int
    ) -> None:
        self._device = device
        self.picture_format = picture_format
        _require_images(device, picture_format)
        vk = api.vk
        self._samplers = Samplers(
            device.create("Sampler", _sampler_info(vk.VK_FILTER_LINEAR)),
            device.create("Sampler", _sampler_info(vk.VK_FILTER_NEAREST)),
        )
        self._set_layout: Handle = device.create("DescriptorSetLayout", _set_layout_info())
        self.layout: Handle = device.create("PipelineLayout", _pipeline_layout_info(self._set_layout))
        self.pipeline: Handle = _create_pipeline(device, self.layout, target_format, picture_format.plane_count)
        self._pool: Handle = device.create("DescriptorPool", _pool_info(2 * frames_in_flight))
        sets = _allocate_sets(device, self._pool, self._set_layout, 2 * frames_in_flight)
        self.planes = [
            PlaneSet(device, picture_format, [sets[2 * index], sets[2 * index + 1]], self._samplers)
            for index in range(frames_in_flight)
        ]

    def close(self) -> None:
        """Free everything; the GPU must be done with it."""
        for planes in self.planes:
            planes.close()
        self._device.destroy("DescriptorPool", self._pool)
        self._device.destroy("Pipeline", self.pipeline)
        self._device.destroy("PipelineLayout", self.layout)
        self._device.destroy("DescriptorSetLayout", self._set_layout)
        for sampler in self._samplers:
            self._device.destroy("Sampler", sampler)


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


def _sampler_info(texel_filter: int) -> Struct:
    vk = api.vk
    edge = vk.VK_SAMPLER_ADDRESS_MODE_CLAMP_TO_EDGE
    return api.struct(
        "VkSamplerCreateInfo",
        magFilter=texel_filter,
        minFilter=texel_filter,
        addressModeU=edge,
        addressModeV=edge,
        addressModeW=edge,
    )


def _set_layout_info() -> Struct:
    vk = api.vk
    bindings = [
        api.struct(
            "VkDescriptorSetLayoutBinding",
            binding=binding,
            descriptorType=vk.VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER,
            descriptorCount=1,
            stageFlags=vk.VK_SHADER_STAGE_FRAGMENT_BIT,
        )
        for binding in range(BINDINGS)
    ]
    return api.struct(
        "VkDescriptorSetLayoutCreateInfo",
        bindingCount=BINDINGS,
        pBindings=api.array("VkDescriptorSetLayoutBinding", bindings),
    )


def _pipeline_layout_info(set_layout: Handle) -> Struct:
    constants = api.struct(
        "VkPushConstantRange", stageFlags=api.vk.VK_SHADER_STAGE_FRAGMENT_BIT, size=4 * PUSH_CONSTANT_FLOATS
    )
    return api.struct(
        "VkPipelineLayoutCreateInfo",
        setLayoutCount=1,
        pSetLayouts=ffi.new("VkDescriptorSetLayout[]", [set_layout]),
        pushConstantRangeCount=1,
        pPushConstantRanges=constants,
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


def _create_pipeline(device: Device, layout: Handle, target_format: int, plane_count: int) -> Handle:
    vertex = create_shader_module(device, "convert.vert")
    fragment = create_shader_module(device, "convert.frag")
    info = _pipeline_info(layout, target_format, _stages(vertex, fragment, plane_count))
    out = ffi.new("VkPipeline *")
    code = device.functions.vkCreateGraphicsPipelines(device.handle, ffi.NULL, 1, info, ffi.NULL, out)
    device.destroy("ShaderModule", vertex)
    device.destroy("ShaderModule", fragment)
    check(code, "vkCreateGraphicsPipelines")
    device.census.born("Pipeline")
    return out[0]


def _stages(vertex: Handle, fragment: Handle, plane_count: int) -> Struct:
    vk = api.vk
    constant = ffi.new("int32_t *", plane_count)
    specialisation = api.struct(
        "VkSpecializationInfo",
        mapEntryCount=1,
        pMapEntries=api.struct("VkSpecializationMapEntry", constantID=0, offset=0, size=4),
        dataSize=4,
        pData=constant,
    )
    entry = ffi.new("char[]", b"main")
    kind = "VkPipelineShaderStageCreateInfo"
    return api.array(
        kind,
        [
            api.struct(kind, stage=vk.VK_SHADER_STAGE_VERTEX_BIT, module=vertex, pName=entry),
            api.struct(
                kind,
                stage=vk.VK_SHADER_STAGE_FRAGMENT_BIT,
                module=fragment,
                pName=entry,
                pSpecializationInfo=specialisation,
            ),
        ],
    )


def _pipeline_info(layout: Handle, target_format: int, stages: Struct) -> Struct:
    vk = api.vk
    rgba = (
        vk.VK_COLOR_COMPONENT_R_BIT
        | vk.VK_COLOR_COMPONENT_G_BIT
        | vk.VK_COLOR_COMPONENT_B_BIT
        | vk.VK_COLOR_COMPONENT_A_BIT
    )
    dynamic = ffi.new("VkDynamicState[]", [vk.VK_DYNAMIC_STATE_VIEWPORT, vk.VK_DYNAMIC_STATE_SCISSOR])
    rendering = api.struct(
        "VkPipelineRenderingCreateInfo",
        colorAttachmentCount=1,
        pColorAttachmentFormats=ffi.new("VkFormat[]", [target_format]),
    )
    return api.struct(
        "VkGraphicsPipelineCreateInfo",
        pNext=rendering,
        stageCount=2,
        pStages=stages,
        pVertexInputState=api.struct("VkPipelineVertexInputStateCreateInfo"),
        pInputAssemblyState=api.struct(
            "VkPipelineInputAssemblyStateCreateInfo", topology=vk.VK_PRIMITIVE_TOPOLOGY_TRIANGLE_LIST
        ),
        pViewportState=api.struct("VkPipelineViewportStateCreateInfo", viewportCount=1, scissorCount=1),
        pRasterizationState=api.struct(
            "VkPipelineRasterizationStateCreateInfo",
            polygonMode=vk.VK_POLYGON_MODE_FILL,
            cullMode=vk.VK_CULL_MODE_NONE,
            lineWidth=1.0,
        ),
        pMultisampleState=api.struct(
            "VkPipelineMultisampleStateCreateInfo", rasterizationSamples=vk.VK_SAMPLE_COUNT_1_BIT
        ),
        pColorBlendState=api.struct(
            "VkPipelineColorBlendStateCreateInfo",
            attachmentCount=1,
            pAttachments=api.struct("VkPipelineColorBlendAttachmentState", colorWriteMask=rgba),
        ),
        pDynamicState=api.struct("VkPipelineDynamicStateCreateInfo", dynamicStateCount=2, pDynamicStates=dynamic),
        layout=layout,
    )
