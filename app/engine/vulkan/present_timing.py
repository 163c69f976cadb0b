"""Display times by VK_EXT_present_timing: the driver's own word on when the first pixel of a picture went out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource
from app.engine.vulkan import present_timing_abi as abi
from app.engine.vulkan.api import Struct
from app.engine.vulkan.display_time import DisplayTimes, Shown, overtaken
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.results import INCOMPLETE, SUCCESS
from app.engine.vulkan.swapchain import Swapchain
from app.engine.wayland.presentation_clock import PresentationClock

QUEUE_SIZE: Final = 64
"""Results that the swapchain keeps for us. A present that finds no room fails, so it is never asked to keep more."""

_READ_AT_ONCE: Final = 16
_MOST_DOMAINS: Final = 16

_CLOCKS: Final = {
    abi.DOMAIN_CLOCK_MONOTONIC: time.CLOCK_MONOTONIC,
    abi.DOMAIN_CLOCK_MONOTONIC_RAW: time.CLOCK_MONOTONIC_RAW,
}
"""`VkTimeDomainKHR` that can be brought to CLOCK_MONOTONIC → clock id, wanted first."""

ToMonotonic = Callable[[int], int]


class PresentTimingTimes(DisplayTimes):
    """Asks for the display time of each present, and reads the answers.

    Drivers began with this extension in 2026, so what it says is compared with the rest before it is believed.
    """

    source = DisplayTimeSource.PRESENT_TIMING
    needs_proof = True

    def __init__(self, functions: abi.TimingFunctions) -> None:
        self._functions = functions
        self.is_usable = False
        self._swapchain: Swapchain | None = None
        self._domain = 0
        self._to_monotonic: ToMonotonic = int
        self._refresh_ns = 0
        self._open: dict[int, Presentation] = {}
        self._asked_id = 0
        self._untold: list[Shown] = []
        self._stages = abi.ffi.new(f"VkPresentStageTimeEXT[{_READ_AT_ONCE}]")
        self._timings = abi.ffi.new(f"VkPastPresentationTimingEXT[{_READ_AT_ONCE}]")
        self._past = abi.struct("VkPastPresentationTimingPropertiesEXT", pPresentationTimings=self._timings)
        self._info = abi.struct("VkPastPresentationTimingInfoEXT")

    def rebuilt(self, swapchain: Swapchain) -> None:
        """Prepare a swapchain that can tell display times in a clock that can be read here."""
        if swapchain is self._swapchain:
            return
        self._swapchain = swapchain
        self._abandon_open()
        self.is_usable = bool(swapchain.tags.timing_stage) and self._prepare(swapchain)

    def before_present(self, presentation: Presentation) -> None:
        """Ask for the time of the present that follows, while there is room for its answer."""
        if self._swapchain is not None and len(self._open) < QUEUE_SIZE:
            self._swapchain.ask_for_timing(self._domain)
            self._asked_id = presentation.present_id

    def presented(self, presentation: Presentation) -> None:
        """Wait for the answer on this picture."""
        if presentation.present_id == self._asked_id:
            self._open[presentation.present_id] = presentation
        else:
            self._untold.append(Shown(presentation, NO_STAMP_NS))

    def collect(self) -> Sequence[Shown]:
        """Return the answers there are."""
        shown, self._untold = self._untold, []
        if self._open:
            self._read(shown)
        return shown

    def abandon(self) -> None:
        """Wait for no answer any longer."""
        self._abandon_open()

    def _abandon_open(self) -> None:
        self._untold += [Shown(presentation, NO_STAMP_NS) for presentation in self._open.values()]
        self._open.clear()

    def _prepare(self, swapchain: Swapchain) -> bool:
        number = abi.handle_number(swapchain.handle)
        self._info.swapchain = number
        if self._functions.vkSetSwapchainPresentTimingQueueSizeEXT(number, QUEUE_SIZE) != SUCCESS:
            return False
        domain = self._choose_domain(number)
        if domain is None:
            return False
        self._domain, clock_id = domain
        self._to_monotonic = PresentationClock(clock_id).to_monotonic_ns
        properties = abi.struct("VkSwapchainTimingPropertiesEXT")
        code = self._functions.vkGetSwapchainTimingPropertiesEXT(number, properties, abi.ffi.NULL)
        self._refresh_ns = int(properties.refreshDuration) if code == SUCCESS else 0
        return True

    def _choose_domain(self, swapchain: int) -> tuple[int, int] | None:
        """Return the id of a time domain of the swapchain and the clock it is, None where there is none we can read."""
        domains = abi.ffi.new(f"int32_t[{_MOST_DOMAINS}]")
        ids = abi.ffi.new(f"uint64_t[{_MOST_DOMAINS}]")
        properties = abi.struct(
            "VkSwapchainTimeDomainPropertiesEXT",
            timeDomainCount=_MOST_DOMAINS,
            pTimeDomains=domains,
            pTimeDomainIds=ids,
        )
        code = self._functions.vkGetSwapchainTimeDomainPropertiesEXT(swapchain, properties, abi.ffi.NULL)
        if code not in (SUCCESS, INCOMPLETE):
            return None
        offered = {int(domains[index]): int(ids[index]) for index in range(properties.timeDomainCount)}
        return next(((offered[domain], clock) for domain, clock in _CLOCKS.items() if domain in offered), None)

    def _read(self, shown: list[Shown]) -> None:
        for index in range(_READ_AT_ONCE):
            timing = self._timings[index]
            timing.sType = abi.STRUCTURE_TYPES["VkPastPresentationTimingEXT"]
            timing.presentStageCount = 1
            timing.pPresentStages = self._stages + index
        self._past.presentationTimingCount = _READ_AT_ONCE
        code = self._functions.vkGetPastPresentationTimingEXT(self._info, self._past)
        if code not in (SUCCESS, INCOMPLETE):
            return
        for index in range(self._past.presentationTimingCount):
            self._take(self._timings[index], shown)

    def _take(self, timing: Struct, shown: list[Shown]) -> None:
        presentation = self._open.pop(int(timing.presentId), None)
        if presentation is None:
            return
        stamp = int(timing.pPresentStages[0].time) if timing.presentStageCount else 0
        if stamp:
            shown.append(Shown(presentation, self._to_monotonic(stamp), self._refresh_ns))
            shown += overtaken(self._open, int(timing.presentId))
        else:
            # A stage without a time was never reached: replaced by a newer picture where the mode does that.
            shown.append(Shown(presentation, NO_STAMP_NS, discarded=presentation.is_replaceable))
