"""One small class for each kind of option: it shows a value and reports what the person asked for.

Bounds, step, unit and choices come from the option table, never from here. `show_value` never reports an edit.
"""

from __future__ import annotations

import math
from typing import Any, Final

from PySide6.QtWidgets import QCheckBox, QComboBox, QGridLayout, QLabel, QWidget

from app.config.options import Kind, Option
from widgets.option_control import OptionControl, bounds, make_int_spin, make_number_spin, make_slider, silent
from widgets.table_control import TableControl
from widgets.text_controls import NumberListControl, TextControl

_NS_PER_CYCLE_AT_1_MHZ: Final = 1000.0


class SwitchControl(OptionControl):
    """A check box."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.box = QCheckBox()
        self._line.addWidget(self.box)
        self._line.addStretch(1)
        self.box.toggled.connect(self.edited.emit)

    def show_value(self, value: Any) -> None:
        """Show on or off."""
        with silent(self.box):
            self.box.setChecked(value)


class ChoiceControl(OptionControl):
    """A list of the choices."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.box = QComboBox()
        for choice in row.choices:
            self.box.addItem(choice, choice)
        self._line.addWidget(self.box)
        self._line.addStretch(1)
        self.box.activated.connect(lambda index: self.edited.emit(self.box.itemData(index)))

    def show_value(self, value: Any) -> None:
        """Show a choice."""
        index = self.box.findData(str(value))
        if index < 0:
            self.box.addItem(f"{value} (not obeyed by this version)", str(value))
            index = self.box.count() - 1
        self.box.setCurrentIndex(index)


class IntegerControl(OptionControl):
    """A slider and a spin box for whole numbers."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        low, high = bounds(row)
        self.slider = make_slider(int(low), int(high))
        self.spin = make_int_spin(row)
        self._line.addWidget(self.slider, 1)
        self._line.addWidget(self.spin)
        self.slider.valueChanged.connect(self.spin.setValue)
        self.spin.valueChanged.connect(self._report)

    def show_value(self, value: Any) -> None:
        """Show a whole number."""
        with silent(self.slider, self.spin):
            self.slider.setValue(value)
            self.spin.setValue(value)

    def _report(self, value: int) -> None:
        self.show_value(value)
        self.edited.emit(value)


class NumberControl(OptionControl):
    """A slider in whole steps and a spin box for numbers; the spin box shows one digit more than a step."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        low, high = bounds(row)
        self._low, self._step = low, row.step or 1.0
        self.slider = make_slider(0, round((high - low) / self._step))
        self.spin = make_number_spin(row, low, high, self._step)
        self._line.addWidget(self.slider, 1)
        self._line.addWidget(self.spin)
        self.slider.valueChanged.connect(self._slide)
        self.spin.valueChanged.connect(self._report)

    def show_value(self, value: Any) -> None:
        """Show a number."""
        with silent(self.slider, self.spin):
            self.slider.setValue(round((value - self._low) / self._step))
            self.spin.setValue(value)

    def _slide(self, steps: int) -> None:
        self.spin.setValue(self._low + steps * self._step)

    def _report(self, value: float) -> None:
        value = round(value, self.spin.decimals())
        self.show_value(value)
        self.edited.emit(value)


class NullableIntegerControl(OptionControl):
    """A check box that sets the option, and a spin box for its value."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.box = QCheckBox("set")
        self.spin = make_int_spin(row)
        self.spin.setValue(first_value(row))
        self._line.addWidget(self.box)
        self._line.addStretch(1)
        self._line.addWidget(self.spin)
        self.box.toggled.connect(self._report)
        self.spin.valueChanged.connect(self._report)
        self.show_value(None)

    def show_value(self, value: Any) -> None:
        """Show a whole number, or that there is none."""
        with silent(self.box, self.spin):
            self.box.setChecked(value is not None)
            self.spin.setEnabled(value is not None)
            if value is not None:
                self.spin.setValue(value)

    def _report(self) -> None:
        value = self.spin.value() if self.box.isChecked() else None
        self.show_value(value)
        self.edited.emit(value)


class RangeControl(OptionControl):
    """A check box that sets the option, and its lowest and highest value; the two never cross."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.box = QCheckBox("lock")
        self.low, self.high = make_int_spin(row), make_int_spin(row)
        self.high.setValue(self.high.maximum())  # a new lock begins as no restriction, not as the lowest clock there is
        self.low.setAccessibleName(f"{row.key}, lowest, {row.unit}")
        self.high.setAccessibleName(f"{row.key}, highest, {row.unit}")
        self._line.setSpacing(2)  # the widest control: it fits the narrowest panel
        self._line.addWidget(self.box)
        self._line.addStretch(1)
        for widget in (self.low, QLabel("to"), self.high):
            self._line.addWidget(widget)
        self.box.toggled.connect(self._report)
        self.low.valueChanged.connect(self._report)
        self.high.valueChanged.connect(self._report)
        self.show_value(None)

    def show_value(self, value: Any) -> None:
        """Show a pair, or that there is none."""
        with silent(self.box, self.low, self.high):
            self.box.setChecked(value is not None)
            self.low.setEnabled(value is not None)
            self.high.setEnabled(value is not None)
            if value is not None:
                self.low.setValue(value[0])
                self.high.setValue(value[1])

    def _report(self) -> None:
        value = (self.low.value(), self.high.value()) if self.box.isChecked() else None
        if value is not None and value[0] > value[1]:
            moved = value[0] if self.sender() is self.low else value[1]
            value = (moved, moved)
        self.show_value(value)
        self.edited.emit(value)


