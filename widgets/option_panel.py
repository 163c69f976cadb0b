"""All controls, generated from the option table: groups, notices, and a search that narrows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QScrollArea, QVBoxLayout, QWidget

from app.config.options import Group, Option
from widgets.icons import icon
from widgets.option_row import OptionRow

_LEAST_WIDTH_PX: Final = 290
"""Narrower than the widest row, so that the window fits a screen of 960×540; the panel is scrolled sideways there."""


class OptionPanel(QWidget):
    """Rows of options under their headings.

    Args:
        options: what is shown, in table order.
        notices: a sentence under a heading, where there is something to know about the whole group.

    Signals:
        edited(key, value): the person set a value.
    """

    edited = Signal(str, object)

    def __init__(self, options: Sequence[Option], notices: Mapping[Group, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = {row.key: OptionRow(row) for row in options}
        self.search = QLineEdit()
        self._headings: dict[Group, list[QWidget]] = {}
        self._nothing = QLabel("No option matches; clear the search with Esc.")
        self._lay_out(notices)
        self.search.textChanged.connect(self._filter)
        self._ink()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the palette."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and hasattr(self, "_headings"):
            self._ink()

    def show_values(self, values: Mapping[str, Any], loaded: Mapping[str, Any]) -> None:
        """Show the values of every option, and the loaded preset's."""
        for key, row in self.rows.items():
            row.show_value(values[key], loaded[key])

    def show_effects(self, effects: Mapping[str, str]) -> None:
        """Show when each of these changes acts."""
        for key, text in effects.items():
            if key in self.rows:
                self.rows[key].show_effect(text)

    def show_advice(self, advice: Mapping[str, str]) -> None:
        """Show a warning on each of these options, and none on the rest."""
        for key, row in self.rows.items():
            row.show_advice(advice.get(key, ""))

    def focused_option(self) -> Option | None:
        """Return the option whose control has the focus."""
        focused: QWidget | None = self.window().focusWidget()
        if focused is None:
            return None
        return next((row.row for row in self.rows.values() if row.isAncestorOf(focused)), None)

    def _ink(self) -> None:
        arrow = icon("reset", self.palette())
        for row in self.rows.values():
            row.reset.setIcon(arrow)

    def _filter(self, text: str) -> None:
        for row in self.rows.values():
            row.setVisible(row.matches(text))
        for group, widgets in self._headings.items():
            shown = any(row.matches(text) for row in self.rows.values() if row.row.group is group)
            for widget in widgets:
                widget.setVisible(shown)
        self._nothing.setVisible(not any(row.matches(text) for row in self.rows.values()))

    def _lay_out(self, notices: Mapping[Group, str]) -> None:
        self.search.setPlaceholderText("Search options…")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search options")
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 2, 0, 4)
        column.setSpacing(3)
        for group in dict.fromkeys(row.row.group for row in self.rows.values()):
            self._headings[group] = [_heading(group.value)]
            if group in notices:
                self._headings[group].append(_notice(notices[group]))
            for widget in self._headings[group]:
                column.addWidget(widget)
            for row in self.rows.values():
                if row.row.group is group:
                    column.addWidget(row)
                    row.edited.connect(self.edited)
        self._nothing.setVisible(False)
        self._nothing.setContentsMargins(8, 8, 8, 8)
        column.addWidget(self._nothing)
        column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 4, 4, 0)
        layout.addWidget(self.search)
        layout.addWidget(_scrolled(content), 1)


def _heading(text: str) -> QLabel:
    label = QLabel(text)
    font = label.font()
    font.setBold(True)
    label.setFont(font)
    label.setContentsMargins(4, 6, 0, 0)
    return label


def _notice(text: str) -> QLabel:
    label = QLabel(text)
    label.setWordWrap(True)
    label.setContentsMargins(8, 0, 8, 2)
    return label


def _scrolled(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setMinimumWidth(_LEAST_WIDTH_PX)
    return area
