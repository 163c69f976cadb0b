"""What controls of options are made from: the base class, and sliders and spin boxes dressed by the option table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from decimal import Decimal
from typing import Any, ClassVar, Final

from PySide6.QtCore import QEvent, QObject, QSignalBlocker, Qt, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QDoubleSpinBox, QHBoxLayout, QSizePolicy, QSlider, QSpinBox, QWidget

from app.config.options import Option

_SPIN_WIDTH_PX: Final = 98


class WheelGuard(QObject):
    """Keeps the wheel for scrolling the panel, unless the control has the focus: no value changes in passing."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:  # noqa: N802 - Qt's name
        """Let a wheel turn over an unfocused control go to the panel."""
        if event.type() is QEvent.Type.Wheel and isinstance(watched, QWidget) and not watched.hasFocus():
            event.ignore()
            return True
        return super().eventFilter(watched, event)


class OptionControl(QWidget):
    """Base of the controls.

    Signals:
        edited(value): the person set this value.
    """

    edited = Signal(object)

    keeps_draft: ClassVar[bool] = False
    """Whether an edit that was refused stays in the control, to be mended; else the value that holds comes back."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        self._guard = WheelGuard(self)
        self._line = QHBoxLayout(self)
        self._line.setContentsMargins(0, 0, 0, 0)
        self._line.setSpacing(6)

    def show_value(self, value: Any) -> None:
        """Show a value of the option."""
        raise NotImplementedError

    def inputs(self) -> list[QWidget]:
        """Return the widgets that take the keyboard, in order."""
        kinds = (QSlider, QSpinBox, QDoubleSpinBox, QComboBox, QCheckBox)
        return [widget for widget in self.findChildren(QWidget) if isinstance(widget, kinds)]

    def guard(self) -> None:
        """Name the inputs after the option and protect them from a passing wheel."""
        for widget in self.inputs():
            widget.installEventFilter(self._guard)
            widget.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
            if not widget.accessibleName():
                widget.setAccessibleName(f"{self.row.key}, {self.row.unit}" if self.row.unit else self.row.key)


@contextmanager
def silent(*widgets: QWidget) -> Iterator[None]:
    """Change widgets without a signal of theirs: what is shown is no edit."""
    with ExitStack() as stack:
        for widget in widgets:
            stack.enter_context(QSignalBlocker(widget))
        yield


def bounds(row: Option) -> tuple[float, float]:
    """Return the lowest and the highest value of a number.

    Raises:
        ValueError: the option has no bounds.
    """
    if row.minimum is None or row.maximum is None:
        raise ValueError(f"{row.key}: a number without bounds has no slider")
    return row.minimum, row.maximum


def make_slider(low: int, high: int) -> QSlider:
    """Return a slider whose page and arrow keys move by a sensible part of its range."""
    slider = QSlider(Qt.Orientation.Horizontal)
    slider.setRange(low, high)
    slider.setPageStep(max(1, (high - low) // 20))
    slider.setSingleStep(max(1, (high - low) // 500))
    slider.setMinimumWidth(60)
    return slider


def make_int_spin(row: Option) -> QSpinBox:
    """Return a spin box for a whole number of an option."""
    low, high = bounds(row)
    spin = QSpinBox()
    spin.setRange(int(low), int(high))
    spin.setSingleStep(int(row.step or 1))
    _dress(spin, row)
    return spin


def make_number_spin(row: Option, low: float, high: float, step: float) -> QDoubleSpinBox:
    """Return a spin box for a number, which shows one digit more than a step."""
    spin = QDoubleSpinBox()
    exponent = Decimal(str(step)).as_tuple().exponent
    spin.setDecimals(max(0, -exponent if isinstance(exponent, int) else 0) + 1)
    spin.setRange(low, high)
    spin.setSingleStep(step)
    _dress(spin, row)
    return spin


def _dress(spin: QSpinBox | QDoubleSpinBox, row: Option) -> None:
    spin.setSuffix(f" {row.unit}" if row.unit else "")
    # A value is taken when it is complete (Enter, focus leaves, arrow), not at every digit: "120" is no "1" before.
    spin.setKeyboardTracking(False)
    spin.setFixedWidth(_SPIN_WIDTH_PX)
    spin.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
