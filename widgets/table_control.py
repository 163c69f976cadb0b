"""The editor of an option that is a table of two numbers a row."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar, Final, NamedTuple

from PySide6.QtWidgets import QDoubleSpinBox, QGridLayout, QLabel, QToolButton, QWidget

from app.config.options import Option
from widgets.option_control import OptionControl, bounds, make_number_spin, silent

_STEP: Final = 1.0
_NEXT_RATIO: Final = 1.5
"""A new row begins this much beyond the last one, with the same second number: no other result until it is edited."""


class TableRow(NamedTuple):
    """The widgets of one row."""

    first: QDoubleSpinBox
    arrow: QLabel
    second: QDoubleSpinBox
    remove: QToolButton


class TableControl(OptionControl):
    """Two spin boxes a row, a button that takes the row away, and one that adds another at the end.

    What the configuration's rules refuse stays here until it is mended, because rows are edited one number at a time.
    """

    keeps_draft: ClassVar[bool] = True

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.rows: list[TableRow] = []
        self.add = QToolButton()
        self.add.setText("Add a row")
        self.add.setAccessibleName(f"Add a row to {row.key}")
        self.add.clicked.connect(self._add)
        self._grid = QGridLayout()
        self._grid.setHorizontalSpacing(5)
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(4, 1)
        self._line.addLayout(self._grid)

    def show_value(self, value: Any) -> None:
        """Show a table."""
        self._resize(len(value))
        for widgets, numbers in zip(self.rows, value, strict=True):
            with silent(widgets.first, widgets.second):
                widgets.first.setValue(numbers[0])
                widgets.second.setValue(numbers[1])

    def inputs(self) -> list[QWidget]:
        """Return the widgets that take the keyboard, row by row."""
        return [*(widget for row in self.rows for widget in (row.first, row.second, row.remove)), self.add]

    def value(self) -> tuple[tuple[float, float], ...]:
        """Return the table as it stands here, whether it is valid or not."""
        return tuple((row.first.value(), row.second.value()) for row in self.rows)

    def _report(self) -> None:
        self.edited.emit(self.value())

    def _add(self) -> None:
        _, most = bounds(self.row)
        table = self.value()
        last = table[-1] if table else (0.0, most)
        first = min(max(round(last[0] * _NEXT_RATIO), last[0] + _STEP), most)
        self.show_value((*table, (first, last[1])))
        self.rows[-1].first.setFocus()
        self._report()

    def _remove(self, row: TableRow) -> None:
        index = self.rows.index(row)
        table = self.value()
        self.show_value(table[:index] + table[index + 1 :])
        self.rows[min(index, len(self.rows) - 1)].first.setFocus()
        self._report()

    def _resize(self, count: int) -> None:
        if count == len(self.rows):
            return
        while len(self.rows) > count:
            for widget in self.rows.pop():
                self._grid.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
        while len(self.rows) < count:
            self._place(self._make_row(len(self.rows)))
        self._grid.addWidget(self.add, count, 0, 1, 3)
        for row in self.rows:
            row.remove.setEnabled(count > 1)
        self.guard()
        for before, behind in pairwise(self.inputs()):
            QWidget.setTabOrder(before, behind)

    def _place(self, row: TableRow) -> None:
        for column, widget in enumerate(row):
            self._grid.addWidget(widget, len(self.rows), column)
        self.rows.append(row)

    def _make_row(self, index: int) -> TableRow:
        units = [*self.row.unit.split(", "), "", ""]
        spins = [make_number_spin(self.row, *bounds(self.row), _STEP) for _ in range(2)]
        remove = QToolButton()
        remove.setText("−")
        remove.setToolTip("Take this row away")
        remove.setAccessibleName(f"Remove row {index + 1} of {self.row.key}")
        row = TableRow(spins[0], QLabel("→"), spins[1], remove)
        for spin, unit in zip(spins, units, strict=False):
            spin.setSuffix(f" {unit}" if unit else "")
            spin.setAccessibleName(f"{self.row.key}, row {index + 1}, {unit}")
            spin.valueChanged.connect(self._report)
        remove.clicked.connect(lambda: self._remove(row))
        return row
