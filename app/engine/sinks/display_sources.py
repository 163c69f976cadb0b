"""What a device and a surface have to tell display times by."""

from __future__ import annotations

from app.core.errors import SinkError
from app.engine.vulkan.device import PRESENT_WAIT, SWAPCHAIN_MAINTENANCE, Device
from app.engine.vulkan.display_time import (
    AcquireReturns,
    CallReturns,
    DisplayTimes,
    FeedbackTimes,
    PresentFenceTimes,
    PresentWaits,
)
from app.engine.vulkan.present_timing import PresentTimingTimes
from app.engine.vulkan.present_timing_abi import PRESENT_TIMING, PRESENT_WAIT2, TimingFunctions
from app.engine.vulkan.surface import Surface
from app.engine.vulkan.x_present import XCompletionTimes, XPresentEvents


def list_display_sources(device: Device, surface: Surface) -> list[DisplayTimes]:
    """Return the sources of display times, best first; the last is always there."""
    sources: list[DisplayTimes] = []
    if PRESENT_TIMING in device.extensions:
        sources.append(PresentTimingTimes(TimingFunctions(device.handle)))
    if surface.feedback is not None and surface.feedback.available:
        sources.append(FeedbackTimes(surface.feedback))
    if surface.window_id is not None:
        sources += _x_completions(surface.window_id)
    if {PRESENT_WAIT, PRESENT_WAIT2} & device.extensions:
        sources.append(PresentWaits(device))
    if SWAPCHAIN_MAINTENANCE in device.extensions:
        sources.append(PresentFenceTimes(device))
    return [*sources, AcquireReturns(), CallReturns()]


def _x_completions(window_id: int) -> list[DisplayTimes]:
    try:
        return [XCompletionTimes(XPresentEvents(window_id))]
    except SinkError:
        return []  # this server or system has no Present extension: one source less, and no fault
