"""The conversion of pictures: samplers, descriptor layout and the graphics pipelines that draw planes as R′G′B′."""

from __future__ import annotations

from contextlib import ExitStack
from typing import NamedTuple

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.geometry import PUSH_CONSTANT_FLOATS
from app.engine.vulkan.results import check
from app.engine.vulkan.shaders import create_shader_module

BINDINGS = 3
"""Plane images a descriptor set names."""


class Samplers(NamedTuple):
    """`VkSampler` handles, both clamped to the edge."""

    linear: Handle
    nearest: Handle


class Conversion:
    """What all picture formats and tiles have in common, and a pipeline for each number of planes met so far.

    Attributes:
        samplers: of the plane images. set_layout: `VkDescriptorSetLayout` of a plane set.
        layout: `VkPipelineLayout`.
    """

    def __init__(self, device: Device, target_format: int) -> None:
        vk = api.vk
        self._device = device
        self._target_format = target_format
        self._pipelines: dict[int, Handle] = {}
        with ExitStack() as stack:
            self.samplers = Samplers(
                self._create(stack, "Sampler", _sampler_info(vk.VK_FILTER_LINEAR)),
                self._create(stack, "Sampler", _sampler_info(vk.VK_FILTER_NEAREST)),
            )
            self.set_layout = self._create(stack, "DescriptorSetLayout", _set_layout_info())
            self.layout = self._create(stack, "PipelineLayout", _pipeline_layout_info(self.set_layout))
            self._parts = stack.pop_all()

    def pipeline(self, plane_count: int) -> Handle:
        """Return the `VkPipeline` for pictures of this many planes, which takes milliseconds to make the first time."""
        pipeline = self._pipelines.get(plane_count)
        if pipeline is None:
            pipeline = _create_pipeline(self._device, self.layout, self._target_format, plane_count)
            self._pipelines[plane_count] = pipeline
        return pipeline

    def close(self) -> None:
        """Free everything; the GPU must be done with it."""
        for pipeline in self._pipelines.values():
            self._device.destroy("Pipeline", pipeline)
        self._pipelines.clear()
        self._parts.close()

    def _create(self, stack: ExitStack, kind: str, info: Struct) -> Handle:
        handle = self._device.create(kind, info)
        stack.callback(self._device.destroy, kind, handle)
        return handle


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


def _create_pipeline(device: Device, layout: Handle, target_format: int, plane_count: int) -> Handle:
    out = ffi.new("VkPipeline *")
    with ExitStack() as modules:
        vertex = create_shader_module(device, "convert.vert")
        modules.callback(device.destroy, "ShaderModule", vertex)
        fragment = create_shader_module(device, "convert.frag")
        modules.callback(device.destroy, "ShaderModule", fragment)
        info = _pipeline_info(layout, target_format, _stages(vertex, fragment, plane_count))
        code = device.functions.vkCreateGraphicsPipelines(device.handle, ffi.NULL, 1, info, ffi.NULL, out)
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
