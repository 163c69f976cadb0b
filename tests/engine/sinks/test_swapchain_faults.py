"""Each Vulkan call of the swapchain sink fails in turn: the sink goes on, or says in a sentence why it cannot."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

from app.config.sink_text import HeadlessSpec, SurfaceSpec, X11Spec
from app.core.errors import SinkError
from app.core.vocabulary import Fate, PresentMode
from app.engine.frame import Frame
from app.engine.picture import PictureFormat
from app.engine.sinks import swapchain
from app.engine.sinks.sink import SinkRequest
from app.engine.sinks.swapchain import SwapchainSink, open_swapchain_sink
from app.engine.vulkan import pacing
from app.engine.vulkan.instance import Instance, open_instance
from app.engine.vulkan.present_timing_abi import TIMING_QUEUE_FULL
from app.engine.vulkan.results import (
    DEVICE_LOST,
    NOT_READY,
    OUT_OF_DATE,
    OUT_OF_HOST_MEMORY,
    SUBOPTIMAL,
    SURFACE_LOST,
    TIMEOUT,
    DeviceHungError,
)
from tests.engine.vulkan import reference
from tests.engine.vulkan.faults import LOSES_DEVICE, NAMES, FaultyDriver, no_hang, strikes

SECOND_NS: Final = 1_000_000_000
FORM = reference.picture_format(64, 48)
OTHER_FORM = reference.picture_format(32, 24)
PICTURES = {form: reference.make_picture(form, reference.random_codes(form)) for form in (FORM, OTHER_FORM)}
SLOTS: Final = 3

OF_FRAMES: Final = (
    "vkAcquireNextImageKHR", "vkBeginCommandBuffer", "vkEndCommandBuffer", "vkGetFenceStatus", "vkGetQueryPoolResults",
    "vkQueuePresentKHR", "vkQueueSubmit", "vkResetFences", "vkWaitForFences",
)  # fmt: skip
OF_BUILDING: Final = (
    "vkAllocateCommandBuffers", "vkAllocateDescriptorSets", "vkAllocateMemory", "vkBindBufferMemory",
    "vkBindImageMemory", "vkCreateBuffer", "vkCreateCommandPool", "vkCreateDebugUtilsMessengerEXT",
    "vkCreateDescriptorPool", "vkCreateDescriptorSetLayout", "vkCreateDevice", "vkCreateFence",
    "vkCreateGraphicsPipelines", "vkCreateImage", "vkCreateImageView", "vkCreateInstance", "vkCreatePipelineLayout",
    "vkCreateQueryPool", "vkCreateSampler", "vkCreateSemaphore", "vkCreateShaderModule", "vkCreateSwapchainKHR",
    "vkDeviceWaitIdle", "vkEnumerateDeviceExtensionProperties", "vkEnumerateInstanceExtensionProperties",
    "vkEnumerateInstanceLayerProperties", "vkEnumeratePhysicalDevices", "vkGetCalibratedTimestampsEXT",
    "vkGetPhysicalDeviceCalibrateableTimeDomainsEXT", "vkGetPhysicalDeviceSurfaceCapabilities2KHR",
    "vkGetPhysicalDeviceSurfaceCapabilitiesKHR", "vkGetPhysicalDeviceSurfaceFormatsKHR",
    "vkGetPhysicalDeviceSurfacePresentModesKHR", "vkGetPhysicalDeviceSurfaceSupportKHR", "vkGetSwapchainImagesKHR",
    "vkMapMemory",
)  # fmt: skip
SURFACES: Final[dict[str, SurfaceSpec]] = {"headless": HeadlessSpec(64, 48), "x11": X11Spec(None, 64, 48)}
OF_SURFACES: Final = {"headless": "vkCreateHeadlessSurfaceEXT", "x11": "vkCreateXcbSurfaceKHR"}

CODES: Final[dict[int, tuple[str, ...]]] = {
    OUT_OF_HOST_MEMORY: (*OF_FRAMES, *OF_BUILDING),
    DEVICE_LOST: LOSES_DEVICE,
    SURFACE_LOST: (
        "vkAcquireNextImageKHR", "vkCreateSwapchainKHR", "vkGetPhysicalDeviceSurfaceCapabilities2KHR",
        "vkGetPhysicalDeviceSurfaceCapabilitiesKHR",
        "vkGetPhysicalDeviceSurfaceFormatsKHR", "vkGetPhysicalDeviceSurfacePresentModesKHR",
        "vkGetPhysicalDeviceSurfaceSupportKHR", "vkQueuePresentKHR",
    ),
    OUT_OF_DATE: ("vkAcquireNextImageKHR", "vkQueuePresentKHR"),
    SUBOPTIMAL: ("vkAcquireNextImageKHR", "vkQueuePresentKHR"),
    TIMEOUT: ("vkAcquireNextImageKHR", "vkWaitForFences"),
    NOT_READY: ("vkAcquireNextImageKHR", "vkGetFenceStatus", "vkGetQueryPoolResults"),
    TIMING_QUEUE_FULL: ("vkQueuePresentKHR",),
}  # fmt: skip
"""What each function may answer by the Vulkan specification, and must be survived."""

HARMLESS: Final = (OUT_OF_DATE, SUBOPTIMAL, TIMEOUT, NOT_READY, TIMING_QUEUE_FULL)
"""These are no faults: nothing may end because of them, and nothing is lost but what was refused."""


class Run:
    """One life of a sink on a driver that fails: open, frames, new mode, new size, new format, capture, close."""

    def __init__(self, driver: FaultyDriver, spec: SurfaceSpec, folder: Path) -> None:
        self.driver = driver
        self.presented = 0
        self.fates: list[Fate] = []
        self.error: SinkError | None = None
        self.messages: list[str] = []
        self._spec = spec
        self._folder = folder
        self._instances: list[Instance] = []

    def live(self) -> None:
        """Do all of it; an error is kept, and the sink is closed and must be empty whatever happened."""
        with pytest.MonkeyPatch.context() as patch:
            self.driver.install(patch)
            patch.setattr(pacing, "DRAIN_S", 0.0)
            patch.setattr(swapchain, "open_instance", self._open_instance)
            try:
                self._live()
            except SinkError as error:
                self.error = error
        for instance in self._instances:
            assert instance.live_objects() == {}
            self.messages += instance.validation_messages()

    def _open_instance(self, *, validation: bool) -> Instance:
        self._instances.append(open_instance(validation=validation))
        return self._instances[-1]

    def _live(self) -> None:
        sink = open_swapchain_sink(self._spec, SinkRequest(PresentMode.FIFO, 3), validation=True, device="")
        try:
            self._prepare(sink, FORM)
            self._show(sink, 5)
            sink.rebuild(SinkRequest(PresentMode.MAILBOX, 5))
            self._show(sink, 3)
            sink.resize(32, 24)
            self._show(sink, 3)
            self._prepare(sink, OTHER_FORM)
            self._show(sink, 2)
            sink.start_capture(self._folder / "shown.png").finish()
            assert sink.acquire(time.monotonic_ns() + SECOND_NS) is not None or self.driver.struck
        finally:
            sink.close()

    def _prepare(self, sink: SwapchainSink, form: PictureFormat) -> None:
        sink.prepare(form, SLOTS)
        for slot in range(SLOTS):
            sink.upload(PICTURES[form], slot)

    def _show(self, sink: SwapchainSink, count: int) -> None:
        for number in range(count):
            image = sink.acquire(time.monotonic_ns() + SECOND_NS)
            if image is None:
                continue
            frame = Frame(self.presented)
            frame.slot = number % SLOTS
            self.presented += 1
            sink.present([frame], image)
            self._settle(sink)
        self.fates += [settled.fate for settled in sink.drain(time.monotonic_ns() + SECOND_NS)]
        assert len(self.fates) + len(sink.pending()) == self.presented

    def _settle(self, sink: SwapchainSink) -> None:
        self.fates += [settled.fate for settled in sink.collect()]


@pytest.fixture(scope="module", params=sorted(SURFACES))
def surface(request: pytest.FixtureRequest, x_display: str) -> str:
    """Name of a kind of surface; the X server is there."""
    return str(request.param)


def test_every_function_that_can_fail_has_its_faults(surface: str, tmp_path: Path) -> None:
    run = Run(FaultyDriver(), SURFACES[surface], tmp_path)
    run.live()
    assert run.error is None
    assert run.fates == [Fate.DISPLAYED] * run.presented
    assert set(run.driver.calls) == {*OF_FRAMES, *OF_BUILDING, OF_SURFACES[surface]}


def cases(surface: str) -> list[tuple[str, int]]:
    return [(name, code) for code, names in CODES.items() for name in names] + [
        (OF_SURFACES[surface], OUT_OF_HOST_MEMORY)
    ]


@pytest.mark.parametrize(
    ("name", "code"), [pytest.param(*case, id=f"{case[0]}-{NAMES[case[1]]}") for case in cases("headless")]
)
def test_a_failing_call_ends_in_recovery_or_in_a_sentence_and_leaves_nothing(
    name: str, code: int, tmp_path: Path
) -> None:
    strikes_everywhere(name, code, "headless", tmp_path)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        pytest.param(*case, id=f"{case[0]}-{NAMES[case[1]]}")
        for case in [*cases("x11")[-1:], ("vkGetPhysicalDeviceSurfaceCapabilities2KHR", SURFACE_LOST)]
    ],
)
def test_a_failing_call_on_a_window_closes_the_window_too(name: str, code: int, tmp_path: Path, x_display: str) -> None:
    strikes_everywhere(name, code, "x11", tmp_path)


def strikes_everywhere(name: str, code: int, surface: str, folder: Path) -> None:
    """Let the fault strike at the first call, the second, one in the middle and the last."""
    counting = Run(FaultyDriver(), SURFACES[surface], folder)
    counting.live()
    count = counting.driver.calls[name]
    for at in strikes(name, count):
        run = Run(FaultyDriver(name, code, at), SURFACES[surface], folder)
        with no_hang(f"{name} answers {NAMES[code]} at call {at}"):
            run.live()
        judge(run, code, f"call {at} of {count}")
        assert run.messages == [], f"call {at} of {count}"


def judge(run: Run, code: int, where: str) -> None:
    if code == TIMEOUT and run.error is not None:
        assert isinstance(run.error, DeviceHungError), where  # a wait of ten seconds that ended so
    elif code in HARMLESS:
        assert run.error is None, where
        assert run.fates.count(Fate.COMPOSITOR_DISCARDED) <= 1, where
    elif run.error is not None:
        assert str(run.error).endswith("."), where
        assert "Vulkan" in str(run.error), where
    else:
        assert set(run.fates) <= {Fate.DISPLAYED, Fate.COMPOSITOR_DISCARDED}, where
