"""Every control shows a value, reports an edit exactly once, never edits by being shown, and works by keyboard."""

from __future__ import annotations

import re
from typing import Any

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import (
    QAbstractSpinBox,
    QApplication,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QLineEdit,
    QSlider,
    QSpinBox,
    QToolButton,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.config.editing import replace_option
from app.config.options import OPTIONS, Kind, Option, option
from app.config.veoconfig import VeoConfig
from app.core.errors import InvalidInputError
from app.gui.main_window import SHOWN_OPTIONS
from widgets.option_control import OptionControl
from widgets.option_controls import (
    ChoiceControl,
    FieldsControl,
    NullableIntegerControl,
    cycles_text,
    first_value,
    make_control,
)
from widgets.table_control import TableControl
from widgets.text_controls import NumberListControl, TextControl

pytestmark = pytest.mark.x11

TIMINGS = {"tCL": 16, "tRCD": 18, "tRP": 18, "tRAS": 36}


TEXTS: dict[Kind, Any] = {Kind.TABLE: ((50.0, 60.0), (120.0, 24.0)), Kind.INT_LIST: (0, 2, 3, 4), Kind.TEXT: "another"}


def other_value(row: Option) -> Any:
    """Return a valid value that is not the default, made from the table."""
    low = int(row.minimum or 0)
    match row.kind:
        case Kind.FLAG:
            return not row.default
        case Kind.CHOICE:
            return next(choice for choice in row.choices if choice != row.default)
        case Kind.INT | Kind.NUMBER:
            return other_number(row)
        case Kind.RANGE:
            return (low + 100, low + 1000)
        case Kind.FIELDS:
            return dict.fromkeys(row.fields, low + 15)
    return TEXTS[row.kind]


def other_number(row: Option) -> float:
    assert row.maximum is not None
    step = row.step or 1
    default = first_value(row) if row.default is None else row.default
    value = default + step if default + step <= row.maximum else default - step
    return round(value, 6) if row.kind is Kind.NUMBER else int(value)


def shown_control(qtbot: QtBot, row: Option) -> tuple[OptionControl, list[Any]]:
    control = make_control(row)
    qtbot.addWidget(control)
    control.show()
    qtbot.waitExposed(control)
    edits: list[Any] = []
    control.edited.connect(edits.append)
    return control, edits


def press_keys(widget: QWidget) -> None:
    """Change a control the way a keyboard user does."""
    widget.setFocus()
    if isinstance(widget, QCheckBox):
        QTest.keyClick(widget, Qt.Key.Key_Space)
    elif isinstance(widget, QSlider):
        QTest.keyClick(widget, Qt.Key.Key_PageUp)
    elif isinstance(widget, QComboBox):
        last = widget.currentIndex() == widget.count() - 1
        QTest.keyClick(widget, Qt.Key.Key_Up if last else Qt.Key.Key_Down)
    elif isinstance(widget, QToolButton):
        QTest.keyClick(widget, Qt.Key.Key_Space)
    elif isinstance(widget, QLineEdit):
        widget.selectAll()
        QTest.keyClicks(widget, "7")
        QTest.keyClick(widget, Qt.Key.Key_Return)
    else:
        QTest.keyClick(widget, Qt.Key.Key_Up)


def test_showing_a_value_is_no_edit(qtbot: QtBot) -> None:
    edited: list[str] = []
    for row in SHOWN_OPTIONS:
        control = make_control(row)
        qtbot.addWidget(control)
        control.edited.connect(lambda _value, key=row.key: edited.append(key))
        for value in (row.default, other_value(row), row.default):
            control.show_value(value)
    assert edited == []


@pytest.mark.parametrize("row", SHOWN_OPTIONS, ids=lambda row: row.key)
def test_every_input_of_every_option_is_changed_by_keyboard_to_a_value_of_its_range(qtbot: QtBot, row: Option) -> None:
    control, edits = shown_control(qtbot, row)
    control.show_value(other_value(row))
    for index in range(len(control.inputs())):
        control.show_value(other_value(row))
        edits.clear()
        press_keys(control.inputs()[index])
        assert len(edits) == 1
        assert edits[0] != other_value(row)
        refused = refusal_of(row.key, edits[0])
        assert refused == "" or BETWEEN_OPTIONS.search(refused), refused


BETWEEN_OPTIONS = re.compile("is (above|below) [a-z_]+ |^frame_compensation.table: (goes|rises) from")
"""A value in its range may still be refused for the sake of another one; the row says so."""


def refusal_of(key: str, value: Any) -> str:
    try:
        replace_option(VeoConfig(), key, value)
    except InvalidInputError as error:
        return str(error)
    return ""


def test_every_input_says_its_name_and_unit_to_a_screen_reader(qtbot: QtBot) -> None:
    for row in SHOWN_OPTIONS:
        control = make_control(row)
        qtbot.addWidget(control)
        for widget in control.inputs():
            assert row.key in widget.accessibleName()
            if isinstance(widget, (QSlider, QAbstractSpinBox)):
                assert any(unit in widget.accessibleName() for unit in row.unit.split(", "))


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


def test_a_number_that_was_none_begins_in_the_middle_of_its_range_and_never_at_its_edge(qtbot: QtBot) -> None:
    for row in (row for row in SHOWN_OPTIONS if row.nullable and row.kind is Kind.INT):
        control, edits = shown_control(qtbot, row)
        assert isinstance(control, NullableIntegerControl)
        control.box.click()
        assert row.minimum is not None
        assert row.maximum is not None
        assert row.minimum < edits[0] < row.maximum
        assert edits[0] % (row.step or 1) == 0


def table_control(qtbot: QtBot) -> tuple[TableControl, list[Any]]:
    control, edits = shown_control(qtbot, option("frame_compensation.table"))
    assert isinstance(control, TableControl)
    control.show_value(((40.0, 60.0), (80.0, 45.0), (200.0, 30.0)))
    return control, edits


def test_a_row_is_added_beyond_the_last_one_without_changing_any_rate(qtbot: QtBot) -> None:
    control, edits = table_control(qtbot)
    control.add.click()
    assert edits == [((40.0, 60.0), (80.0, 45.0), (200.0, 30.0), (300.0, 30.0))]


def test_the_row_that_is_taken_away_is_the_one_whose_button_was_pressed(qtbot: QtBot) -> None:
    control, edits = table_control(qtbot)
    control.rows[1].remove.click()
    assert edits == [((40.0, 60.0), (200.0, 30.0))]
    control.rows[1].remove.click()
    assert edits[-1] == ((40.0, 60.0),)
    assert not control.rows[0].remove.isEnabled()


def test_both_numbers_of_a_row_carry_their_own_unit(qtbot: QtBot) -> None:
    control, _ = table_control(qtbot)
    assert (control.rows[0].first.suffix(), control.rows[0].second.suffix()) == (" ms", " fps")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0, 2-5", (0, 2, 3, 4, 5)),
        ("[2, 3]", (2, 3)),
        ("7", (7,)),
        ("1;3", (1, 3)),
        ("3-1", "3-1"),
        ("all but one", "all but one"),
        ("-4", "-4"),
        ("0-99999999", "0-99999999"),
    ],
)
def test_a_list_of_numbers_is_written_with_spans_and_what_is_none_is_left_to_the_rules(
    qtbot: QtBot, text: str, value: object
) -> None:
    control, edits = shown_control(qtbot, option("realtime.cpus"))
    assert isinstance(control, NumberListControl)
    QTest.keyClicks(control.field, text)
    QTest.keyClick(control.field, Qt.Key.Key_Return)
    assert edits == [value]


def test_a_list_of_numbers_is_shown_with_spans_that_read_back(qtbot: QtBot) -> None:
    control, _ = shown_control(qtbot, option("realtime.cpus"))
    assert isinstance(control, NumberListControl)
    control.show_value((0, 2, 3, 4, 7, 8))
    assert control.field.text() == "0, 2-4, 7, 8"
    assert control.value_of(control.field.text()) == (0, 2, 3, 4, 7, 8)


def test_an_empty_name_is_none(qtbot: QtBot) -> None:
    control, edits = shown_control(qtbot, option("device.vulkan_device"))
    assert isinstance(control, TextControl)
    control.show_value("llvmpipe")
    control.field.clear()
    QTest.keyClick(control.field, Qt.Key.Key_Return)
    assert edits == [None]
