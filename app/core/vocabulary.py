"""Closed sets of terms used by configuration, records and protocol: present modes, frame fates, display-time sources.

Integer values are stored in records, so a value is never reused or renumbered; new members are appended.
"""

from __future__ import annotations

from enum import IntEnum, StrEnum


class PresentMode(StrEnum):
    """Vulkan present modes by their field names (`VkPresentModeKHR`)."""

    FIFO = "FIFO"
    FIFO_RELAXED = "FIFO_RELAXED"
    FIFO_LATEST_READY = "FIFO_LATEST_READY"
    MAILBOX = "MAILBOX"
    IMMEDIATE = "IMMEDIATE"

    @property
    def code(self) -> int:
        """Return the small integer that stands for this mode in a frame record."""
        return PRESENT_MODE_CODES[self]


PRESENT_MODE_CODES: dict[PresentMode, int] = {mode: index + 1 for index, mode in enumerate(PresentMode)}
"""Record code of each present mode; 0 in a record means "not presented"."""

PRESENT_MODE_BY_CODE: dict[int, PresentMode] = {code: mode for mode, code in PRESENT_MODE_CODES.items()}


class LatencyMode(StrEnum):
    """How the scheduler weighs even motion against age."""

    LOW_JITTER = "LOW_JITTER"
    BALANCED = "BALANCED"
    LOW_LATENCY = "LOW_LATENCY"


class OverflowPolicy(StrEnum):
    """What a full frame queue does with the next frame."""

    BLOCK = "block"
    DROP_OLDEST = "drop_oldest"
    DROP_NEWEST = "drop_newest"


class Fate(IntEnum):
    """What became of a frame; exactly one per record. All but DISPLAYED are losses, classes disjoint.

    `encoder_skipped` concerns the encode branch alone and is therefore no fate of a preview frame.
    """

    DISPLAYED = 1
    SOURCE_LATE = 2
    DECODE_OVERFLOW = 3
    QUEUE_OVERFLOW = 4
    DEADLINE_MISSED = 5
    SUPERSEDED = 6
    DECIMATED = 7
    COMPOSITOR_DISCARDED = 8

    @property
    def label(self) -> str:
        """Return the name used in JSON, CSV and Prometheus (`deadline_missed`)."""
        return self.name.lower()


class Governor(IntEnum):
    """Who asked for the lower rate at which a frame was decimated; 0 for nobody."""

    NONE = 0
    PREVIEW_FPS = 1
    THERMAL = 2
    COMPENSATION = 3
    BANDWIDTH = 4

    @property
    def label(self) -> str:
        """Return the name used in events, JSON and CSV (`thermal`)."""
        return self.name.lower()


LOSS_CLASSES: tuple[Fate, ...] = tuple(fate for fate in Fate if fate is not Fate.DISPLAYED)


class DisplayTimeSource(IntEnum):
    """Where a display time came from, best first; 0 means the frame has no display time."""

    NONE = 0
    VIRTUAL_DISPLAY = 1
    PRESENT_TIMING = 2
    PRESENTATION_FEEDBACK = 3
    X_PRESENT_COMPLETION = 4
    PRESENT_WAIT = 5
    PRESENT_FENCE = 6
    ACQUIRE_RETURN = 7
    CALL_RETURN = 8

    @property
    def label(self) -> str:
        """Return the name shown to the user (`present_fence`)."""
        return self.name.lower()

    @property
    def quality(self) -> str:
        """Return how near to the light a stamp of this source is.

        `exact`: the display itself says when; `display`: the display side says so to within a wake-up; `bound`: taken
        before the display, which follows some time later; `none`: no stamp.
        """
        if self is DisplayTimeSource.NONE:
            return "none"
        if self <= DisplayTimeSource.X_PRESENT_COMPLETION:
            return "exact"
        return "display" if self.is_display_truth else "bound"

    @property
    def is_display_truth(self) -> bool:
        """Tell whether the stamp was taken at the display side; the rest are lower bounds taken before it."""
        return DisplayTimeSource.VIRTUAL_DISPLAY <= self <= DisplayTimeSource.PRESENT_WAIT
