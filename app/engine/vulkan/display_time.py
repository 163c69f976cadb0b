"""When a presented picture was shown, as well as this driver can tell: a thread that waits in C and stamps.

The ladder, best first: VK_KHR_present_wait, the present fence of VK_EXT_swapchain_maintenance1, the return of an
acquire that had to wait for the display (FIFO that paces), the return of the present call. Each stamp carries the rung
it came from; a fence says only that presentation has let go of the frame's resources, which is before the picture is
seen.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource, Fate
from app.engine.frame import Frame
from app.engine.vulkan.api import Handle, ffi
from app.engine.vulkan.device import PRESENT_WAIT, SWAPCHAIN_MAINTENANCE, Device
from app.engine.vulkan.render import Submission
from app.engine.vulkan.results import (
    MAX_WAIT_NS,
    OUT_OF_DATE,
    SUBOPTIMAL,
    SUCCESS,
    TIMEOUT,
    DeviceHungError,
    VulkanError,
)

BLOCKED_NS: Final = 250_000
"""An acquire that takes this long has waited for an image; one that finds an image takes tens of microseconds."""

WAIT_SLICE_NS: Final = 50_000_000
"""Longest single wait of the thread, so that it can be ended when a present never completes."""


IDLE_POLL_S: Final = 0.0002


class Presentation:
    """A picture given to the presentation engine, with the frames that are new in it (at most one a tile).

    A tile without a new frame goes on showing the one it has. So when the picture is thrown away, the frames that the
    next picture does not replace are shown by that one: they are handed on to it.

    Attributes:
        frames: what was presented. They are used again once they have settled.
        inherited: frames of pictures thrown away before, which this one shows.
        frame_id: of the first frame as it was presented.
        submission: its GPU work.
        fence: present fence, None without swapchain_maintenance1. present_id: id within `swapchain`.
        call_ns, return_ns: when the present call began and ended, CLOCK_MONOTONIC ns.
        fate: DISPLAYED unless the picture was refused or thrown away.
        displayed_ns: CLOCK_MONOTONIC ns, `NO_STAMP_NS` until known. source: the rung it came from.
        abandoned: nobody waits for the stamp any more.
    """

    __slots__ = (
        "abandoned",
        "call_ns",
        "displayed_ns",
        "fate",
        "fence",
        "frame_id",
        "frames",
        "inherited",
        "present_id",
        "return_ns",
        "source",
        "submission",
        "swapchain",
    )

    def __init__(
        self, frames: Sequence[Frame], submission: Submission, swapchain: Handle, present_id: int, fence: Handle | None
    ) -> None:
        self.frames = frames
        self.inherited: list[Frame] = []
        self.frame_id = frames[0].frame_id
        self.submission = submission
        self.swapchain = swapchain
        self.present_id = present_id
        self.fence = fence
        self.call_ns = NO_STAMP_NS
        self.return_ns = NO_STAMP_NS
        self.fate = Fate.DISPLAYED
        self.displayed_ns = NO_STAMP_NS
        self.source = DisplayTimeSource.NONE
        self.abandoned = False

    def note_submission(self) -> None:
        """Give the frames the GPU times of this picture; its GPU work has finished."""
        for frame in self.frames:
            frame.gpu_start_ns, frame.gpu_end_ns = self.submission.gpu_start_ns, self.submission.gpu_end_ns

    def settle(self, heir: Presentation | None) -> list[Frame]:
        """Return the frames whose fate is that of this picture, with their display time.

        Args:
            heir: the next picture, to which a picture that was thrown away hands on what it does not replace.
        """
        frames = [*self.inherited, *self.frames]
        if self.fate is Fate.DISPLAYED:
            for frame in frames:
                frame.displayed_ns, frame.display_time_source = self.displayed_ns, self.source
        elif heir is not None:
            replaced = {frame.source_index for frame in heir.frames}
            heir.inherited += [frame for frame in frames if frame.source_index not in replaced]
            frames = [frame for frame in frames if frame.source_index in replaced]
        return frames


def best_source(device: Device) -> DisplayTimeSource:
    """Return the best rung of the ladder that this device has."""
    if PRESENT_WAIT in device.extensions:
        return DisplayTimeSource.PRESENT_WAIT
    if SWAPCHAIN_MAINTENANCE in device.extensions:
        return DisplayTimeSource.PRESENT_FENCE
    return DisplayTimeSource.CALL_RETURN


class AcquireReturns:
    """Display times of a saturated FIFO from the returns of acquire, for drivers that tell nothing better.

    With K images, an acquire that had to wait returns at the refresh that freed an image. At that moment one image is
    ours, K − 2 are queued, and the one presented before those has just come onto the screen. An acquire that did not
    wait proves nothing: presentations it passes over keep the return of their present call.
    """

    def __init__(self, image_count: int) -> None:
        self._queued = max(0, image_count - 2)
        self._unstamped: deque[Presentation] = deque()

    def presented(self, presentation: Presentation) -> None:
        """Take note of a present, in order."""
        self._unstamped.append(presentation)

    def acquired(self, called_ns: int, returned_ns: int) -> None:
        """Stamp what an acquire proves. Both times are CLOCK_MONOTONIC ns."""
        waited = returned_ns - called_ns >= BLOCKED_NS
        while len(self._unstamped) > self._queued:
            presentation = self._unstamped.popleft()
            if waited and len(self._unstamped) == self._queued:
                presentation.source = DisplayTimeSource.ACQUIRE_RETURN
                presentation.displayed_ns = returned_ns
            else:
                stamp_call_return(presentation)

    def give_up(self) -> None:
        """Stamp what is left with the return of its present call: no acquire will follow."""
        while self._unstamped:
            stamp_call_return(self._unstamped.popleft())


def stamp_call_return(presentation: Presentation) -> None:
    """Give a presentation the last rung: it was shown some time after its present call returned."""
    presentation.source = DisplayTimeSource.CALL_RETURN
    presentation.displayed_ns = presentation.return_ns


class DisplayWatcher:
    """Stamps presentations in order. The thread holds the GIL for a few microseconds a frame and is blocked in C else.

    Attributes:
        source: the rung in use.
        fault: the error that ended the watching (device lost), None while all is well.
    """

    def __init__(self, device: Device) -> None:
        self._device = device
        self.source = best_source(device)
        self.fault: VulkanError | None = None
        self._queue: queue.SimpleQueue[Presentation | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._fences = ffi.new("VkFence[1]")
        self._given = 0
        self._stamped = 0
        if self.source is not DisplayTimeSource.CALL_RETURN:
            self._thread = threading.Thread(target=self._run, name="display-watcher", daemon=True)
            self._thread.start()

    def watch(self, presentation: Presentation) -> None:
        """Stamp this presentation when it is shown; at once where the driver can tell nothing."""
        if self._thread is None:
            stamp_call_return(presentation)
        else:
            self._given += 1
            self._queue.put(presentation)

    def wait_idle(self) -> None:
        """Wait until every presentation given is stamped; abandoned ones take at most `WAIT_SLICE_NS` each.

        Raises:
            DeviceHungError: the driver does not come back from a wait that was to end.
        """
        deadline_ns = time.monotonic_ns() + MAX_WAIT_NS
        while self._stamped < self._given:
            if time.monotonic_ns() > deadline_ns:
                raise DeviceHungError
            time.sleep(IDLE_POLL_S)

    def close(self) -> None:
        """End the thread; presentations it has not stamped stay unstamped."""
        if self._thread is not None:
            self._queue.put(None)
            self._thread.join()
            self._thread = None

    def _run(self) -> None:
        while (presentation := self._queue.get()) is not None:
            self._stamp(presentation)
            self._stamped += 1

    def _stamp(self, presentation: Presentation) -> None:
        while True:
            code = self._wait(presentation)
            if code != TIMEOUT or presentation.abandoned:
                break
        now_ns = time.monotonic_ns()
        if code in (SUCCESS, SUBOPTIMAL):
            presentation.source = self.source
            presentation.displayed_ns = now_ns
        elif code in (TIMEOUT, OUT_OF_DATE):
            stamp_call_return(presentation)
        else:
            self.fault = VulkanError(code, "waiting for a present")

    def _wait(self, presentation: Presentation) -> int:
        functions, device = self._device.functions, self._device.handle
        if self.source is DisplayTimeSource.PRESENT_WAIT:
            return int(
                functions.vkWaitForPresentKHR(device, presentation.swapchain, presentation.present_id, WAIT_SLICE_NS)
            )
        self._fences[0] = presentation.fence
        return int(functions.vkWaitForFences(device, 1, self._fences, 1, WAIT_SLICE_NS))
