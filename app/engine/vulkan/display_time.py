"""Sources of display times, each a rung of the ladder: what this driver can tell about when a picture was shown.

Best first: VK_EXT_present_timing, the compositor's presentation feedback, X Present completion, present_wait(2), the
present fence of VK_EXT_swapchain_maintenance1, the return of an acquire that had to wait for the display (FIFO that
paces), the return of the present call. A fence says only that presentation has let go of the frame's resources, which
is before the picture is seen. `DisplayLadder` chooses among them.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Final, NamedTuple

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource
from app.engine.vulkan.api import ffi
from app.engine.vulkan.device import Device
from app.engine.vulkan.negotiation import IN_ORDER_MODES
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.results import (
    MAX_WAIT_NS,
    OUT_OF_DATE,
    SUBOPTIMAL,
    SUCCESS,
    TIMEOUT,
    DeviceHungError,
    VulkanError,
)
from app.engine.vulkan.swapchain import Swapchain
from app.engine.wayland.feedback import PresentationFeedback

BLOCKED_NS: Final = 250_000
"""An acquire that takes this long has waited for an image; one that finds an image takes tens of microseconds."""

WAIT_SLICE_NS: Final = 50_000_000
"""Longest single wait of the thread, so that it can be ended when a present never completes."""

IDLE_POLL_S: Final = 0.0002

OVERTAKEN: Final = 16
"""A picture not spoken of when one so many presents younger was shown is not spoken of any more."""


class Shown(NamedTuple):
    """What a source says of a picture.

    Attributes:
        displayed_ns: CLOCK_MONOTONIC ns, `NO_STAMP_NS` where it cannot tell.
        refresh_ns: refresh period as the display side names it; 0 is unknown.
        discarded: the picture was never shown.
    """

    presentation: Presentation
    displayed_ns: int
    refresh_ns: int = 0
    discarded: bool = False


class DisplayTimes:
    """A source of display times. All methods belong to the present thread.

    Attributes:
        source: its rung.
        is_usable: it can speak of the pictures of the swapchain in use.
        needs_proof: it may be silent or speak of something else, so that it is heard beside another source until it has
            proven itself.
    """

    source: DisplayTimeSource
    is_usable: bool = True
    needs_proof: bool = False

    def rebuilt(self, swapchain: Swapchain) -> None:
        """Take note of the swapchain in use from now on, or of its new present mode."""

    def before_present(self, presentation: Presentation) -> None:
        """Do what must be done directly before the present call, which may fail."""

    def presented(self, presentation: Presentation) -> None:
        """Take a picture that was accepted; `collect` will speak of it."""
        raise NotImplementedError

    def acquired(self, called_ns: int, returned_ns: int) -> None:
        """Take the times of an acquire that gave an image."""

    def collect(self) -> Sequence[Shown]:
        """Return what became known; never blocks.

        Raises:
            VulkanError: the device is lost.
        """
        raise NotImplementedError

    def give_up(self) -> None:
        """Let `collect` speak of what only another present or acquire would tell: none follows for now."""

    def abandon(self) -> None:
        """Let `collect` speak of every picture: nobody waits any longer. It may take `WAIT_SLICE_NS`.

        Raises:
            DeviceHungError: the driver does not come back from a wait that was to end.
        """

    def close(self) -> None:
        """Free what the source holds; pictures it has not spoken of stay open."""


class CallReturns(DisplayTimes):
    """The last rung: a picture is shown some time after its present call returned."""

    source = DisplayTimeSource.CALL_RETURN

    def __init__(self) -> None:
        self._shown: list[Shown] = []

    def presented(self, presentation: Presentation) -> None:
        """Take the return of the present call."""
        self._shown.append(Shown(presentation, presentation.return_ns))

    def collect(self) -> Sequence[Shown]:
        """Return what was presented since the last call."""
        shown, self._shown = self._shown, []
        return shown


class AcquireReturns(DisplayTimes):
    """Display times of a saturated FIFO from the returns of acquire, for drivers that tell nothing better.

    With K images, an acquire that had to wait returns at the refresh that freed an image. At that moment one image is
    ours, K − 2 are queued, and the one presented before those has just come onto the screen. An acquire that did not
    wait proves nothing: presentations it passes over keep the return of their present call.
    """

    source = DisplayTimeSource.ACQUIRE_RETURN

    def __init__(self) -> None:
        self._queued = 0
        self._unstamped: deque[Presentation] = deque()
        self._shown: list[Shown] = []

    def rebuilt(self, swapchain: Swapchain) -> None:
        """Only a FIFO that paces makes acquires wait for the display."""
        self._queued = max(0, len(swapchain.targets) - 2)
        self.is_usable = swapchain.paces and swapchain.mode in IN_ORDER_MODES

    def presented(self, presentation: Presentation) -> None:
        """Take note of a present, in order."""
        self._unstamped.append(presentation)

    def acquired(self, called_ns: int, returned_ns: int) -> None:
        """Stamp what an acquire proves."""
        waited = returned_ns - called_ns >= BLOCKED_NS
        while len(self._unstamped) > self._queued:
            presentation = self._unstamped.popleft()
            proven = waited and len(self._unstamped) == self._queued
            self._shown.append(Shown(presentation, returned_ns if proven else NO_STAMP_NS))

    def collect(self) -> Sequence[Shown]:
        """Return what acquires have proven or passed over."""
        shown, self._shown = self._shown, []
        return shown

    def give_up(self) -> None:
        """No acquire will follow: nothing more can be proven."""
        while self._unstamped:
            self._shown.append(Shown(self._unstamped.popleft(), NO_STAMP_NS))

    def abandon(self) -> None:
        """The same as giving up."""
        self.give_up()


class WaitedTimes(DisplayTimes):
    """Stamps pictures in order on a thread of its own, when a wait in the driver ends.

    The thread starts with the first picture; it holds the GIL for a few microseconds a picture and is blocked in C
    else.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self._fault: VulkanError | None = None
        self._queue: queue.SimpleQueue[Presentation | None] = queue.SimpleQueue()
        self._shown: deque[Shown] = deque()
        self._thread: threading.Thread | None = None
        self._given = 0
        self._answered = 0
        self._abandoning = False

    def presented(self, presentation: Presentation) -> None:
        """Hand a picture to the thread."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"{self.source.label}-watcher", daemon=True)
            self._thread.start()
        self._given += 1
        self._queue.put(presentation)

    def collect(self) -> Sequence[Shown]:
        """Return the pictures whose waits have ended.

        Raises:
            VulkanError: the device is lost.
        """
        if self._fault is not None:
            raise self._fault
        return [self._shown.popleft() for _ in range(len(self._shown))] if self._shown else ()

    def abandon(self) -> None:
        """End the waits: each of them takes `WAIT_SLICE_NS` at most.

        Raises:
            DeviceHungError: the driver does not come back.
        """
        deadline_ns = time.monotonic_ns() + MAX_WAIT_NS
        self._abandoning = True
        while self._answered < self._given and self._fault is None:
            if time.monotonic_ns() > deadline_ns:
                raise DeviceHungError
            time.sleep(IDLE_POLL_S)
        self._abandoning = False

    def close(self) -> None:
        """End the thread."""
        if self._thread is not None:
            self._abandoning = True
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while self._fault is None and (presentation := self._queue.get()) is not None:
            self._watch(presentation)
            self._answered += 1

    def _watch(self, presentation: Presentation) -> None:
        while True:
            code = self._wait(presentation)
            if code != TIMEOUT or self._abandoning:
                break
        now_ns = time.monotonic_ns()
        if code in (SUCCESS, SUBOPTIMAL):
            self._shown.append(Shown(presentation, now_ns))
        elif code in (TIMEOUT, OUT_OF_DATE):
            self._shown.append(Shown(presentation, NO_STAMP_NS))
        else:
            self._fault = VulkanError(code, "waiting for a present")

    def _wait(self, presentation: Presentation) -> int:
        """Wait for `WAIT_SLICE_NS` at most and return the result code."""
        raise NotImplementedError


class PresentWaits(WaitedTimes):
    """VK_KHR_present_wait, or VK_KHR_present_wait2 where the swapchain was made for it."""

    source = DisplayTimeSource.PRESENT_WAIT

    def rebuilt(self, swapchain: Swapchain) -> None:
        """Only a swapchain whose presents carry an id can be waited for."""
        self._wait_for = swapchain.wait_for_present
        self.is_usable = swapchain.tags.can_wait

    def _wait(self, presentation: Presentation) -> int:
        return self._wait_for(presentation.present_id, WAIT_SLICE_NS)


class PresentFenceTimes(WaitedTimes):
    """The present fence of VK_EXT_swapchain_maintenance1."""

    source = DisplayTimeSource.PRESENT_FENCE

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self._fences = ffi.new("VkFence[1]")

    def _wait(self, presentation: Presentation) -> int:
        self._fences[0] = presentation.fence
        return int(self._device.functions.vkWaitForFences(self._device.handle, 1, self._fences, 1, WAIT_SLICE_NS))


class FeedbackTimes(DisplayTimes):
    """The Wayland compositor's presentation feedback."""

    source = DisplayTimeSource.PRESENTATION_FEEDBACK

    def __init__(self, feedback: PresentationFeedback) -> None:
        self._feedback = feedback
        self._open: dict[int, Presentation] = {}
        self._unanswered: list[Shown] = []

    def before_present(self, presentation: Presentation) -> None:
        """Ask for the feedback on the picture that the present call commits."""
        self._feedback.request(presentation.serial)

    def presented(self, presentation: Presentation) -> None:
        """Wait for the answer on this picture."""
        self._open[presentation.serial] = presentation

    def collect(self) -> Sequence[Shown]:
        """Return what the compositor has answered."""
        shown, self._unanswered = self._unanswered, []
        while (answer := self._feedback.take()) is not None:
            presentation = self._open.pop(answer.number, None)
            if presentation is None:
                continue  # its present failed, or it was abandoned
            stamp_ns = NO_STAMP_NS if answer.discarded else answer.displayed_ns
            shown.append(Shown(presentation, stamp_ns, answer.refresh_ns, answer.discarded))
            if not answer.discarded:
                shown += overtaken(self._open, answer.number)
        return shown

    def abandon(self) -> None:
        """Wait for no answer any longer."""
        self._unanswered += [Shown(presentation, NO_STAMP_NS) for presentation in self._open.values()]
        self._open.clear()


def overtaken(open_presentations: dict[int, Presentation], serial: int) -> list[Shown]:
    """Take out the pictures that a display side, which answers in no strict order, has forgotten to speak of.

    Args:
        open_presentations: number → picture, oldest first. serial: number of one that was shown.
    """
    forgotten = []
    while open_presentations:
        oldest = next(iter(open_presentations))
        if serial - oldest < OVERTAKEN:
            break
        forgotten.append(Shown(open_presentations.pop(oldest), NO_STAMP_NS))
    return forgotten
