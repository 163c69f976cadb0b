"""Tiles stand in one line where there is room, else in lines of equal length; they never make the window wider."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from widgets.number_tile import NumberTile, TileText
from widgets.tile_row import TileRow, line_length

pytestmark = pytest.mark.x11


@pytest.mark.parametrize(
    ("count", "room_px", "length"),
    [(8, 900, 8), (8, 620, 4), (7, 620, 4), (6, 620, 6), (8, 350, 3), (8, 10, 3), (0, 10, 1)],
)
def test_lines_are_few_and_even(count: int, room_px: float, length: int) -> None:
    assert line_length(count, room_px, 100) == length


def row_of(qtbot: QtBot, count: int) -> tuple[TileRow, list[NumberTile]]:
    tiles = [NumberTile(f"Tile {index}") for index in range(count)]
    row = TileRow(tiles)
    qtbot.addWidget(row)
    for tile in tiles:
        tile.show_text(TileText("Interval p50", "16.67 ms", "N 436", "", "definition"))
    row.resize(1600, 60)
    row.show()
    qtbot.waitExposed(row)
    return row, tiles


def test_a_narrow_row_breaks_and_a_wide_one_does_not(qtbot: QtBot) -> None:
    row, tiles = row_of(qtbot, 8)
    qtbot.waitUntil(lambda: len({tile.y() for tile in tiles}) == 1)
    row.resize(row.minimumSizeHint().width() + 200, 120)
    qtbot.waitUntil(lambda: len({tile.y() for tile in tiles}) == 2)
    assert len({tile.width() for tile in tiles}) <= 2  # a pixel more where the width does not divide


def test_a_tile_that_is_shown_later_takes_its_place_and_does_not_widen_the_row(qtbot: QtBot) -> None:
    row, tiles = row_of(qtbot, 8)
    for tile in tiles[6:]:
        tile.hide()
    qtbot.waitUntil(lambda: row.columns == 6)
    before = row.minimumSizeHint().width()
    for tile in tiles[6:]:
        tile.show()
    qtbot.waitUntil(lambda: row.columns == 8)
    assert row.minimumSizeHint().width() == before
