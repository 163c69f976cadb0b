"""The line at the bottom in a narrow window, and beside a message."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.gui.status_item import StatusItem
from app.gui.status_line import StatusLine, fitting_items

pytestmark = pytest.mark.x11

LINE = [
    StatusItem("refresh", "59.95 Hz (measured)", "", short="59.95 Hz"),
    StatusItem("images", "3 images", ""),
    StatusItem("pacing", "FIFO does not pace on this driver", "", True, short="FIFO unpaced"),
    StatusItem("telemetry", "telemetry 0.1 %", ""),
]


def test_entries_without_room_are_left_out_from_the_last_on_and_warnings_after_all_others() -> None:
    def names(room_px: float) -> list[str]:
        return [item.name for item in fitting_items(LINE, room_px, len)]

    assert names(100) == ["refresh", "images", "pacing", "telemetry"]
    assert names(62) == ["refresh", "images", "pacing"]
    assert names(40) == ["refresh", "pacing"]
    assert names(22) == ["pacing"]
    assert names(0) == []


def test_a_message_never_runs_under_the_entries_however_narrow_the_line_is(qtbot: QtBot) -> None:
    line = StatusLine()
    qtbot.addWidget(line)
    line.show()
    for width_px in (300, 600, 1600):
        line.resize(width_px, 24)
        line.show_items(LINE)
        line.showMessage("frame_compensation.table: goes from 500 ms to 80 ms; sort the rows by rising delay")
        shown = line.currentMessage()
        assert shown.endswith(("…", "rising delay"))
        QApplication.sendPostedEvents()
        left_px = min(label.x() for label in line.labels.values() if not label.isHidden())
        assert line.fontMetrics().horizontalAdvance(shown) <= left_px
        line.clearMessage()
        assert all(not line.labels[item.name].isHidden() for item in LINE)
