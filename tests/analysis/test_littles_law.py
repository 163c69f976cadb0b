"""Little's law holds for a sound run and is broken by stamps that contradict each other."""

from __future__ import annotations

import pytest

from app.analysis.littles_law import LittleCheck, check_littles_law
from app.analysis.summary import Missing
from app.core.clock import NS_PER_MS
from app.core.records import FrameArray, empty_frames
from tests.analysis.run_builder import Made, made_frames


def check(frames: FrameArray) -> LittleCheck:
    result = check_littles_law(frames)
    assert isinstance(result, LittleCheck)
    return result


@pytest.mark.parametrize("made", [Made(), Made(jitter_ms=4.0), Made(lost_every=5), Made(stall_after_s=4.0)])
def test_a_sound_run_keeps_the_law(made: Made) -> None:
    result = check(made_frames(made))
    assert result.holds
    assert result.product == pytest.approx(result.rate_per_s * result.time_in_system_s)


def test_sixty_fps_and_fifty_ms_are_three_frames() -> None:
    assert check(made_frames(Made())).frames_in_system == pytest.approx(3.0, abs=0.02)


def test_frames_that_leave_before_they_came_break_the_law() -> None:
    frames = made_frames(Made())
    frames["arrive_ns"][::2] = frames["displayed_ns"][::2] + 200 * NS_PER_MS
    assert not check(frames).holds


def test_a_run_without_displayed_frames_cannot_be_checked() -> None:
    assert isinstance(check_littles_law(empty_frames(5)), Missing)


def test_a_run_of_half_a_second_is_too_short() -> None:
    assert isinstance(check_littles_law(made_frames(Made(seconds=0.5))), Missing)