class FieldsControl(OptionControl):
    """A check box that sets the option, and a spin box for each of its cycle counts with the time it stands for."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.box = QCheckBox("set")
        self._clock_mhz: float | None = None
        self.spins = {name: make_int_spin(row) for name in row.fields}
        self.times = {name: QLabel() for name in row.fields}
        self.clock = QLabel()
        self.clock.setWordWrap(True)
        grid = QGridLayout()
        grid.addWidget(self.box, 0, 0)
        grid.addWidget(self.clock, len(self.spins), 1, 1, 3)
        for index, (name, spin) in enumerate(self.spins.items()):
            spin.setAccessibleName(f"{row.key}, {name}, {row.unit}")
            grid.addWidget(QLabel(name), index, 1)
            grid.addWidget(spin, index, 2)
            grid.addWidget(self.times[name], index, 3)
            spin.valueChanged.connect(self._report)
        grid.setColumnStretch(3, 1)
        self._line.addLayout(grid)
        self.box.toggled.connect(self._report)
        self.show_value(None)

    def show_value(self, value: Any) -> None:
        """Show the counts, or that there are none."""
        with silent(self.box, *self.spins.values()):
            self.box.setChecked(value is not None)
            for name, spin in self.spins.items():
                spin.setEnabled(value is not None)
                if value is not None:
                    spin.setValue(value[name])
        self._show_times()

    def show_clock(self, memory_clock_mhz: float | None) -> None:
        """Give the present memory clock, from which cycles become nanoseconds; None when it is not known."""
        self._clock_mhz = memory_clock_mhz
        self._show_times()

    def _show_times(self) -> None:
        for name, label in self.times.items():
            label.setText(cycles_text(self.spins[name].value(), self._clock_mhz) if self.box.isChecked() else "")
        self.clock.setText(clock_text(self._clock_mhz) if self.box.isChecked() else "")
        self.clock.setVisible(self.box.isChecked())

    def _report(self) -> None:
        value = {name: spin.value() for name, spin in self.spins.items()} if self.box.isChecked() else None
        self.show_value(value)
        self.edited.emit(value)


def cycles_text(cycles: int, clock_mhz: float | None) -> str:
    """Return the time of a number of cycles, cycles ÷ clock; a dash where the clock is not known."""
    return f"= {cycles * _NS_PER_CYCLE_AT_1_MHZ / clock_mhz:.2f} ns" if clock_mhz else "= — ns"


def clock_text(clock_mhz: float | None) -> str:
    """Return at which memory clock the cycles were turned into time."""
    if not clock_mhz:
        return "memory clock unknown: no times in ns"
    return f"at the present memory clock, {clock_mhz:.0f} MHz"


def first_value(row: Option) -> int:
    """Return what a number that was none begins as: the middle of its range, by ratio where it spans decades."""
    low, high = bounds(row)
    middle = math.sqrt(low * high) if low > 0 else (low + high) / 2
    step = row.step or 1
    return int(math.floor(middle / step) * step)


def make_control(row: Option, parent: QWidget | None = None) -> OptionControl:
    """Return the control for an option.

    Raises:
        ValueError: no control shows this kind of option.
    """
    if row.nullable and row.kind is Kind.INT:
        control: OptionControl = NullableIntegerControl(row, parent)
    elif row.kind in _CONTROLS:
        control = _CONTROLS[row.kind](row, parent)
    else:
        raise ValueError(f"{row.key}: no control shows an option of kind {row.kind}")
    control.show_value(row.default)
    control.guard()
    return control


_CONTROLS: Final[dict[Kind, type[OptionControl]]] = {
    Kind.FLAG: SwitchControl,
    Kind.CHOICE: ChoiceControl,
    Kind.INT: IntegerControl,
    Kind.NUMBER: NumberControl,
    Kind.RANGE: RangeControl,
    Kind.FIELDS: FieldsControl,
    Kind.TABLE: TableControl,
    Kind.INT_LIST: NumberListControl,
    Kind.TEXT: TextControl,
}
