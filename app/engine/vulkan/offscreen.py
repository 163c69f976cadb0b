"""Uploads and converts pictures into images of its own: the GPU half of the virtual display."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from app.config.model import CommandBuffers
from app.engine.frame import Frame
from app.engine.picture import Picture, PictureFormat
from app.engine.vulkan import api
from app.engine.vulkan.capture import Captures, PendingCapture, capture_target
from app.engine.vulkan.device import Device
from app.engine.vulkan.gpu_clock import ClockState, GpuClock
from app.engine.vulkan.in_flight import Submission
from app.engine.vulkan.instance import Instance, open_instance
from app.engine.vulkan.memory import DeviceImage
from app.engine.vulkan.physical_device import choose_physical_device
from app.engine.vulkan.render import Renderer
from app.engine.vulkan.results import MAX_WAIT_NS, DeviceHungError
from app.engine.vulkan.targets import RenderTarget

FRAMES_IN_FLIGHT: Final = 3
TICKETS_KEPT: Final = 256


class OffscreenRenderer:
    """Draws into `image_count` images of one size. Owned by the present thread, save `upload` (process thread).

    A ticket names one rendered frame; the times of the last `TICKETS_KEPT` are kept. It owns the instance it is given,
    also when it cannot be made.
    """

    def __init__(
        self, instance: Instance, image_count: int, width: int, height: int, device: str, tiles: int = 1
    ) -> None:
        self._instance = instance
        self._size = (width, height)
        self._images: list[DeviceImage] = []
        self._targets: list[RenderTarget] = []
        self._submissions: deque[Submission] = deque(maxlen=TICKETS_KEPT)
        self._next_ticket = 0
        self._captures = Captures()
        with ExitStack() as stack:
            stack.callback(instance.close)
            physical, family = choose_physical_device(instance, None, device)
            self._device = Device(instance, physical, family, presents=False)
            stack.callback(self._device.close)
            clock = GpuClock(self._device, instance)
            stack.callback(clock.close)
            rgba = api.vk.VK_FORMAT_R8G8B8A8_UNORM
            self._renderer = Renderer(self._device, clock, rgba, FRAMES_IN_FLIGHT, tiles)
            stack.callback(self._renderer.close)
            stack.callback(self._close_images)
            stack.callback(self._device.wait_idle)
            stack.callback(self._captures.close)
            self.rebuild(image_count)
            self._parts = stack.pop_all()

    @property
    def width(self) -> int:
        """Return the width of the images in pixels."""
        return self._size[0]

    @property
    def height(self) -> int:
        """Return the height of the images in pixels."""
        return self._size[1]

    @property
    def device_name(self) -> str:
        """Return the Vulkan device's name."""
        return self._device.physical.name

    @property
    def device_is_software(self) -> bool:
        """Tell whether the device is a CPU implementation."""
        return self._device.physical.is_software

    @property
    def gpu_clock(self) -> ClockState | None:
        """Return how the GPU's clock stands to CLOCK_MONOTONIC, None without calibration. From any thread."""
        return self._renderer.clock.state

    @property
    def device_uuid(self) -> str:
        """Return the device's uuid, hyphenated hexadecimal."""
        return self._device.physical.uuid

    @property
    def pci_bus_id(self) -> str:
        """Return `0000:01:00.0`, or "" when unknown."""
        return self._device.physical.pci_bus_id

    @property
    def recordings(self) -> int:
        """Return how many command buffers were recorded so far."""
        return self._renderer.recordings

    def set_command_buffers(self, mode: CommandBuffers) -> None:
        """Record command buffers anew for each picture, or reuse them, from the next picture on."""
        self._renderer.set_command_buffers(mode)

    def prepare(self, picture_format: PictureFormat, slots: int, tile: int = 0) -> None:
        """Make room for `slots` pictures of a format; a new format rebuilds the conversion (nothing in flight then)."""
        self._renderer.prepare(picture_format, slots, tile)

    def upload(self, picture: Picture, slot: int, tile: int = 0) -> int:
        """Copy a picture into a tile's staging slot and return the bytes copied."""
        return self._renderer.upload(picture, slot, tile)

    def prepare_interpolation(self, tile: int = 0) -> None:
        """Make ready to make pictures up in a tile that is prepared."""
        self._renderer.prepare_interpolation(tile)

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call: why pictures are not made up."""
        return self._renderer.take_notices()

    def render(self, frames: Sequence[Frame], image_index: int) -> int:
        """Submit the drawing of all tiles, with `frames` as what is new, into an image and return its ticket.

        It never waits for the GPU work of this picture.

        With `FRAMES_IN_FLIGHT` frames in work already it waits for the oldest of them.

        Raises:
            SinkError: the device is lost or hangs.
        """
        context = self._renderer.next_context()
        if not self._renderer.wait_free(context, time.monotonic_ns() + MAX_WAIT_NS):
            raise DeviceHungError
        self._renderer.record(context, frames, self._targets[image_index])
        self._submissions.append(self._renderer.queue(context, None))
        self._next_ticket += 1
        return self._next_ticket - 1

    def gpu_times(self, ticket: int) -> tuple[int, int] | None:
        """Return when the GPU began and ended a frame, CLOCK_MONOTONIC ns; None while it runs.

        Both are `NO_STAMP_NS` where the driver cannot map its clock.

        Raises:
            KeyError: the ticket is older than those kept.
        """
        submission = self._submission(ticket)
        if not self._renderer.poll(submission):
            return None
        return submission.gpu_start_ns, submission.gpu_end_ns

    def wait(self, ticket: int, timeout_ns: int) -> bool:
        """Wait until the GPU is done with a frame; False on time-out."""
        return self._renderer.wait(self._submission(ticket), timeout_ns)

    def start_capture(self, image_index: int, path: Path) -> PendingCapture:
        """Begin to write an image that was rendered into as PNG; a thread waits for the GPU and writes the file.

        Raises:
            SinkError: the device is lost.
        """
        capture = capture_target(self._renderer, self._targets[image_index], path)
        self._captures.add(capture)
        return capture

    def rebuild(self, image_count: int) -> None:
        """Have `image_count` images; those that stay keep what they show. Waits for all work."""
        vk = api.vk
        self._device.wait_idle()
        self._close_images(image_count)
        usage = vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | vk.VK_IMAGE_USAGE_TRANSFER_SRC_BIT
        while len(self._images) < image_count:
            image = DeviceImage(self._device, self._renderer.target_format, *self._size, usage)
            self._images.append(image)
            self._targets.append(
                RenderTarget(image.handle, image.view, self._size, vk.VK_IMAGE_LAYOUT_TRANSFER_SRC_OPTIMAL)
            )

    def validation_messages(self) -> list[str]:
        """Return what the validation layer said so far."""
        return self._instance.validation_messages()

    def live_objects(self) -> dict[str, int]:
        """Return kind → number of Vulkan objects alive."""
        return self._instance.live_objects()

    def close(self) -> None:
        """Free everything. A second call does nothing."""
        self._parts.close()

    def _submission(self, ticket: int) -> Submission:
        age = self._next_ticket - ticket
        if not 1 <= age <= len(self._submissions):
            raise KeyError(f"ticket {ticket} is not among the last {len(self._submissions)}")
        return self._submissions[-age]

    def _close_images(self, kept: int = 0) -> None:
        self._renderer.forget_targets()
        for image in self._images[kept:]:
            image.close()
        del self._images[kept:]
        del self._targets[kept:]


def open_offscreen_renderer(
    image_count: int, width: int, height: int, *, validation: bool, device: str, tiles: int = 1
) -> OffscreenRenderer:
    """Return a renderer on the best device (or the one `device` names) with `image_count` images of 1–9 tiles.

    Raises:
        SinkError: no Vulkan, or no device that fits; the text says what to do.
    """
    return OffscreenRenderer(open_instance(validation=validation), image_count, width, height, device, tiles)
