"""The staging ring: one mapped buffer a slot, written by the process thread, read by the GPU when the frame is drawn.

A plane goes in by one contiguous copy with whatever line stride the decoder uses; the GPU is told the stride
(`bufferRowLength`), so no line is ever copied on its own. numpy drops the GIL for the copy.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from app.engine.picture import Picture, PictureFormat, Plane
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct
from app.engine.vulkan.device import Device
from app.engine.vulkan.memory import Bytes, HostBuffer

PLANE_ALIGNMENT_BYTES: Final = 256
"""Start of a plane in a slot: a multiple of every texel size and of the usual `optimalBufferCopyOffsetAlignment`."""


LINE_ALIGNMENT_BYTES: Final = 64
"""FFmpeg's line alignment with AVX-512; it adds up to that much again for the decoder's edge."""


class StagingSlot:
    """Room for one picture in memory that host and GPU share.

    Attributes:
        regions: `VkBufferImageCopy[planes]`, valid for the picture last written.
        revision: grows when buffer or regions change, so that commands recorded with them are out of date.
    """

    def __init__(self, device: Device, picture_format: PictureFormat) -> None:
        self._device = device
        self._format = picture_format
        self._buffer: HostBuffer | None = None
        self._layout: tuple[int, ...] = ()
        self._offsets: tuple[int, ...] = ()
        self.revision = 0
        self.regions: Struct = _copy_regions(picture_format)
        # Room for the line padding decoders are known to use, so that the first picture finds its place made.
        padded = (_padded_stride(picture_format, plane) for plane in range(picture_format.plane_count))
        self._reserve(tuple(padded))

    @property
    def buffer(self) -> Handle:
        """Return the `VkBuffer` of the picture last written."""
        assert self._buffer is not None, "the slot was closed"
        return self._buffer.handle

    def write(self, picture: Picture) -> int:
        """Copy a picture in and return the bytes copied. Nothing is allocated unless the line strides changed."""
        strides = tuple(_usable_stride(self._format, index, plane) for index, plane in enumerate(picture.planes))
        if strides != self._layout:
            self._reserve(strides)
        assert self._buffer is not None, "the slot was closed"
        copied = 0
        for index, (plane, offset) in enumerate(zip(picture.planes, self._offsets, strict=True)):
            copied += _write_plane(self._format, index, plane, strides[index], self._buffer.bytes[offset:])
        return copied

    def close(self) -> None:
        """Free the slot; the GPU must have read it."""
        if self._buffer is not None:
            self._buffer.close()
            self._buffer = None

    def _reserve(self, strides: tuple[int, ...]) -> None:
        """Lay the planes out for these strides, and take a larger buffer where the one at hand is too small.

        The slot's last frame has settled, so the GPU does not read the old buffer any more.
        """
        offsets, position = [], 0
        for plane, stride in enumerate(strides):
            offsets.append(position)
            position += stride * self._format.plane_size(plane)[1]
            position += -position % PLANE_ALIGNMENT_BYTES
        if self._buffer is None or self._buffer.size_bytes < position:
            self.close()
            self._buffer = HostBuffer(self._device, position, api.vk.VK_BUFFER_USAGE_TRANSFER_SRC_BIT)
            self._buffer.bytes.fill(0)  # page faults happen here and not in the first frames (5–13 ms at 1280×720)
        self._layout, self._offsets = strides, tuple(offsets)
        for plane, (offset, stride) in enumerate(zip(offsets, strides, strict=True)):
            self.regions[plane].bufferOffset = offset
            self.regions[plane].bufferRowLength = stride // texel_bytes(self._format, plane)
        self.revision += 1


class StagingRing:
    """Staging slots for pictures of one format. `write` belongs to the process thread, all else to the present one."""

    def __init__(self, device: Device, picture_format: PictureFormat) -> None:
        self._device = device
        self._format = picture_format
        self._slots: list[StagingSlot] = []

    def __len__(self) -> int:
        return len(self._slots)

    def __getitem__(self, slot: int) -> StagingSlot:
        return self._slots[slot]

    def grow(self, slots: int) -> None:
        """Have at least `slots` slots; existing ones stay as they are."""
        while len(self._slots) < slots:
            self._slots.append(StagingSlot(self._device, self._format))

    def close(self) -> None:
        """Free all slots; the GPU must be done with them."""
        for slot in self._slots:
            slot.close()
        self._slots.clear()


def texel_bytes(picture_format: PictureFormat, plane: int) -> int:
    """Return the size of one texel of a plane's image."""
    return picture_format.bytes_per_sample * picture_format.components(plane)


def minimal_stride(picture_format: PictureFormat, plane: int) -> int:
    """Return the line stride of a plane without padding, in bytes."""
    return picture_format.plane_size(plane)[0] * texel_bytes(picture_format, plane)


def _padded_stride(picture_format: PictureFormat, plane: int) -> int:
    stride = minimal_stride(picture_format, plane)
    return stride + -stride % LINE_ALIGNMENT_BYTES + LINE_ALIGNMENT_BYTES


def _usable_stride(picture_format: PictureFormat, index: int, plane: Plane) -> int:
    """Return the stride to store a plane with: its own, or none at all where Vulkan cannot describe its own."""
    texel = texel_bytes(picture_format, index)
    tight = minimal_stride(picture_format, index)
    return plane.stride_bytes if plane.stride_bytes >= tight and plane.stride_bytes % texel == 0 else tight


def _write_plane(picture_format: PictureFormat, index: int, plane: Plane, stride: int, target: Bytes) -> int:
    source = np.frombuffer(memoryview(plane.data), np.uint8)
    width_bytes, lines = minimal_stride(picture_format, index), picture_format.plane_size(index)[1]
    if plane.stride_bytes == stride:
        size = stride * (lines - 1) + width_bytes
        target[:size] = source[:size]
        return size
    rows = np.lib.stride_tricks.as_strided(source, (lines, width_bytes), (plane.stride_bytes, 1))
    target[: lines * stride].reshape(lines, stride)[:] = rows
    return lines * width_bytes


def _copy_regions(picture_format: PictureFormat) -> Struct:
    regions = []
    for plane in range(picture_format.plane_count):
        width, height = picture_format.plane_size(plane)
        regions.append(
            api.struct(
                "VkBufferImageCopy",
                imageSubresource={"aspectMask": api.vk.VK_IMAGE_ASPECT_COLOR_BIT, "layerCount": 1},
                imageExtent={"width": width, "height": height, "depth": 1},
            )
        )
    return api.array("VkBufferImageCopy", regions)
