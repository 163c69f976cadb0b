"""Controls that are lines of text: names, and lists of whole numbers."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final

from PySide6.QtWidgets import QLineEdit, QWidget

from app.config.options import Option
from widgets.option_control import OptionControl

_SPAN: Final = re.compile(r"(\d+)\s*[-–]\s*(\d+)")
_LONGEST_SPAN: Final = 4096


class LineControl(OptionControl):
    """A line of text that is taken when it is complete: with Enter, or when the focus leaves.

    What the configuration's rules refuse stays here until it is mended.
    """

    keeps_draft: ClassVar[bool] = True

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.field = QLineEdit()
        self._shown = ""
        self._line.addWidget(self.field, 1)
        self.field.editingFinished.connect(self._report)

    def show_value(self, value: Any) -> None:
        """Show a value as text."""
        self._shown = self.text_of(value)
        self.field.setText(self._shown)

    def inputs(self) -> list[QWidget]:
        """Return the line."""
        return [self.field]

    def text_of(self, value: Any) -> str:
        """Return a value as it is written here."""
        raise NotImplementedError

    def value_of(self, text: str) -> Any:
        """Return what a text stands for; one that stands for nothing as it is, for the option's rules to refuse."""
        raise NotImplementedError

    def _report(self) -> None:
        text = self.field.text().strip()
        if text != self._shown:
            self._shown = text  # the focus that leaves afterwards is no second edit
            self.edited.emit(self.value_of(text))


class TextControl(LineControl):
    """A text; an empty line is none where the option may have none."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.field.setPlaceholderText("none" if row.nullable else "")

    def text_of(self, value: Any) -> str:
        """Return the text."""
        return value or ""

    def value_of(self, text: str) -> str | None:
        """Return the text, or None for an empty one."""
        return text or (None if self.row.nullable else "")


class NumberListControl(LineControl):
    """Whole numbers and spans of them, as `0, 2-5`; an empty line is an empty list."""

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(row, parent)
        self.field.setPlaceholderText("all (for some: 0, 2-5)")

    def text_of(self, value: Any) -> str:
        """Return the numbers with runs of three and more as spans."""
        return ", ".join(_span_text(run) for run in _runs(list(value)))

    def value_of(self, text: str) -> tuple[int, ...] | str:
        """Return the numbers in the order in which they are written."""
        numbers: list[int] = []
        for part in map(str.strip, text.strip("[] ").replace(";", ",").split(",")):
            span = _SPAN.fullmatch(part)
            if span and 0 <= int(span[2]) - int(span[1]) < _LONGEST_SPAN:
                numbers.extend(range(int(span[1]), int(span[2]) + 1))
            elif part.isascii() and part.isdigit():
                numbers.append(int(part))
            elif part:
                return text
        return tuple(numbers)


def _runs(numbers: list[int]) -> list[list[int]]:
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return runs


def _span_text(run: list[int]) -> str:
    return f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run))
