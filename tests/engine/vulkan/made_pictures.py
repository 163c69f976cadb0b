"""Makes up pictures on a real device, from code values to code values; and clips whose every moment is known exactly.

It shares no arithmetic with the shaders.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from app.engine.picture import PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.api import Handle, Struct, ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.gpu_clock import GpuClock
from app.engine.vulkan.instance import open_instance
from app.engine.vulkan.interpolation import InterpolationKind, Interpolator
from app.engine.vulkan.memory import DeviceImage, HostBuffer, image_barrier
from app.engine.vulkan.one_time import OneTimeCommands
from app.engine.vulkan.physical_device import choose_physical_device
from app.engine.vulkan.plane_sets import plane_image_format
from app.engine.vulkan.upload import StagingSlot, minimal_stride
from tests.engine.vulkan import reference
from tests.engine.vulkan.reference import Codes

FRAMES_IN_FLIGHT: Final = 2


class Workshop:
    """A device with room for two pictures of a format, an interpolator, and images the result is copied to.

    Attributes:
        device, clock, form, interpolator: what is tried out. pictures: plane images of the earlier and the later one.
        gpu_ns: how long the passes last took on the GPU.
    """

    def __init__(self, device: Device, clock: GpuClock, form: PictureFormat, stack: ExitStack) -> None:
        vk = api.vk
        self.device, self.clock, self.form = device, clock, form
        self.gpu_ns = 0
        sampled = vk.VK_IMAGE_USAGE_SAMPLED_BIT | vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT
        readable = sampled | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT
        self.pictures = [self._images(sampled, stack) for _ in range(2)]
        self._result = self._images(readable, stack)
        self._slots = [StagingSlot(device, form) for _ in range(2)]
        for slot in self._slots:
            stack.callback(slot.close)
        self._sizes = [minimal_stride(form, plane) * form.plane_size(plane)[1] for plane in range(form.plane_count)]
        self._readers = [
            HostBuffer(device, size, vk.VK_BUFFER_USAGE_TRANSFER_DST_BIT, cached=True) for size in self._sizes
        ]
        for reader in self._readers:
            stack.callback(reader.close)
        self.interpolator = Interpolator(device, clock, form, self.pictures, FRAMES_IN_FLIGHT)
        stack.callback(self.interpolator.close)

    def make(
        self, pair: Sequence[list[Codes]], phase: float, kind: InterpolationKind, frame_in_flight: int = 0
    ) -> list[Codes]:
        """Return the picture made up between two given by their code values: samples as they lie in memory."""
        for slot, codes in zip(self._slots, pair, strict=True):
            slot.write(reference.make_picture(self.form, codes))
        commands = OneTimeCommands(self.device)
        command_buffer = commands.begin()
        for slot, images in zip(self._slots, self.pictures, strict=True):
            self._copy_in(command_buffer, slot.buffer, slot.regions, images)
        self.interpolator.record(command_buffer, frame_in_flight, (0, 1), phase, kind)
        self._copy_in(command_buffer, *self.interpolator.made, self._result)
        self._copy_out(command_buffer)
        commands.submit()
        commands.wait()
        commands.close()
        self.gpu_ns = self.interpolator.gpu_time_ns(frame_in_flight)
        return self._samples()

    def _images(self, usage: int, stack: ExitStack) -> list[DeviceImage]:
        images = []
        for plane in range(self.form.plane_count):
            image_format = plane_image_format(self.form, plane)
            images.append(DeviceImage(self.device, image_format, *self.form.plane_size(plane), usage))
            stack.callback(images[-1].close)
        return images

    def _copy_in(self, command_buffer: Handle, buffer: Handle, regions: Struct, images: list[DeviceImage]) -> None:
        vk, functions = api.vk, self.device.functions
        into, sampled = vk.VK_IMAGE_LAYOUT_TRANSFER_DST_OPTIMAL, vk.VK_IMAGE_LAYOUT_SHADER_READ_ONLY_OPTIMAL
        final = vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL if images is self._result else sampled
        written = vk.VK_ACCESS_TRANSFER_WRITE_BIT
        transfer, fragment = vk.VK_PIPELINE_STAGE_TRANSFER_BIT, vk.VK_PIPELINE_STAGE_FRAGMENT_SHADER_BIT
        readers = transfer if images is self._result else fragment
        read = vk.VK_ACCESS_TRANSFER_READ_BIT if images is self._result else vk.VK_ACCESS_SHADER_READ_BIT
        for plane, image in enumerate(images):
            before = image_barrier(image.handle, access=(0, written), layout=(vk.VK_IMAGE_LAYOUT_UNDEFINED, into))
            after = image_barrier(image.handle, access=(written, read), layout=(into, final))
            functions.vkCmdPipelineBarrier(command_buffer, readers, transfer, 0, 0, ffi.NULL, 0, ffi.NULL, 1, before)
            functions.vkCmdCopyBufferToImage(command_buffer, buffer, image.handle, into, 1, regions + plane)
            functions.vkCmdPipelineBarrier(command_buffer, transfer, readers, 0, 0, ffi.NULL, 0, ffi.NULL, 1, after)

    def _copy_out(self, command_buffer: Handle) -> None:
        layout = api.vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL
        for image, reader in zip(self._result, self._readers, strict=True):
            region = api.struct(
                "VkBufferImageCopy",
                imageSubresource={"aspectMask": api.vk.VK_IMAGE_ASPECT_COLOR_BIT, "layerCount": 1},
                imageExtent={"width": image.width, "height": image.height, "depth": 1},
            )
            self.device.functions.vkCmdCopyImageToBuffer(command_buffer, image.handle, layout, reader.handle, 1, region)

    def _samples(self) -> list[Codes]:
        kind = np.uint8 if self.form.bit_depth == 8 else np.uint16
        found: list[Codes] = []
        for plane, (reader, size) in enumerate(zip(self._readers, self._sizes, strict=True)):
            width, height = self.form.plane_size(plane)
            samples = reader.bytes[:size].view(kind).reshape(height, width, self.form.components(plane))
            found += [np.array(samples[:, :, component], np.uint16) for component in range(samples.shape[2])]
        return found


@contextmanager
def open_workshop(form: PictureFormat) -> Iterator[Workshop]:
    """Give a workshop that is closed, free of objects and free of validation messages at the end."""
    instance = open_instance(validation=True)
    with ExitStack() as stack:
        stack.callback(instance.close)
        physical, family = choose_physical_device(instance, None, "")
        device = Device(instance, physical, family, presents=False)
        stack.callback(device.close)
        clock = GpuClock(device, instance)
        stack.callback(clock.close)
        yield Workshop(device, clock, form, stack)
    assert "\n".join(instance.validation_messages()) == ""
    assert instance.live_objects() == {}


def as_stored(form: PictureFormat, codes: list[Codes]) -> list[Codes]:
    """Return code values as samples lie in memory: shifted up where the format aligns them high."""
    shift = 16 - form.bit_depth if form.high_aligned and form.bit_depth > 8 else 0
    return [np.left_shift(plane, shift, dtype=np.uint16) for plane in codes]


def psnr_db(form: PictureFormat, made: list[Codes], truth: list[Codes]) -> float:
    """Return the peak signal-to-noise ratio over all samples of all planes, in dB, against given code values."""
    stored = as_stored(form, truth)
    errors = [np.square(a.astype(np.float64) - b).ravel() for a, b in zip(made, stored, strict=True)]
    peak = as_stored(form, [np.array([2**form.bit_depth - 1], np.uint16)])[0][0]
    return float(10 * np.log10(float(peak) ** 2 / max(float(np.concatenate(errors).mean()), 1e-9)))


MARGIN: Final = 64
"""Samples around a picture's own, so that what comes in at an edge is nothing that went out at the other."""


