"""One swapchain: images, present semaphores, acquire and present by raw calls. A change makes a new one from it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import ExitStack
from types import MappingProxyType
from typing import Any, NamedTuple

from app.core.errors import SinkError
from app.core.vocabulary import PresentMode
from app.engine.vulkan import api
from app.engine.vulkan import present_timing_abi as abi
from app.engine.vulkan.api import Handle, Struct, ffi, lib
from app.engine.vulkan.device import SWAPCHAIN_MAINTENANCE, Device
from app.engine.vulkan.instance import Instance, enumerate_items
from app.engine.vulkan.memory import create_view
from app.engine.vulkan.negotiation import (
    IN_ORDER_MODES,
    PRESENT_MODE_VALUES,
    choose_extent,
    choose_format,
    choose_live_modes,
    grant_image_count,
    grant_mode,
)
from app.engine.vulkan.present_chain import PresentChain, PresentIdWaits, PresentTags, read_present_tags
from app.engine.vulkan.results import TIMEOUT, check
from app.engine.vulkan.targets import RenderTarget
from app.engine.wayland.frame_callbacks import FrameCallbacks


class SurfaceOffer(NamedTuple):
    """What a surface offers at this moment.

    Attributes:
        modes: present modes in the order of `PresentMode`.
        extent: size in pixels, zero when there is nothing to present to.
        least_images, most_images: for the granted mode; most 0 is no limit.
        tags: how presents can be told apart afterwards.
        compatible: modes a swapchain may change to by itself (VK_EXT_swapchain_maintenance1) → least images of each.
    """

    modes: tuple[PresentMode, ...]
    extent: tuple[int, int]
    least_images: int
    most_images: int
    transform: int
    composite_alpha: int
    usage: int
    tags: PresentTags = PresentTags()
    compatible: Mapping[PresentMode, int] = MappingProxyType({})


class SurfaceReader:
    """Asks the driver about a surface.

    Attributes:
        instance, device, surface: whom it asks about what.
        frame_callbacks: tell when a FIFO present will return; None where it always does in the end.
        surface_format: `VkFormat` and `VkColorSpaceKHR` to present in.
    """

    def __init__(
        self, instance: Instance, device: Device, surface: Handle, frame_callbacks: FrameCallbacks | None = None
    ) -> None:
        self.instance = instance
        self.device = device
        self.surface = surface
        self.frame_callbacks = frame_callbacks
        self._physical = device.physical.handle
        self.surface_format = self._choose_format()

    def read(self, wanted: PresentMode, size: tuple[int, int]) -> SurfaceOffer:
        """Return what the surface offers for a present mode (or the nearest it has).

        Args:
            size: wanted size in pixels, used where the surface has none of its own.

        Raises:
            SurfaceLostError: the window is gone.
        """
        modes = self._modes()
        granted = grant_mode(wanted, modes).mode
        capabilities = self._capabilities(granted)
        return SurfaceOffer(
            modes=modes,
            extent=choose_extent(
                _extent(capabilities.currentExtent),
                size,
                _extent(capabilities.minImageExtent),
                _extent(capabilities.maxImageExtent),
            ),
            least_images=self._least_images(granted),
            most_images=capabilities.maxImageCount,
            transform=capabilities.currentTransform,
            composite_alpha=capabilities.supportedCompositeAlpha & -capabilities.supportedCompositeAlpha,
            usage=capabilities.supportedUsageFlags,
            tags=read_present_tags(self.instance, self.device, self.surface),
            compatible={mode: self._least_images(mode) for mode in self._compatible(granted) if mode in modes},
        )

    def _modes(self) -> tuple[PresentMode, ...]:
        values = enumerate_items(
            "VkPresentModeKHR",
            lambda count, out: lib.vkGetPhysicalDeviceSurfacePresentModesKHR(self._physical, self.surface, count, out),
            "vkGetPhysicalDeviceSurfacePresentModesKHR",
        )
        usable = set(values)
        if not self.device.has_latest_ready:
            usable.discard(PRESENT_MODE_VALUES[PresentMode.FIFO_LATEST_READY])
        return tuple(mode for mode in PresentMode if PRESENT_MODE_VALUES[mode] in usable)

    def _least_images(self, mode: PresentMode) -> int:
        """Return the least number of images by both rules: that of the mode, and the older one of the surface as such.

        On Wayland Mesa says 3 for FIFO and 4 for the surface, and the validation layer goes by the latter.
        """
        return max(int(self._capabilities(mode).minImageCount), int(self._plain_capabilities().minImageCount))

    def _plain_capabilities(self) -> Any:
        plain = ffi.new("VkSurfaceCapabilitiesKHR *")
        code = lib.vkGetPhysicalDeviceSurfaceCapabilitiesKHR(self._physical, self.surface, plain)
        check(code, "vkGetPhysicalDeviceSurfaceCapabilitiesKHR")
        return plain

    def _capabilities(self, mode: PresentMode) -> Any:
        """Return `VkSurfaceCapabilitiesKHR`, for one mode where the driver tells them apart."""
        if SWAPCHAIN_MAINTENANCE not in self.device.extensions:
            return self._plain_capabilities()
        of_mode = api.struct("VkSurfacePresentModeEXT", presentMode=PRESENT_MODE_VALUES[mode])
        info = api.struct("VkPhysicalDeviceSurfaceInfo2KHR", pNext=of_mode, surface=self.surface)
        full = api.struct("VkSurfaceCapabilities2KHR")
        get_capabilities = self.instance.functions.vkGetPhysicalDeviceSurfaceCapabilities2KHR
        check(get_capabilities(self._physical, info, full), "vkGetPhysicalDeviceSurfaceCapabilities2KHR")
        return ffi.new("VkSurfaceCapabilitiesKHR *", full.surfaceCapabilities)

    def _compatible(self, mode: PresentMode) -> list[PresentMode]:
        """Return the modes that the driver lists as compatible with one."""
        if SWAPCHAIN_MAINTENANCE not in self.device.extensions:
            return []
        of_mode = api.struct("VkSurfacePresentModeEXT", presentMode=PRESENT_MODE_VALUES[mode])
        info = api.struct("VkPhysicalDeviceSurfaceInfo2KHR", pNext=of_mode, surface=self.surface)
        compatibility = api.struct("VkSurfacePresentModeCompatibilityEXT")
        full = api.struct("VkSurfaceCapabilities2KHR", pNext=compatibility)
        get_capabilities = self.instance.functions.vkGetPhysicalDeviceSurfaceCapabilities2KHR
        check(get_capabilities(self._physical, info, full), "vkGetPhysicalDeviceSurfaceCapabilities2KHR")
        # A driver may leave the struct as it is (Mesa 25 for headless surfaces), so the count is asked for first.
        values = ffi.new("VkPresentModeKHR[]", max(1, compatibility.presentModeCount))
        compatibility.pPresentModes = values
        check(get_capabilities(self._physical, info, full), "vkGetPhysicalDeviceSurfaceCapabilities2KHR")
        listed = {values[index] for index in range(compatibility.presentModeCount)}
        return [each for each in PresentMode if PRESENT_MODE_VALUES[each] in listed]

    def _choose_format(self) -> tuple[int, int]:
        offered = {
            (item.format, item.colorSpace)
            for item in enumerate_items(
                "VkSurfaceFormatKHR",
                lambda count, out: lib.vkGetPhysicalDeviceSurfaceFormatsKHR(self._physical, self.surface, count, out),
                "vkGetPhysicalDeviceSurfaceFormatsKHR",
            )
        }
        chosen = choose_format(offered)
        if chosen is None:
            raise SinkError(
                "The window's surface offers no 8-bit UNORM format; use a window of 24 or 32 bits depth, or --sink "
                "headless."
            )
        return chosen


class Swapchain:
    """A swapchain of one size, present mode and image count.

    Attributes:
        handle: `VkSwapchainKHR`. offer: what the surface offered when it was made.
        mode: granted present mode. live_modes: modes it can change to by itself.
        extent: width and height of the images. targets: one an image.
        presents: how many presents it has taken, also the newest present id.
        tags: what its presents carry; where they can be waited for, `wait_for_present` does it.
        paces: its FIFO is known to wait for the display; whoever finds that out sets it.
    """

    def __init__(
        self, reader: SurfaceReader, offer: SurfaceOffer, mode: PresentMode, min_images: int, old: Swapchain | None
    ) -> None:
        device = reader.device
        self._device = device
        self._frame_callbacks = reader.frame_callbacks
        self.offer = offer
        self.mode, self.grant_reason = grant_mode(mode, offer.modes)
        self.extent = offer.extent
        info = _swapchain_info(reader.surface, reader.surface_format, offer, self.mode, min_images)
        self.live_modes = choose_live_modes(offer.compatible, info.minImageCount)
        modes = _live_modes_info(self.live_modes)
        if self.mode in self.live_modes:
            info.pNext = modes
        else:
            self.live_modes = ()
        if old is not None:
            info.oldSwapchain = old.handle
        with ExitStack() as stack:
            with reader.instance.racing_extent():
                self.handle: Handle = self._create(stack, "SwapchainKHR", info)
            images = enumerate_items(
                "VkImage",
                lambda count, out: device.functions.vkGetSwapchainImagesKHR(device.handle, self.handle, count, out),
                "vkGetSwapchainImagesKHR",
            )
            self.targets = [self._make_target(stack, image, reader.surface_format[0]) for image in images]
            # One present semaphore per image, not per frame in flight: presentation may still wait on it after the
            # frame's fence has signalled; acquiring the image again proves that it does not any more.
            self.present_semaphores = [
                self._create(stack, "Semaphore", api.struct("VkSemaphoreCreateInfo")) for _ in images
            ]
            self._parts = stack.pop_all()
        self.presents = 0
        self.tags = offer.tags
        self._waits = PresentIdWaits(device, abi.TimingFunctions(device.handle))
        self._chain = PresentChain(device, offer.tags)
        self.paces = False
        self._index = ffi.new("uint32_t *")
        self._prepare_present()

    def acquire(self, semaphore: Handle, timeout_ns: int) -> tuple[int, int]:
        """Return the result code and, for SUCCESS and SUBOPTIMAL, the index of an image.

        A FIFO present of a hidden window may never return (Wayland without wp_fifo_manager_v1): Mesa waits in it for
        the frame callback of the picture before. Waiting here, with a limit and before a picture is chosen, costs no
        refresh, and the picture is the fresher for it.
        """
        callbacks = self._awaited_callbacks()
        if callbacks is not None:
            deadline_ns = time.monotonic_ns() + timeout_ns
            if not callbacks.wait(deadline_ns):
                return TIMEOUT, 0
            timeout_ns = max(0, deadline_ns - time.monotonic_ns())
        code = self._device.functions.vkAcquireNextImageKHR(
            self._device.handle, self.handle, timeout_ns, semaphore, ffi.NULL, self._index
        )
        return code, self._index[0]

    def present(self, image_index: int, fence: Handle | None) -> int:
        """Queue an image for display and return the result code; waits for the image's present semaphore.

        Args:
            fence: signalled when presentation has let go of the image's resources (VK_EXT_swapchain_maintenance1).
        """
        self._indices[0] = image_index
        self._semaphores[0] = self.present_semaphores[image_index]
        self.presents += 1
        callbacks = self._awaited_callbacks()
        if callbacks is not None:
            callbacks.request()
        self._info.pNext = self._chain.link(self.presents, fence)
        code = self._queue_present()
        if code == abi.TIMING_QUEUE_FULL:
            self._info.pNext = self._chain.link(self.presents, fence, timed=False)
            code = self._queue_present()
        self._chain.presented()
        if callbacks is not None and code < 0:
            callbacks.withdraw()
        return code

    def change_mode(self, mode: PresentMode, grant_reason: str) -> None:
        """Present in another of the `live_modes` from the next present on."""
        self.grant_reason = grant_reason
        if mode is not self.mode:
            self.mode = mode
            self._chain.change_mode(PRESENT_MODE_VALUES[mode])

    def ask_for_timing(self, time_domain: int) -> None:
        """Let the next present be one whose display time is told (VK_EXT_present_timing)."""
        self._chain.ask_for_timing(time_domain)

    def wait_for_present(self, present_id: int, timeout_ns: int) -> int:
        """Wait until a picture (or a later one) is on the screen and return the result code; one thread at a time."""
        return self._waits.wait(self.handle, self.tags, present_id, timeout_ns)

    def close(self) -> None:
        """Free it; nothing may be drawn into or presented from it any more."""
        self._parts.close()

    def _make_target(self, stack: ExitStack, image: Handle, image_format: int) -> RenderTarget:
        view = create_view(self._device, image, image_format)
        stack.callback(self._device.destroy, "ImageView", view)
        return RenderTarget(image, view, self.extent, api.vk.VK_IMAGE_LAYOUT_PRESENT_SRC_KHR)

    def _create(self, stack: ExitStack, kind: str, info: Struct) -> Handle:
        handle = self._device.create(kind, info)
        stack.callback(self._device.destroy, kind, handle)
        return handle

    def _queue_present(self) -> int:
        return int(self._device.functions.vkQueuePresentKHR(self._device.queue, self._info))

    def _awaited_callbacks(self) -> FrameCallbacks | None:
        return self._frame_callbacks if self.mode in IN_ORDER_MODES else None

    def _prepare_present(self) -> None:
        """Make the structs of a present once; their constructors cost more than the call."""
        self._indices = ffi.new("uint32_t[1]")
        self._semaphores = ffi.new("VkSemaphore[1]")
        self._info = api.struct(
            "VkPresentInfoKHR",
            waitSemaphoreCount=1,
            pWaitSemaphores=self._semaphores,
            swapchainCount=1,
            pSwapchains=ffi.new("VkSwapchainKHR[]", [self.handle]),
            pImageIndices=self._indices,
        )


def _swapchain_info(
    surface: Handle, surface_format: tuple[int, int], offer: SurfaceOffer, mode: PresentMode, images: int
) -> Struct:
    vk = api.vk
    usage = vk.VK_IMAGE_USAGE_COLOR_ATTACHMENT_BIT | (offer.usage & vk.VK_IMAGE_USAGE_TRANSFER_DST_BIT)
    return api.struct(
        "VkSwapchainCreateInfoKHR",
        flags=offer.tags.create_flags,
        surface=surface,
        minImageCount=grant_image_count(images, offer.least_images, offer.most_images),
        imageFormat=surface_format[0],
        imageColorSpace=surface_format[1],
        imageExtent={"width": offer.extent[0], "height": offer.extent[1]},
        imageArrayLayers=1,
        imageUsage=usage,
        preTransform=offer.transform,
        compositeAlpha=offer.composite_alpha,
        presentMode=PRESENT_MODE_VALUES[mode],
        clipped=1,
    )


def _live_modes_info(modes: tuple[PresentMode, ...]) -> Struct:
    values = ffi.new("VkPresentModeKHR[]", [PRESENT_MODE_VALUES[mode] for mode in modes])
    return api.struct("VkSwapchainPresentModesCreateInfoEXT", presentModeCount=len(modes), pPresentModes=values)


def _extent(extent: Any) -> tuple[int, int]:
    return int(extent.width), int(extent.height)
