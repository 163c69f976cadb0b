from __future__ import annotations

import numpy as np
import pytest

from app.core.clock import NS_PER_S
from app.core.vocabulary import DisplayTimeSource, PresentMode
from app.engine.sinks.display_refresh import PUBLISH_PERIOD_NS, RefreshTracker
from tests.engine.vulkan.presentations import presentation

REFRESH_60_NS = NS_PER_S / 60
FEEDBACK, WAIT = DisplayTimeSource.PRESENTATION_FEEDBACK, DisplayTimeSource.PRESENT_WAIT


def show(
    tracker: RefreshTracker,
    rate_hz: float,
    count: int,
    start_ns: int = NS_PER_S,
    mode: PresentMode = PresentMode.FIFO,
    compositor: int = 0,
) -> int:
    """Show frames at the refreshes of a display, each presented in the middle before its own; return the last time."""
    displayed_ns = start_ns
    for number in range(count):
        displayed_ns = start_ns + round(number * NS_PER_S / rate_hz)
        picture = presentation(number, call_ns=displayed_ns - round((compositor + 0.5) * NS_PER_S / rate_hz), mode=mode)
        picture.note_shown(displayed_ns, FEEDBACK)
        picture.alone = True
        tracker.note(picture, 0)
    return displayed_ns


def test_nothing_is_known_before_it_is_measured_or_named() -> None:
    tracker = RefreshTracker()
    assert (tracker.rate_hz, tracker.source_text, tracker.grid()) == (None, "", None)
    tracker.follow_screen(REFRESH_60_NS)
    assert tracker.rate_hz == pytest.approx(60)
    assert tracker.source_text == "nominal"
    assert tracker.grid() is None, "a rate by name has no phase"
    assert not tracker.review(NS_PER_S)


def test_the_grid_is_where_frames_were_shown() -> None:
    tracker = RefreshTracker()
    last_ns = show(tracker, 59.94, 100)
    assert tracker.review(last_ns)
    grid = tracker.grid()
    assert grid is not None
    assert tracker.rate_hz == pytest.approx(59.94, rel=1e-6)
    assert tracker.source_text == "measured from 100 display times"
    assert abs(grid.nearest(last_ns) - last_ns) < 1_000
    assert abs(grid.nearest(last_ns + 3600 * NS_PER_S) - (last_ns + 3600 * NS_PER_S)) < NS_PER_S / 60


@pytest.mark.parametrize("compositor", [0, 1, 2])
def test_refreshes_that_the_compositor_takes_are_told_from_those_of_the_queue(compositor: int) -> None:
    tracker = RefreshTracker()
    tracker.review(show(tracker, 60, 100, compositor=compositor))
    grid = tracker.grid()
    assert grid is not None
    assert grid.delay_ns == round(compositor * grid.period_ns)


def test_pictures_shown_without_waiting_for_a_refresh_say_nothing_of_refreshes() -> None:
    tracker = RefreshTracker()
    assert not tracker.review(show(tracker, 60, 100, mode=PresentMode.IMMEDIATE))
    assert tracker.grid() is None


def test_the_published_rate_changes_only_when_it_moves_and_not_every_moment() -> None:
    tracker = RefreshTracker()
    now_ns = show(tracker, 60, 100)
    assert tracker.review(now_ns)
    now_ns = show(tracker, 60, 100, now_ns + 16_666_667)
    assert not tracker.review(now_ns + PUBLISH_PERIOD_NS)
    now_ns = show(tracker, 120, 200, now_ns + 16_666_667)
    assert tracker.review(now_ns + PUBLISH_PERIOD_NS)
    assert tracker.rate_hz == pytest.approx(120, rel=1e-3)
    now_ns = show(tracker, 60, 200, now_ns + 16_666_667)
    assert not tracker.review(now_ns), "too soon after the last"


def test_another_screen_is_measured_anew() -> None:
    tracker = RefreshTracker()
    tracker.review(show(tracker, 60, 100))
    tracker.follow_screen(NS_PER_S / 144)
    assert tracker.grid() is None
    assert tracker.rate_hz == pytest.approx(144)
    assert tracker.source_text == "nominal"
    assert tracker.publish(NS_PER_S) is False


def test_a_display_that_changes_its_rate_is_followed_within_a_second_of_frames() -> None:
    tracker = RefreshTracker()
    now_ns = show(tracker, 60, 200)
    tracker.review(now_ns)
    tracker.review(show(tracker, 50, 64, now_ns + 20_000_000))
    grid = tracker.grid()
    assert grid is not None
    assert grid.period_ns == pytest.approx(20_000_000, rel=1e-3)


def test_a_present_wait_is_held_against_the_period_by_name_and_a_compositor_against_its_own_word() -> None:
    tracker = RefreshTracker()
    assert tracker.least_spacing_ns(WAIT, 0) == tracker.least_spacing_ns(FEEDBACK, 0) == 500_000
    assert tracker.least_spacing_ns(FEEDBACK, 16_000_000) == 8_000_000
    tracker.review(show(tracker, 144, 100))
    assert tracker.least_spacing_ns(WAIT, 0) == pytest.approx(NS_PER_S / 288)
    assert tracker.least_spacing_ns(FEEDBACK, 0) == 500_000
    tracker.follow_screen(REFRESH_60_NS)
    tracker.review(show(tracker, 144, 100))
    assert tracker.least_spacing_ns(WAIT, 0) == pytest.approx(REFRESH_60_NS / 2)


def test_another_period_by_name_is_another_screen_and_rounding_is_not() -> None:
    tracker = RefreshTracker()
    tracker.follow_screen(REFRESH_60_NS)
    tracker.review(show(tracker, 60, 100))
    for named_ns, has_grid in ((0, True), (16_683_350, True), (6_944_444, False)):
        picture = presentation(1)
        picture.note_shown(2 * NS_PER_S, FEEDBACK)
        tracker.note(picture, named_ns)
        assert (tracker.grid() is not None) is has_grid
    assert tracker.rate_hz == pytest.approx(144)
    assert tracker.source_text == "nominal"


def test_a_display_that_follows_the_source_has_a_rate_but_no_grid_to_aim_at() -> None:
    tracker = RefreshTracker()
    random = np.random.default_rng(2)
    for number in range(100):
        picture = presentation(number)
        picture.note_shown(NS_PER_S + round(number * REFRESH_60_NS + random.normal(0, 1_350_000)), FEEDBACK)
        tracker.note(picture, 0)
    assert tracker.review(NS_PER_S)
    assert tracker.rate_hz == pytest.approx(60, rel=0.02)
    assert tracker.grid() is None


def test_a_compositor_s_own_name_for_the_period_is_a_start_value() -> None:
    tracker = RefreshTracker()
    random = np.random.default_rng(1)
    for number in range(100):
        picture = presentation(number)
        picture.note_shown(NS_PER_S + round(number * 2 * REFRESH_60_NS + random.normal(0, 20_000)), FEEDBACK)
        tracker.note(picture, 16_666_666)
    assert tracker.review(NS_PER_S)
    assert tracker.rate_hz == pytest.approx(60, rel=1e-3), "30 frames a second alone would look like 30 Hz"
