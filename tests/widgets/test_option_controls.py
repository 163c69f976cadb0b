"""Every control shows a value, reports an edit exactly once, never edits by being shown, and works by keyboard."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QCheckBox, QComboBox, QDoubleSpinBox, QSlider, QSpinBox, QWidget
from pytestqt.qtbot import QtBot

from app.config.editing import replace_option
from app.config.options import OPTIONS, Option, option
from app.config.veoconfig import VeoConfig
from app.gui.main_window import SHOWN_OPTIONS
from widgets.option_controls import ChoiceControl, FieldsControl, OptionControl, cycles_text, make_control

pytestmark = pytest.mark.x11

TIMINGS = {"tCL": 16, "tRCD": 18, "tRP": 18, "tRAS": 36}
OTHER_VALUES: dict[str, Any] = {
    "nvdec_queue_depth": 9,
    "frame_queue_depth": 12,
    "overflow_policy": "drop_oldest",
    "render_latency_ms": 90.5,
    "latency_mode": "LOW_LATENCY",
    "preview_fps": 24.0,
    "present_mode": "MAILBOX",
    "min_image_count": 4,
    "gpu_clock_lock_mhz": (1500, 1800),
    "memory_clock_lock_mhz": (800, 7000),
    "memory_clock_offset_mhz": -250,
    "memory_timings": TIMINGS,
}


def shown_control(qtbot: QtBot, row: Option) -> tuple[OptionControl, list[Any]]:
    control = make_control(row)
    qtbot.addWidget(control)
    control.show()
    qtbot.waitExposed(control)
    edits: list[Any] = []
    control.edited.connect(edits.append)
    return control, edits


def press_keys(qtbot: QtBot, widget: QWidget) -> None:
    """Change a control the way a keyboard user does."""
    widget.setFocus()
    if isinstance(widget, QCheckBox):
        QTest.keyClick(widget, Qt.Key.Key_Space)
    elif isinstance(widget, QSlider):
        QTest.keyClick(widget, Qt.Key.Key_PageUp)
    elif isinstance(widget, QComboBox):
        last = widget.currentIndex() == widget.count() - 1
        QTest.keyClick(widget, Qt.Key.Key_Up if last else Qt.Key.Key_Down)
    else:
        QTest.keyClick(widget, Qt.Key.Key_Up)


@pytest.mark.parametrize("row", SHOWN_OPTIONS, ids=lambda row: row.key)
def test_showing_a_value_is_no_edit(qtbot: QtBot, row: Option) -> None:
    control, edits = shown_control(qtbot, row)
    for value in (row.default, OTHER_VALUES[row.key], row.default):
        control.show_value(value)
    assert edits == []


@pytest.mark.parametrize("row", SHOWN_OPTIONS, ids=lambda row: row.key)
def test_every_input_of_every_option_is_changed_by_keyboard_to_a_valid_value(qtbot: QtBot, row: Option) -> None:
    for index in range(len(make_inputs(row))):
        control, edits = shown_control(qtbot, row)
        control.show_value(OTHER_VALUES[row.key])
        press_keys(qtbot, control.inputs()[index])
        assert len(edits) == 1
        assert edits[0] != OTHER_VALUES[row.key]
        replace_option(VeoConfig(), row.key, edits[0])


def make_inputs(row: Option) -> list[QWidget]:
    control = make_control(row)
    inputs = control.inputs()
    control.deleteLater()
    return inputs


@pytest.mark.parametrize("row", SHOWN_OPTIONS, ids=lambda row: row.key)
def test_every_input_says_its_name_and_unit_to_a_screen_reader(qtbot: QtBot, row: Option) -> None:
    control, _ = shown_control(qtbot, row)
    for widget in control.inputs():
        assert row.key in widget.accessibleName()


def test_a_range_never_crosses(qtbot: QtBot) -> None:
    control, edits = shown_control(qtbot, option("gpu_clock_lock_mhz"))
    control.show_value((1500, 1800))
    low = control.findChildren(QSpinBox)[0]
    low.setValue(2000)
    assert edits[-1] == (2000, 2000)


def test_a_new_lock_begins_as_the_whole_range_and_not_as_the_lowest_clock(qtbot: QtBot) -> None:
    row = option("gpu_clock_lock_mhz")
    control, edits = shown_control(qtbot, row)
    control.findChildren(QCheckBox)[0].click()
    assert edits == [(row.minimum, row.maximum)]


def test_a_whole_number_is_taken_when_it_is_complete_not_at_every_digit(qtbot: QtBot) -> None:
    control, edits = shown_control(qtbot, option("frame_queue_depth"))
    spin = control.findChildren(QSpinBox)[0]
    spin.setFocus()
    spin.selectAll()
    QTest.keyClicks(spin, "48")
    assert edits == []
    QTest.keyClick(spin, Qt.Key.Key_Return)
    assert edits == [48]


def test_a_choice_offers_all_that_the_table_lists(qtbot: QtBot) -> None:
    row = option("latency_mode")
    control, _ = shown_control(qtbot, row)
    assert isinstance(control, ChoiceControl)
    assert [control.box.itemData(index) for index in range(control.box.count())] == list(row.choices)


def test_the_wheel_scrolls_the_panel_and_changes_no_value_in_passing(qtbot: QtBot) -> None:
    control, edits = shown_control(qtbot, option("render_latency_ms"))
    spin = control.findChildren(QDoubleSpinBox)[0]
    spin.clearFocus()
    centre = QPointF(spin.rect().center())
    turn = QWheelEvent(
        centre,
        spin.mapToGlobal(centre),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(spin, turn)
    assert edits == []


@pytest.mark.parametrize(
    ("cycles", "clock_mhz", "text"),
    [(16, 1750.0, "= 9.14 ns"), (36, 7000.0, "= 5.14 ns"), (16, None, "= — ns")],
)
def test_memory_timings_are_shown_in_nanoseconds_at_the_clock_there_is(
    cycles: int, clock_mhz: float | None, text: str
) -> None:
    assert cycles_text(cycles, clock_mhz) == text


def test_nanoseconds_follow_the_clock_and_the_count(qtbot: QtBot) -> None:
    control, _ = shown_control(qtbot, option("memory_timings"))
    assert isinstance(control, FieldsControl)
    control.show_value(TIMINGS)
    control.show_clock(2000.0)
    assert control.times["tCL"].text() == "= 8.00 ns"
    assert control.clock.text() == "at the present memory clock, 2000 MHz"
    control.show_clock(None)
    assert control.clock.text() == "memory clock unknown: no times in ns"
    control.show_clock(2000.0)
    control.show_value({**TIMINGS, "tCL": 20})
    assert control.times["tCL"].text() == "= 10.00 ns"
    control.show_value(None)
    assert control.times["tCL"].text() == ""


def test_an_option_that_no_control_shows_is_refused(qapp: QApplication) -> None:
    row = next(row for row in OPTIONS if row.kind.value == "object")
    with pytest.raises(ValueError, match=row.key):
        make_control(row)
