"""What display times are worth is said in words, and the worst of them counts."""

from __future__ import annotations

import pytest

from app.analysis.run_data import RunData, SinkAt
from app.core.vocabulary import DisplayTimeSource
from app.export.display_truth import MEANING, display_quality, display_time_label, observed_sources, refresh_text
from tests.analysis.run_builder import START_NS, Made, made_frames, made_run, made_sink, run_of_nothing


def run_with(*sources: DisplayTimeSource) -> RunData:
    """Return a run whose pictures have their display times from these in turn."""
    frames = made_frames(Made(seconds=2.0))
    for number, source in enumerate(sources):
        frames["display_time_source"][number :: len(sources)] = source
    return made_run(frames=frames)


@pytest.mark.parametrize("source", DisplayTimeSource)
def test_every_quality_has_a_meaning(source: DisplayTimeSource) -> None:
    assert MEANING[source.quality]


@pytest.mark.parametrize(
    ("sources", "quality"),
    [
        ((DisplayTimeSource.PRESENT_TIMING,), "exact"),
        ((DisplayTimeSource.PRESENT_WAIT,), "display"),
        ((DisplayTimeSource.PRESENT_TIMING, DisplayTimeSource.PRESENT_WAIT), "display"),
        ((DisplayTimeSource.PRESENT_TIMING, DisplayTimeSource.CALL_RETURN), "bound"),
    ],
)
def test_the_worst_source_used_says_what_the_run_is_worth(sources: tuple[DisplayTimeSource, ...], quality: str) -> None:
    assert display_quality(run_with(*sources)) == quality


def test_a_run_without_pictures_has_no_display_truth() -> None:
    assert (display_quality(run_of_nothing()), display_time_label(run_of_nothing())) == ("none", "none")
    assert refresh_text(run_of_nothing()) == "unknown"


def test_made_up_pictures_are_pictures() -> None:
    run = made_run(Made(seconds=2.0, decimate_every=2, makes_up=True))
    assert [each.pictures for each in observed_sources(run)] == [120]


def test_the_refresh_says_where_it_is_known_from() -> None:
    sink = made_sink(refresh_hz=59.94, refresh_source="measured from 240 display times")
    run = made_run(Made(seconds=1.0), sink_history=(SinkAt(START_NS, sink),))
    assert refresh_text(run) == "59.94 Hz, measured from 240 display times"