class Clip(NamedTuple):
    """A texture that moves, as the Fourier spectra of one field a component, `MARGIN` wider on each side."""

    form: PictureFormat
    spectra: list[npt.NDArray[np.complex128]]

    def moved(self, right: float, down: float) -> list[Codes]:
        """Return the picture moved by so many luma pixels, exact for any fraction (shift theorem)."""
        return [self._component(index, right, down) for index in range(len(self.spectra))]

    def _component(self, index: int, right: float, down: float) -> Codes:
        plane, spectrum, top = min(index, 1), self.spectra[index], 2**self.form.bit_depth
        if plane:
            right, down = right / 2**self.form.chroma_shift_x, down / 2**self.form.chroma_shift_y
        y, x = np.fft.fftfreq(spectrum.shape[0])[:, None], np.fft.fftfreq(spectrum.shape[1])[None, :]
        field = np.fft.ifft2(spectrum * np.exp(-2j * np.pi * (x * right + y * down))).real
        width, height = self.form.plane_size(plane)
        codes = field[MARGIN : MARGIN + height, MARGIN : MARGIN + width] * (top / 256)
        return np.asarray(np.clip(np.round(codes), 0, top - 1), np.uint16)


def texture(form: PictureFormat, seed: int = 1, finest_px: float = 3.0) -> Clip:
    """Return a texture like those of nature: noise that falls as 1 / frequency, without detail below `finest_px`."""
    random = np.random.default_rng(seed)
    spectra = []
    for component in range(1 if form.plane_count == 1 else 3):
        width, height = form.plane_size(min(component, 1))
        shape = (height + 2 * MARGIN, width + 2 * MARGIN)
        frequency = np.hypot(np.fft.fftfreq(shape[0])[:, None], np.fft.fftfreq(shape[1])[None, :])
        weight = np.where(frequency < 1 / finest_px, 1 / np.maximum(frequency, 1 / 128), 0)
        field = np.fft.ifft2(np.fft.fft2(random.standard_normal(shape)) * weight).real
        spectra.append(np.fft.fft2(128 + (field - field.mean()) * 40 / field.std()))
    return Clip(form, spectra)
