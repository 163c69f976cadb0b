"""The wanted rate is the lowest that is allowed, even where evenness costs little, and never above a ceiling."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.advice import is_even_rate
from app.core.vocabulary import Governor
from app.engine.decimation import Decimator
from app.engine.governors.rate_control import (
    EVEN_PREFERENCE_RATIO,
    Ceiling,
    WantedRate,
    even_rate_below,
    wanted_rate,
)

RATES = st.one_of(st.sampled_from([24.0, 25.0, 30.0, 50.0, 60.0, 72.0, 90.0, 120.0, 144.0, 240.0]), st.floats(1, 480))
PREVIEWS = st.one_of(st.just(0.0), st.floats(0.001, 500))
REFRESHES = st.one_of(st.none(), RATES)
GOVERNORS = st.sampled_from([Governor.THERMAL, Governor.COMPENSATION, Governor.BANDWIDTH])
CEILINGS = st.lists(
    st.builds(Ceiling, GOVERNORS, st.one_of(st.just(math.inf), st.floats(1, 500)), st.floats(0, 60)), max_size=3
)


def thermal(rate_hz: float, floor_hz: float = 0.0) -> list[Ceiling]:
    return [Ceiling(Governor.THERMAL, rate_hz, floor_hz)]


def shown_hz(wanted: WantedRate, source_rate_hz: float) -> float:
    return wanted.rate_hz or source_rate_hz


@given(RATES, PREVIEWS, CEILINGS, REFRESHES)
def test_it_is_above_nothing_that_limits_it(
    source_hz: float, preview_fps: float, ceilings: list[Ceiling], refresh_hz: float | None
) -> None:
    shown = shown_hz(wanted_rate(source_hz, preview_fps, ceilings, refresh_hz), source_hz)
    assert 0 < shown <= source_hz
    assert preview_fps == 0 or shown <= preview_fps
    assert all(shown <= ceiling.rate_hz for ceiling in ceilings)


@given(RATES, PREVIEWS, CEILINGS, REFRESHES)
def test_evenness_costs_a_fifth_at_most_and_never_goes_under_the_floor(
    source_hz: float, preview_fps: float, ceilings: list[Ceiling], refresh_hz: float | None
) -> None:
    wanted = wanted_rate(source_hz, preview_fps, ceilings, refresh_hz)
    allowed = min([source_hz, *([preview_fps] if preview_fps else []), *(each.rate_hz for each in ceilings)])
    shown = shown_hz(wanted, source_hz)
    assert shown >= allowed * (1 - EVEN_PREFERENCE_RATIO) - 1e-6
    if shown < allowed:
        assert refresh_hz is not None
        assert is_even_rate(shown, refresh_hz)
        responsible = min(ceilings, key=lambda each: each.rate_hz)
        assert wanted.governor is responsible.governor
        assert shown >= responsible.floor_hz - 1e-6


@given(RATES, PREVIEWS, st.floats(1, 500), st.floats(1, 500), REFRESHES, st.floats(0, 60))
def test_a_lower_ceiling_never_raises_the_rate(
    source_hz: float, preview_fps: float, one: float, other: float, refresh_hz: float | None, floor_hz: float
) -> None:
    low, high = (
        shown_hz(wanted_rate(source_hz, preview_fps, thermal(rate, floor_hz), refresh_hz), source_hz)
        for rate in sorted((one, other))
    )
    assert low <= high


@given(RATES, REFRESHES, CEILINGS)
def test_an_even_rate_keeps_every_nth_frame_for_the_same_number_of_refreshes(
    source_hz: float, refresh_hz: float | None, ceilings: list[Ceiling]
) -> None:
    for ceiling in ceilings:
        even_hz = even_rate_below(ceiling.rate_hz, source_hz, refresh_hz) if refresh_hz else None
        if even_hz is None or not math.isfinite(ceiling.rate_hz):
            continue
        every = source_hz / even_hz
        assert every == pytest.approx(round(every))
        decimator = Decimator()
        kept = [number for number in range(8 * round(every)) if decimator.keep(source_hz, even_hz)]
        assert {later - earlier for earlier, later in itertools.pairwise(kept)} == {round(every)}


@pytest.mark.parametrize(
    ("source_hz", "refresh_hz", "ceiling_hz", "expected_hz"),
    [
        (60, 60, 37.5, 30),  # 30 is a fifth below: worth it
        (60, 60, 45, 45),  # 30 would be a third less
        (60, 60, 48, 48),
        (120, 120, 43, 40),
        (120, 60, 65, 60),
        (60, 120, 45, 45),  # 40 divides 120 Hz, but two of three frames stay two and four refreshes in turn
        (60, 144, 36, 36),  # 30 fps is 4.8 refreshes of 144 Hz
        (59.94, 60, 31, 29.97),
        (60, None, 37.5, 37.5),  # variable refresh: every rate is even
    ],
)
def test_an_even_rate_close_below_is_preferred(
    source_hz: float, refresh_hz: float | None, ceiling_hz: float, expected_hz: float
) -> None:
    assert wanted_rate(source_hz, 0, thermal(ceiling_hz), refresh_hz).rate_hz == pytest.approx(expected_hz)


def test_a_ceiling_that_rounding_puts_below_an_even_rate_still_holds() -> None:
    ceiling_hz = 20 * (1 - 1e-10)
    assert even_rate_below(ceiling_hz, 60, 60) == ceiling_hz


def test_a_floor_is_worth_more_than_evenness() -> None:
    assert wanted_rate(60, 0, thermal(36, 36), 60) == WantedRate(36, Governor.THERMAL)


@given(RATES, st.floats(0.001, 500), REFRESHES)
def test_what_the_user_asks_for_is_taken_as_it_is(
    source_hz: float, preview_fps: float, refresh_hz: float | None
) -> None:
    wanted = wanted_rate(source_hz, preview_fps, [], refresh_hz)
    if preview_fps < source_hz:
        assert wanted == WantedRate(preview_fps, Governor.PREVIEW_FPS)
    else:
        assert wanted == WantedRate(0.0, Governor.NONE)


@given(PREVIEWS, CEILINGS, REFRESHES)
def test_a_source_without_a_rate_cannot_be_decimated(
    preview_fps: float, ceilings: list[Ceiling], refresh_hz: float | None
) -> None:
    assert wanted_rate(None, preview_fps, ceilings, refresh_hz) == WantedRate()


def test_the_lowest_ceiling_answers_for_it_and_the_user_where_nothing_is_lower() -> None:
    ceilings = [
        Ceiling(Governor.THERMAL, 48.0),
        Ceiling(Governor.COMPENSATION, 45.0),
        Ceiling(Governor.BANDWIDTH, 96.0),
    ]
    assert wanted_rate(60, 0, ceilings, None) == WantedRate(45.0, Governor.COMPENSATION)
    assert wanted_rate(60, 45.0, ceilings, None) == WantedRate(45.0, Governor.PREVIEW_FPS)
    assert wanted_rate(40, 0, ceilings, None) == WantedRate()
