"""A picture given to the presentation engine, and what becomes of its frames."""

from __future__ import annotations

from collections.abc import Sequence

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource, Fate, PresentMode
from app.engine.frame import Frame
from app.engine.vulkan.api import Handle
from app.engine.vulkan.in_flight import Submission

_REPLACING: frozenset[PresentMode] = frozenset(
    {PresentMode.MAILBOX, PresentMode.FIFO_LATEST_READY, PresentMode.IMMEDIATE}
)
"""Modes in which a newer picture takes the place of one that waits."""


class Presentation:
    """A picture given to the presentation engine, with the frames that are new in it (at most one a tile).

    A tile without a new frame goes on showing the one it has. So when the picture is thrown away, the frames that the
    next picture does not replace are shown by that one: they are handed on to it.

    Attributes:
        frames: what was presented. They are used again once they have settled.
        inherited: frames of pictures thrown away before, which this one shows.
        frame_id: of the first frame as it was presented.
        submission: its GPU work.
        present_id: id within its swapchain. serial: position among all pictures of the sink.
        mode: present mode it was given with.
        fence: present fence, None without swapchain_maintenance1.
        call_ns, return_ns: when the present call began and ended, CLOCK_MONOTONIC ns.
        alone: all pictures before it were on the screen when it was given.
        fate: DISPLAYED unless the picture was refused or thrown away.
        displayed_ns: CLOCK_MONOTONIC ns, `NO_STAMP_NS` until known. source: the rung it came from.
    """

    __slots__ = (
        "alone",
        "call_ns",
        "displayed_ns",
        "fate",
        "fence",
        "frame_id",
        "frames",
        "inherited",
        "mode",
        "present_id",
        "return_ns",
        "serial",
        "source",
        "submission",
    )

    def __init__(
        self,
        frames: Sequence[Frame],
        submission: Submission,
        mode: PresentMode,
        *,
        serial: int,
        present_id: int,
        fence: Handle | None,
    ) -> None:
        self.frames = frames
        self.inherited: list[Frame] = []
        self.frame_id = frames[0].frame_id
        self.submission = submission
        self.mode = mode
        self.serial = serial
        self.present_id = present_id
        self.fence = fence
        self.call_ns = NO_STAMP_NS
        self.return_ns = NO_STAMP_NS
        self.alone = False
        self.fate = Fate.DISPLAYED
        self.displayed_ns = NO_STAMP_NS
        self.source = DisplayTimeSource.NONE

    @property
    def is_open(self) -> bool:
        """Tell whether nothing is known yet of its display."""
        return self.displayed_ns == NO_STAMP_NS

    @property
    def is_replaceable(self) -> bool:
        """Tell whether a newer picture may have taken its place."""
        return self.mode in _REPLACING

    def note_call(self, submit_ns: int, call_ns: int, return_ns: int) -> None:
        """Take the stamps of submission and present call, all CLOCK_MONOTONIC ns."""
        self.call_ns, self.return_ns = call_ns, return_ns
        for frame in self.frames:
            frame.submit_ns, frame.present_call_ns, frame.present_return_ns = submit_ns, call_ns, return_ns

    def note_shown(self, displayed_ns: int, source: DisplayTimeSource) -> None:
        """Take the time of its display from a rung of the ladder."""
        self.displayed_ns, self.source = displayed_ns, source

    def note_call_return(self) -> None:
        """Take the last rung: it was shown some time after its present call returned."""
        self.note_shown(self.return_ns, DisplayTimeSource.CALL_RETURN)

    def note_thrown_away(self) -> None:
        """Take that it was never shown: replaced by a newer one, or refused or hidden by the compositor."""
        self.fate = Fate.SUPERSEDED if self.is_replaceable else Fate.COMPOSITOR_DISCARDED
        self.displayed_ns = self.return_ns

    def note_refused(self) -> None:
        """Take that the present call failed: the picture was never queued."""
        self.fate = Fate.COMPOSITOR_DISCARDED
        self.displayed_ns = self.return_ns

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
