from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import DisplayTimeSource, Fate, PresentMode
from tests.engine.vulkan.presentations import presentation


@given(st.lists(st.tuples(st.sets(st.integers(0, 3), min_size=1), st.booleans()), min_size=1, max_size=12))
def test_a_frame_is_lost_only_to_a_newer_one_of_its_tile_and_no_frame_is_forgotten(
    pictures: list[tuple[set[int], bool]],
) -> None:
    presented = [presentation(index, tiles=sorted(tiles)) for index, (tiles, _) in enumerate(pictures)]
    settled: dict[int, tuple[int, Fate]] = {}
    for index, (each, (_, shown)) in enumerate(zip(presented, pictures, strict=True)):
        if shown:
            each.note_shown(1_000 * (index + 1), DisplayTimeSource.PRESENTATION_FEEDBACK)
        else:
            each.note_thrown_away()
        for frame in each.settle(presented[index + 1] if index + 1 < len(presented) else None):
            assert id(frame) not in settled
            settled[id(frame)] = (index, each.fate)
    for index, each in enumerate(presented):
        for frame in each.frames:
            at, fate = settled[id(frame)]
            followers = [n for n in range(index + 1, len(pictures)) if frame.source_index in pictures[n][0]]
            shown_at = next((n for n in range(index, len(pictures)) if pictures[n][1]), len(pictures))
            lost = shown_at >= (followers[0] if followers else len(pictures))
            assert fate is (Fate.COMPOSITOR_DISCARDED if lost else Fate.DISPLAYED)
            assert lost or (at == shown_at and frame.displayed_ns == 1_000 * (shown_at + 1))


@pytest.mark.parametrize(
    ("mode", "fate"),
    [
        (PresentMode.FIFO, Fate.COMPOSITOR_DISCARDED),
        (PresentMode.FIFO_RELAXED, Fate.COMPOSITOR_DISCARDED),
        (PresentMode.MAILBOX, Fate.SUPERSEDED),
        (PresentMode.FIFO_LATEST_READY, Fate.SUPERSEDED),
        (PresentMode.IMMEDIATE, Fate.SUPERSEDED),
    ],
)
def test_a_picture_thrown_away_was_replaced_where_the_mode_replaces_and_refused_where_it_does_not(
    mode: PresentMode, fate: Fate
) -> None:
    thrown_away, refused = presentation(1, mode=mode), presentation(2, mode=mode)
    thrown_away.note_thrown_away()
    refused.note_refused()
    assert thrown_away.fate is fate
    assert refused.fate is Fate.COMPOSITOR_DISCARDED
    assert not thrown_away.is_open
    assert not refused.is_open


def test_without_a_better_source_a_picture_counts_as_shown_when_its_call_returned() -> None:
    each = presentation(1, call_ns=500, return_ns=700)
    assert each.is_open
    each.note_call_return()
    (frame,) = each.settle(None)
    assert (frame.displayed_ns, frame.display_time_source) == (700, DisplayTimeSource.CALL_RETURN)
    assert (frame.present_call_ns, frame.present_return_ns) == (500, 700)
