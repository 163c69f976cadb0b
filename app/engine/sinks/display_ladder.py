"""Which source of display times is listened to, the best that is there and believed, and what it says of a picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource, PresentMode
from app.engine.sinks.display_refresh import RefreshTracker
from app.engine.vulkan.display_time import DisplayTimes, Shown
from app.engine.vulkan.plausibility import Flaw, Trust, find_flaw, remember, why_not_believed
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.swapchain import Swapchain

_OUT_OF_QUESTION: Final = (Flaw.BEFORE_CALL, Flaw.FUTURE, Flaw.NOT_RISING)
"""Flaws of a stamp that cannot be the time of its picture; one that comes too soon may be."""


class _Rung:
    """A source and what is thought of it: `is_heard` once it needs no further proof."""

    __slots__ = ("is_heard", "times", "trust")

    def __init__(self, times: DisplayTimes) -> None:
        self.times = times
        self.trust = Trust()
        self.is_heard = not times.needs_proof


class DisplayLadder:
    """The sources of display times of a sink, best first. All methods belong to the present thread.

    Each picture is promised to the source in use when it is presented; only that source's word on it counts. A source
    that needs proof is given the pictures too, and takes over once enough of its stamps are plausible. One whose stamps
    cannot be is given up for good.

    Attributes:
        refreshes: the display's refreshes, as the believed stamps tell them.
    """

    def __init__(self, sources: Sequence[DisplayTimes], refreshes: RefreshTracker) -> None:
        """Take the sources, best first; the last is always usable and never doubted."""
        self._rungs = [_Rung(times) for times in sources]
        self._current = self._rungs[-1]
        self._listening = [self._current]
        self._promised: dict[int, _Rung] = {}
        self._notices: deque[str] = deque()
        self.refreshes = refreshes

    @property
    def source(self) -> DisplayTimeSource:
        """Return the source in use."""
        return self._current.times.source

    def rebuilt(self, swapchain: Swapchain) -> None:
        """Choose anew for another swapchain, or another present mode of this one."""
        for rung in self._rungs:
            rung.times.rebuilt(swapchain)
        self._choose()

    def before_present(self, presentation: Presentation) -> None:
        """Prepare the sources directly before the present call."""
        for rung in self._listening:
            rung.times.before_present(presentation)

    def presented(self, presentation: Presentation) -> None:
        """Take a picture that the driver has accepted."""
        self._promised[presentation.serial] = self._current
        for rung in self._listening:
            rung.times.presented(presentation)

    def acquired(self, called_ns: int, returned_ns: int) -> None:
        """Take the times of an acquire."""
        self._current.times.acquired(called_ns, returned_ns)

    def collect(self, now_ns: int) -> None:
        """Stamp the pictures of which something became known; never blocks.

        Raises:
            VulkanError: the device is lost.
        """
        for rung in self._rungs:
            for shown in rung.times.collect():
                self._take(rung, shown, now_ns)

    def give_up(self) -> None:
        """Nothing is presented for now: wait for nothing that only another present would tell."""
        for rung in self._rungs:
            rung.times.give_up()

    def abandon(self, now_ns: int) -> None:
        """Stamp every picture: nobody waits any longer.

        Raises:
            DeviceHungError: the driver does not come back.
        """
        for rung in self._rungs:
            rung.times.abandon()
        self.collect(now_ns)

    def take_notices(self) -> list[str]:
        """Return what a person should know since the last call; from any thread."""
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def close(self) -> None:
        """End all sources."""
        for rung in self._rungs:
            rung.times.close()

    def _choose(self) -> None:
        """Use the best source, and listen to the better ones that have yet to prove themselves."""
        usable = [rung for rung in self._rungs if rung.times.is_usable and not rung.trust.is_lost]
        before = self._current
        self._current = next(rung for rung in usable if rung.is_heard)
        self._listening = usable[: usable.index(self._current) + 1]
        if self._current is not before:
            before.times.give_up()
            self.refreshes.restart()

    def _take(self, rung: _Rung, shown: Shown, now_ns: int) -> None:
        flaw = self._judge(rung, shown, now_ns)
        presentation = shown.presentation
        if self._promised.get(presentation.serial) is not rung:
            return
        del self._promised[presentation.serial]
        if shown.discarded:
            presentation.note_thrown_away()
        elif shown.displayed_ns == NO_STAMP_NS or flaw in _OUT_OF_QUESTION or rung.trust.is_lost:
            presentation.note_call_return()
        else:
            presentation.note_shown(shown.displayed_ns, rung.times.source)
            if rung is self._current and rung.times.source.is_display_truth:
                self.refreshes.note(presentation, shown.refresh_ns)

    def _judge(self, rung: _Rung, shown: Shown, now_ns: int) -> Flaw:
        """Weigh a stamp of the display side, and draw the consequence for its source."""
        source = rung.times.source
        if shown.displayed_ns == NO_STAMP_NS or not source.is_display_truth or rung.trust.is_lost:
            return Flaw.NONE
        in_order = shown.presentation.mode is PresentMode.FIFO
        spacing_ns = self.refreshes.least_spacing_ns(source, shown.refresh_ns) if in_order else 0.0
        flaw = find_flaw(rung.trust, shown.displayed_ns, shown.presentation.call_ns, now_ns, spacing_ns)
        rung.trust = remember(rung.trust, shown.displayed_ns, flaw)
        if rung.trust.is_lost:
            self._give_up_on(rung)
        elif not rung.is_heard and rung.trust.is_proven:
            rung.is_heard = True
            self._choose()
        return flaw

    def _give_up_on(self, rung: _Rung) -> None:
        self._choose()
        self._notices.append(
            f"The display times of {rung.times.source.label} are not believed: {why_not_believed(rung.trust)}. "
            f"Those of {self._current.times.source.label} are used instead."
        )
