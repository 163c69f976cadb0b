"""Following, dragging and zooming move one window for all graphs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from widgets.time_window import LONGEST_S, SHORTEST_S, TimeWindow, follow, pan, zoom


def test_a_followed_window_ends_at_the_newest_data() -> None:
    assert follow(TimeWindow(span_s=10), 42.0).end_s == 42.0


def test_a_run_shorter_than_the_window_is_drawn_from_its_beginning() -> None:
    assert follow(TimeWindow(span_s=10), 3.0).start_s == 0.0


def test_dragging_back_ends_following_and_dragging_to_the_newest_resumes_it() -> None:
    back = pan(follow(TimeWindow(span_s=10), 60.0), -5.0, 60.0)
    assert (back.following, back.end_s) == (False, 55.0)
    assert pan(back, 5.5, 60.0).following


def test_nobody_drags_beyond_the_beginning() -> None:
    assert pan(follow(TimeWindow(span_s=10), 60.0), -1000.0, 60.0).start_s == 0.0


@given(factor=st.floats(0.01, 100), anchor_ratio=st.floats(0, 1))
def test_zooming_holds_the_place_under_the_pointer(factor: float, anchor_ratio: float) -> None:
    window = TimeWindow(end_s=50.0, span_s=10.0, following=False)
    anchor_s = window.start_s + anchor_ratio * window.span_s
    zoomed = zoom(window, factor, anchor_s, 100.0)
    assert SHORTEST_S <= zoomed.span_s <= LONGEST_S
    assert (anchor_s - zoomed.start_s) / zoomed.span_s == pytest.approx(anchor_ratio, abs=1e-6)


def test_zooming_while_following_goes_on_following() -> None:
    zoomed = zoom(follow(TimeWindow(span_s=10), 60.0), 0.5, 52.0, 60.0)
    assert (zoomed.following, zoomed.end_s, zoomed.span_s) == (True, 60.0, 5.0)
