from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import PresentMode
from app.engine.vulkan.negotiation import (
    FALLBACKS,
    UNDEFINED_EXTENT,
    choose_extent,
    choose_format,
    grant_image_count,
    grant_mode,
)

MODES = st.sampled_from(list(PresentMode))
SIZES = st.tuples(st.integers(1, 16384), st.integers(1, 16384))


@given(MODES, st.frozensets(MODES))
def test_what_is_offered_is_granted_and_anything_else_has_a_reason(
    requested: PresentMode, offered: frozenset[PresentMode]
) -> None:
    available = offered | {PresentMode.FIFO}
    granted, reason = grant_mode(requested, available)
    assert granted in available
    assert (reason == "") == (granted == requested)
    if reason:
        assert requested not in available
        assert requested in reason
        assert granted in reason


def test_every_mode_falls_back_to_fifo_at_last() -> None:
    for mode in PresentMode:
        assert mode is PresentMode.FIFO or FALLBACKS[mode][-1] is PresentMode.FIFO


def test_no_tearing_is_granted_to_who_did_not_ask_for_it() -> None:
    for mode, fallbacks in FALLBACKS.items():
        assert mode is PresentMode.IMMEDIATE or PresentMode.IMMEDIATE not in fallbacks


@given(st.integers(1, 16), st.integers(1, 8), st.integers(0, 8))
def test_an_image_count_keeps_within_the_limits(requested: int, least: int, room: int) -> None:
    count = grant_image_count(requested, least, least + room)
    assert least <= count <= least + room
    assert grant_image_count(requested, least, 0) == max(requested, least)


@given(SIZES, SIZES)
def test_a_surface_with_a_size_of_its_own_decides_it(current: tuple[int, int], wanted: tuple[int, int]) -> None:
    assert choose_extent(current, wanted, (1, 1), (16384, 16384)) == current


@given(SIZES)
def test_a_surface_without_a_size_takes_the_wanted_one_within_its_limits(wanted: tuple[int, int]) -> None:
    undefined = (UNDEFINED_EXTENT, UNDEFINED_EXTENT)
    width, height = choose_extent(undefined, wanted, (10, 20), (4000, 3000))
    assert (width, height) == (min(4000, max(10, wanted[0])), min(3000, max(20, wanted[1])))


def test_no_area_stays_no_area() -> None:
    assert choose_extent((0, 0), (100, 100), (0, 0), (0, 0)) == (0, 0)
    assert min(choose_extent((UNDEFINED_EXTENT, UNDEFINED_EXTENT), (0, 100), (1, 1), (9, 9))) == 0


@pytest.mark.parametrize(
    ("offered", "chosen"), [({(50, 0), (44, 0)}, (44, 0)), ({(37, 0), (43, 0)}, (37, 0)), ({(50, 0)}, None)]
)
def test_an_srgb_format_is_never_chosen(offered: set[tuple[int, int]], chosen: tuple[int, int] | None) -> None:
    assert choose_format(offered) == chosen
