"""What is drawn into: an image with the structs that drawing needs, made once."""

from __future__ import annotations

from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.memory import image_barrier


class RenderTarget:
    """An image to draw into. Recorded command buffers know it by its identity.

    Attributes:
        image, view: handles; they belong to whoever made the target. width, height: in pixels.
        whole: `VkRenderingInfo` of drawing in one go. first, middle, last: of drawing that goes on from one command
            buffer to the next, in one render pass all the same (its parts are suspended and resumed).
    """

    def __init__(self, image: Handle, view: Handle, size: tuple[int, int], final_layout: int) -> None:
        vk = api.vk
        self.image, self.view = image, view
        self.width, self.height = size
        colour = vk.VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL
        written = vk.VK_ACCESS_COLOR_ATTACHMENT_WRITE_BIT
        self._to_drawing = image_barrier(image, access=(0, written), layout=(vk.VK_IMAGE_LAYOUT_UNDEFINED, colour))
        read = vk.VK_ACCESS_TRANSFER_READ_BIT if final_layout == vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL else 0
        self._to_final = image_barrier(image, access=(written, read), layout=(colour, final_layout))
        self._final_stage = vk.VK_PIPELINE_STAGE_TRANSFER_BIT if read else vk.VK_PIPELINE_STAGE_BOTTOM_OF_PIPE_BIT
        suspending, resuming = vk.VK_RENDERING_SUSPENDING_BIT, vk.VK_RENDERING_RESUMING_BIT
        self.whole = self._rendering(0)
        self.first = self._rendering(suspending)
        self.middle = self._rendering(suspending | resuming)
        self.last = self._rendering(resuming)

    @property
    def size(self) -> tuple[int, int]:
        """Return width and height in pixels."""
        return self.width, self.height

    def begin(self, device: Device, command_buffer: Handle, rendering: Struct) -> None:
        """Record the beginning of drawing: from any contents to black."""
        output = api.vk.VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT
        device.functions.vkCmdPipelineBarrier(
            command_buffer, output, output, 0, 0, ffi.NULL, 0, ffi.NULL, 1, self._to_drawing
        )
        device.functions.vkCmdBeginRendering(command_buffer, rendering)

    def end(self, device: Device, command_buffer: Handle) -> None:
        """Record the end of drawing: the image is in its final layout afterwards."""
        device.functions.vkCmdEndRendering(command_buffer)
        output = api.vk.VK_PIPELINE_STAGE_COLOR_ATTACHMENT_OUTPUT_BIT
        device.functions.vkCmdPipelineBarrier(
            command_buffer, output, self._final_stage, 0, 0, ffi.NULL, 0, ffi.NULL, 1, self._to_final
        )

    def _rendering(self, flags: int) -> Struct:
        vk = api.vk
        attachment = api.struct(
            "VkRenderingAttachmentInfo",
            imageView=self.view,
            imageLayout=vk.VK_IMAGE_LAYOUT_COLOR_ATTACHMENT_OPTIMAL,
            loadOp=vk.VK_ATTACHMENT_LOAD_OP_CLEAR,
            storeOp=vk.VK_ATTACHMENT_STORE_OP_STORE,
            clearValue={"color": {"float32": [0.0, 0.0, 0.0, 1.0]}},
        )
        return api.struct(
            "VkRenderingInfo",
            flags=flags,
            renderArea={"extent": {"width": self.width, "height": self.height}},
            layerCount=1,
            colorAttachmentCount=1,
            pColorAttachments=attachment,
        )
