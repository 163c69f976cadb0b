"""What the display times of a run are worth: where they came from, and how near to the light that is."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from app.analysis.frame_intervals import is_on_screen
from app.analysis.run_data import RunData
from app.core.vocabulary import DisplayTimeSource

MEANING: Final = {
    "exact": "the display itself says when each picture was shown",
    "display": "the display side says when each picture was shown, to within the wake-up of a thread",
    "bound": (
        "taken before the picture reached the screen, which follows some unknown time later: latencies are lower "
        "bounds, and intervals are those of the stamps, not of the screen"
    ),
    "none": "no picture has a display time: nothing is known of what the screen showed",
}
"""What each quality of `DisplayTimeSource.quality` says of the numbers; from the best to the worst."""


class ObservedSource(NamedTuple):
    """A display-time source that was used, and how many pictures of a run have their display time from it."""

    source: DisplayTimeSource
    pictures: int


def observed_sources(data: RunData) -> tuple[ObservedSource, ...]:
    """Return the sources that display times of this run came from, the most frequent first."""
    shown = data.frames["display_time_source"][is_on_screen(data.frames)]
    counts = np.bincount(shown, minlength=max(DisplayTimeSource) + 1)
    used = [ObservedSource(source, int(counts[source])) for source in DisplayTimeSource if source and counts[source]]
    return tuple(sorted(used, key=lambda each: -each.pictures))


def display_quality(data: RunData) -> str:
    """Return the quality of the run's display times: that of the worst source used, `none` without any."""
    used = {each.source.quality for each in observed_sources(data)}
    return next((quality for quality in reversed(MEANING) if quality in used), "none")


def display_time_label(data: RunData) -> str:
    """Return the names of the display-time sources (`present_wait`), or `none`."""
    return ", ".join(each.source.label for each in observed_sources(data)) or DisplayTimeSource.NONE.label


def refresh_text(data: RunData) -> str:
    """Return the refresh and where it is known from (`60 Hz, nominal`), or why there is none."""
    sink = data.sink
    if sink is None or sink.refresh_hz is None:
        return "unknown"
    return ", ".join(part for part in (f"{sink.refresh_hz:.6g} Hz", sink.refresh_source) if part)
