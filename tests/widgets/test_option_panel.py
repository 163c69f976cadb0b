"""The panel is made from the option table: changed markers, reset arrows, notes, and a search."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

from app.config.editing import option_value
from app.config.options import Group
from app.config.veoconfig import VeoConfig
from app.gui.main_window import NOTICES, SHOWN_OPTIONS
from widgets.option_panel import OptionPanel
from widgets.option_text import option_tip, option_value_text

pytestmark = pytest.mark.x11


@pytest.fixture
def panel(qtbot: QtBot) -> OptionPanel:
    panel = OptionPanel(SHOWN_OPTIONS, NOTICES)
    qtbot.addWidget(panel)
    panel.resize(520, 800)
    panel.show()
    qtbot.waitExposed(panel)
    defaults = VeoConfig()
    values = {row.key: option_value(defaults, row.key) for row in SHOWN_OPTIONS}
    panel.show_values(values, values)
    return panel


def show_changed(panel: OptionPanel, key: str, value: Any) -> None:
    loaded = {row.key: option_value(VeoConfig(), row.key) for row in SHOWN_OPTIONS}
    panel.show_values({**loaded, key: value}, loaded)


def test_only_options_that_act_are_shown_and_the_clocks_with_a_notice_that_they_do_not() -> None:
    assert all(row.acts or row.group is Group.CLOCKS for row in SHOWN_OPTIONS)
    assert "applies no clock lock" in NOTICES[Group.CLOCKS]
    assert "No GPU offers a supported interface for memory timings" in NOTICES[Group.CLOCKS]


def test_a_changed_option_shows_its_old_value_and_an_arrow_that_takes_it_back(panel: OptionPanel, qtbot: QtBot) -> None:
    show_changed(panel, "frame_queue_depth", 12)
    row = panel.rows["frame_queue_depth"]
    assert row.name.text() == "frame_queue_depth •"
    assert "was 4 frames" in row.notes.text()
    with qtbot.waitSignal(panel.edited) as edited:
        QTest.mouseClick(row.reset, Qt.MouseButton.LeftButton)
    assert edited.args == ["frame_queue_depth", 4]


def test_an_unchanged_option_has_nothing_to_take_back(panel: OptionPanel) -> None:
    row = panel.rows["present_mode"]
    assert not row.reset.isEnabled()
    assert row.name.text() == "present_mode"


def test_the_engine_s_word_on_when_a_change_acts_stands_beside_it(panel: OptionPanel) -> None:
    show_changed(panel, "present_mode", "MAILBOX")
    panel.show_effects({"present_mode": "swapchain rebuilt in 3.1 ms"})
    panel.rows["present_mode"].show_actual("requested: MAILBOX · granted: FIFO (not offered)")
    notes = panel.rows["present_mode"].notes.text()
    assert "swapchain rebuilt in 3.1 ms" in notes
    assert "granted: FIFO (not offered)" in notes


def test_advice_is_shown_with_a_sign_and_goes_away(panel: OptionPanel) -> None:
    panel.show_advice({"frame_queue_depth": "4 frames hold 67 ms, render_latency_ms is 100"})
    assert "⚠ 4 frames hold 67 ms" in panel.rows["frame_queue_depth"].notes.text()
    panel.show_advice({})
    assert not panel.rows["frame_queue_depth"].notes.isVisible()


def test_the_search_narrows_to_key_meaning_and_group(panel: OptionPanel, qtbot: QtBot) -> None:
    QTest.keyClicks(panel.search, "playout")
    assert [key for key, row in panel.rows.items() if row.isVisible()] == ["render_latency_ms"]
    panel.search.setText("no such thing")
    assert not any(row.isVisible() for row in panel.rows.values())
    panel.search.clear()
    assert all(row.isVisible() for row in panel.rows.values())


def test_every_option_can_be_reached_with_tab_alone(panel: OptionPanel, qtbot: QtBot) -> None:
    panel.activateWindow()
    panel.search.setFocus()
    reached = set()
    for _ in range(200):
        option = panel.focused_option()
        if option is not None:
            reached.add(option.key)
        QTest.keyClick(panel.window().focusWidget(), Qt.Key.Key_Tab)
    assert reached == set(panel.rows)


@pytest.mark.parametrize("row", SHOWN_OPTIONS, ids=lambda row: row.key)
def test_every_tool_tip_names_range_unit_default_and_effect(row: Any) -> None:
    tip = option_tip(row)
    assert row.key in tip
    assert "Range:" in tip or row.kind.value == "flag"
    assert "Default:" in tip
    assert "Effect:" in tip
    assert row.unit in tip


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("render_latency_ms", 33.3, "33.3 ms"),
        ("gpu_clock_lock_mhz", (1500, 1800), "1500–1800 MHz"),
        ("gpu_clock_lock_mhz", None, "none"),
        ("memory_timings", {"tCL": 16, "tRCD": 18, "tRP": 18, "tRAS": 36}, "tCL 16 tRCD 18 tRP 18 tRAS 36 cycles"),
        ("present_mode", "MAILBOX", "MAILBOX"),
    ],
)
def test_values_read_as_a_person_writes_them(key: str, value: Any, text: str) -> None:
    row = next(row for row in SHOWN_OPTIONS if row.key == key)
    assert option_value_text(row, value) == text
