from __future__ import annotations

from typing import Any

import pytest

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import DisplayTimeSource, Fate, PresentMode
from app.engine.sinks.display_ladder import DisplayLadder
from app.engine.sinks.display_refresh import RefreshTracker
from app.engine.vulkan.display_time import CallReturns, DisplayTimes, Shown
from app.engine.vulkan.plausibility import PROOF, TOLERATED
from tests.engine.vulkan.presentations import Played, presentation

REFRESH_NS = 16_666_667
SWAPCHAIN: Any = None
"""The sources of these tests ask nothing of it."""


def play(ladder: DisplayLadder, source: Played, serial: int, displayed_ns: int, call_ns: int | None = None) -> Any:
    """Present a picture, let a source say when it was shown, and return the picture."""
    picture = presentation(serial, call_ns=displayed_ns - 1_000_000 if call_ns is None else call_ns)
    ladder.before_present(picture)
    ladder.presented(picture)
    if picture in source.given:
        source.said.append(Shown(picture, displayed_ns))
    ladder.collect(max(displayed_ns, picture.call_ns) + 1_000)
    return picture


def make(*sources: DisplayTimes) -> DisplayLadder:
    ladder = DisplayLadder([*sources, CallReturns()], RefreshTracker())
    ladder.rebuilt(SWAPCHAIN)
    return ladder


def test_the_best_usable_source_is_used_and_each_picture_says_which() -> None:
    feedback, wait = Played(DisplayTimeSource.PRESENTATION_FEEDBACK), Played(DisplayTimeSource.PRESENT_WAIT)
    ladder = make(feedback, wait)
    picture = play(ladder, feedback, 1, 20_000_000)
    assert (picture.displayed_ns, picture.source) == (20_000_000, DisplayTimeSource.PRESENTATION_FEEDBACK)
    assert wait.given == []
    feedback.is_usable = False
    ladder.rebuilt(SWAPCHAIN)
    assert play(ladder, wait, 2, 40_000_000).source is DisplayTimeSource.PRESENT_WAIT
    assert feedback.gave_up == 1, "what only another present would tell is not waited for"
    assert ladder.take_notices() == []


def test_a_present_wait_that_ends_at_once_in_a_fifo_is_dropped_for_good_with_a_sentence() -> None:
    wait, fence = Played(DisplayTimeSource.PRESENT_WAIT), Played(DisplayTimeSource.PRESENT_FENCE)
    ladder = make(wait, fence)
    ladder.refreshes.follow_screen(REFRESH_NS)
    serial = 0
    while ladder.source is DisplayTimeSource.PRESENT_WAIT:
        serial += 1
        play(ladder, wait, serial, 10_000_000 + serial * 200_000)
        assert serial < 100
    assert serial == TOLERATED + 2
    (notice,) = ladder.take_notices()
    assert "present_wait are not believed: 8 of the last 9 come less than half a refresh" in notice
    assert notice.endswith("Those of present_fence are used instead.")
    ladder.rebuilt(SWAPCHAIN)
    assert ladder.source is DisplayTimeSource.PRESENT_FENCE, "not believed again over a rebuild"
    assert play(ladder, fence, serial + 1, 90_000_000).source is DisplayTimeSource.PRESENT_FENCE


def test_outside_a_fifo_pictures_may_be_shown_as_fast_as_they_come() -> None:
    wait = Played(DisplayTimeSource.PRESENT_WAIT)
    ladder = make(wait)
    for serial in range(100):
        picture = presentation(serial, call_ns=serial * 100_000, mode=PresentMode.IMMEDIATE)
        ladder.presented(picture)
        wait.said.append(Shown(picture, serial * 100_000 + 50_000))
        ladder.collect(10**12)
    assert ladder.source is DisplayTimeSource.PRESENT_WAIT


@pytest.mark.parametrize("displayed_ns", [1_000, 10**15], ids=["before its call", "far ahead"])
def test_a_stamp_that_cannot_be_is_not_recorded(displayed_ns: int) -> None:
    feedback = Played(DisplayTimeSource.PRESENTATION_FEEDBACK)
    ladder = make(feedback)
    picture = presentation(1, call_ns=100_000_000, return_ns=100_500_000)
    ladder.presented(picture)
    feedback.said.append(Shown(picture, displayed_ns))
    ladder.collect(120_000_000)
    assert (picture.displayed_ns, picture.source) == (100_500_000, DisplayTimeSource.CALL_RETURN)
    assert ladder.source is DisplayTimeSource.PRESENTATION_FEEDBACK


def test_a_source_that_must_prove_itself_is_heard_beside_another_until_it_has() -> None:
    completion = Played(DisplayTimeSource.X_PRESENT_COMPLETION, needs_proof=True)
    fence = Played(DisplayTimeSource.PRESENT_FENCE)
    ladder = make(completion, fence)
    for serial in range(PROOF):
        assert ladder.source is DisplayTimeSource.PRESENT_FENCE
        picture = presentation(serial, call_ns=serial * REFRESH_NS)
        ladder.presented(picture)
        completion.said.append(Shown(picture, serial * REFRESH_NS + 5_000_000))
        fence.said.append(Shown(picture, serial * REFRESH_NS + 100_000))
        ladder.collect(10**12)
        assert picture.source is DisplayTimeSource.PRESENT_FENCE
    assert ladder.source is DisplayTimeSource.X_PRESENT_COMPLETION
    assert play(ladder, completion, 99, 10**9).source is DisplayTimeSource.X_PRESENT_COMPLETION


def test_a_silent_source_never_takes_over() -> None:
    completion = Played(DisplayTimeSource.X_PRESENT_COMPLETION, needs_proof=True)
    fence = Played(DisplayTimeSource.PRESENT_FENCE)
    ladder = make(completion, fence)
    for serial in range(100):
        play(ladder, fence, serial, (serial + 1) * REFRESH_NS)
    assert len(completion.given) == 100
    assert ladder.source is DisplayTimeSource.PRESENT_FENCE


def test_a_discarded_picture_settles_and_what_nobody_can_tell_has_the_return_of_its_call() -> None:
    feedback = Played(DisplayTimeSource.PRESENTATION_FEEDBACK)
    ladder = make(feedback)
    dropped, lost = presentation(1, return_ns=5_000), presentation(2, return_ns=6_000)
    for each in (dropped, lost):
        ladder.presented(each)
    feedback.said.append(Shown(dropped, NO_STAMP_NS, discarded=True))
    ladder.collect(10_000)
    assert dropped.fate is Fate.COMPOSITOR_DISCARDED
    assert lost.is_open
    ladder.abandon(10_000)
    assert (lost.displayed_ns, lost.source) == (6_000, DisplayTimeSource.CALL_RETURN)


def test_pictures_promised_to_a_source_are_stamped_by_it_after_another_took_over() -> None:
    wait, fence = Played(DisplayTimeSource.PRESENT_WAIT), Played(DisplayTimeSource.PRESENT_FENCE)
    ladder = make(wait, fence)
    picture = presentation(1, call_ns=1_000)
    ladder.presented(picture)
    wait.is_usable = False
    ladder.rebuilt(SWAPCHAIN)
    wait.said.append(Shown(picture, 9_000))
    ladder.collect(10_000)
    assert (picture.displayed_ns, picture.source) == (9_000, DisplayTimeSource.PRESENT_WAIT)
