"""The panel is made from the option table: changed markers, reset arrows, notes, and a search."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QRect, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QScrollArea
from pytestqt.qtbot import QtBot

from app.config.editing import option_value
from app.config.options import Group
from app.config.veoconfig import VeoConfig
from app.gui.main_window import NOTICES, SHOWN_OPTIONS
from widgets.option_controls import NullableIntegerControl
from widgets.option_panel import OptionPanel
from widgets.option_text import option_tip, option_value_text
from widgets.table_control import TableControl

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


def show_unchanged(panel: OptionPanel) -> None:
    values = {row.key: option_value(VeoConfig(), row.key) for row in SHOWN_OPTIONS}
    panel.show_values(values, values)


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


def test_an_engine_that_is_refused_a_right_is_quoted_as_a_warning(panel: OptionPanel) -> None:
    show_changed(panel, "realtime.policy", "fifo")
    panel.show_effects({"realtime.policy": "refused: RLIMIT_RTPRIO is 0; raise it in limits.conf"})
    assert "✖ refused: RLIMIT_RTPRIO is 0" in panel.rows["realtime.policy"].notes.text()


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


def test_the_search_finds_in_closed_groups_and_leaves_them_closed(panel: OptionPanel) -> None:
    panel.close_groups([Group.ENCODER, Group.GOVERNORS])
    assert not panel.rows["encoder.cq"].isVisible()
    panel.search.setText("constant quality")
    assert [key for key, row in panel.rows.items() if row.isVisible()] == ["encoder.cq"]
    panel.search.setText("thermal")
    assert panel.rows["thermal_guard.dwell_s"].isVisible()
    panel.search.clear()
    assert not panel.rows["encoder.cq"].isVisible()
    assert panel.closed_groups == [Group.GOVERNORS, Group.ENCODER]


def test_a_closed_group_says_what_is_on_in_it_and_how_much_is_edited(panel: OptionPanel) -> None:
    panel.close_groups([Group.GOVERNORS, Group.ENCODER, Group.ALERTS])
    assert panel.groups[Group.GOVERNORS].summary.text == "off"
    assert panel.groups[Group.ALERTS].summary.text == "defaults"
    show_changed(panel, "thermal_guard.enabled", True)
    assert panel.groups[Group.GOVERNORS].summary.text == "thermal guard on · 1 edited"
    show_changed(panel, "alerts.drop_window_s", 10.0)
    assert panel.groups[Group.ALERTS].summary.text == "drop_window_s 10 s · 1 edited"


def test_what_the_rules_refuse_is_said_beside_the_control_until_a_value_changes(panel: OptionPanel) -> None:
    row = panel.rows["encoder.cq"]
    control = row.control
    assert isinstance(control, NullableIntegerControl)
    control.box.click()
    panel.show_refusal("encoder.cq", "encoder.cq: excludes bitrate_kbps (5000 kbit/s); set one of the two to null")
    show_unchanged(panel)
    assert "✖ not taken: encoder.cq: excludes bitrate_kbps" in row.notes.text()
    assert not control.box.isChecked()
    show_changed(panel, "encoder.bitrate_kbps", 5000)
    assert "not taken" not in row.notes.text()


def test_a_refused_table_stays_to_be_mended_and_the_arrow_takes_it_back(panel: OptionPanel) -> None:
    row = panel.rows["frame_compensation.table"]
    control = row.control
    assert isinstance(control, TableControl)
    control.rows[0].first.setValue(90.0)
    panel.show_refusal("frame_compensation.table", "goes from 90 ms to 80 ms; sort the rows by rising delay")
    show_unchanged(panel)
    assert control.value()[0] == (90.0, 60.0)
    assert "✖ not in force: goes from 90 ms" in row.notes.text()
    QTest.mouseClick(row.reset, Qt.MouseButton.LeftButton)
    assert control.value()[0] == (40.0, 60.0)
    assert not row.notes.isVisible()


def test_a_device_offers_to_restart_beside_it(panel: OptionPanel, qtbot: QtBot) -> None:
    panel.offer_restart(["device.vulkan_device"])
    assert [key for key, row in panel.rows.items() if row.restart.isVisible()] == ["device.vulkan_device"]
    with qtbot.waitSignal(panel.restart_requested):
        QTest.keyClick(panel.rows["device.vulkan_device"].restart, Qt.Key.Key_Space)
    panel.offer_restart([])
    assert not panel.rows["device.vulkan_device"].restart.isVisible()


def test_every_option_can_be_reached_with_tab_alone(panel: OptionPanel, qtbot: QtBot) -> None:
    panel.activateWindow()
    panel.search.setFocus()
    reached = set()
    for _ in range(400):
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
        ("frame_compensation.table", ((40.0, 60.0), (80.0, 45.0)), "40 ms → 60 fps, 80 ms → 45 fps"),
        ("realtime.cpus", (0, 2), "0, 2"),
        ("realtime.cpus", (), "(empty)"),
    ],
)
def test_values_read_as_a_person_writes_them(key: str, value: Any, text: str) -> None:
    row = next(row for row in SHOWN_OPTIONS if row.key == key)
    assert option_value_text(row, value) == text


@pytest.mark.parametrize("width_px", [298, 330, 390, 440, 520])
def test_no_value_is_out_of_sight_however_narrow_the_panel_is(panel: OptionPanel, qtbot: QtBot, width_px: int) -> None:
    panel.close_groups([])
    panel.resize(width_px, 800)
    area = panel.findChildren(QScrollArea)[0]
    qtbot.waitUntil(lambda: panel.width() == width_px and area.horizontalScrollBar().maximum() == 0)
    for row in panel.rows.values():
        for widget in (row.name, row.reset, *row.control.inputs()):
            assert row.rect().contains(QRect(widget.mapTo(row, QPoint(0, 0)), widget.size()))
        assert not row.name.geometry().intersects(row.control.geometry())


def test_a_panel_made_wide_again_has_names_and_controls_beside_each_other(panel: OptionPanel, qtbot: QtBot) -> None:
    row = panel.rows["render_latency_ms"]
    beside = row.control.geometry()
    panel.resize(300, 800)
    qtbot.waitUntil(lambda: row.control.geometry().top() > row.name.geometry().bottom() - 2)
    panel.resize(520, 800)
    qtbot.waitUntil(lambda: row.control.geometry() == beside)
