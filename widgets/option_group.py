"""One group of options: a heading that opens and closes it, what is on in it, and its rows under their sections."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from app.config.options import SECTIONS, Group
from widgets.elided_label import ElidedLabel
from widgets.option_row import OptionRow
from widgets.option_text import option_value_text, section_words


class OptionGroup(QWidget):
    """Rows of one group, in table order.

    Args:
        group: which one. rows: its rows. notice: a sentence about the whole group, "" for none.
    """

    def __init__(
        self, group: Group, rows: Sequence[OptionRow], notice: str = "", parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.group = group
        self.rows = tuple(rows)
        self.heading = QToolButton()
        self.summary = ElidedLabel(Qt.AlignmentFlag.AlignLeft)
        self._body = QWidget()
        self._sections: dict[str, QWidget] = {}
        self._search = ""
        self._is_open = True
        self._lay_out(notice)
        self._show_body()
        self.heading.clicked.connect(lambda _checked=False: self.set_open(not self._is_open))

    @property
    def is_open(self) -> bool:
        """Tell whether its rows are shown while nothing is searched."""
        return self._is_open

    def set_open(self, is_open: bool) -> None:
        """Show its rows, or only its heading."""
        if is_open != self._is_open:
            self._is_open = is_open
            self._show_body()

    def show_summary(self) -> None:
        """Say beside the heading what is on, and what differs from the loaded preset."""
        self.summary.set_text(group_summary(self.rows))

    def search(self, text: str) -> bool:
        """Show the rows that match, open or closed, and tell whether there is one; "" shows all as it was before."""
        self._search = text
        for row in self.rows:
            row.setVisible(row.matches(text))
        for section, label in self._sections.items():
            label.setVisible(any(row.matches(text) for row in self.rows if row.row.section == section))
        found = any(row.matches(text) for row in self.rows)
        self.setVisible(found)
        self._show_body()
        return found

    def _show_body(self) -> None:
        shown = self.is_open or bool(self._search)
        self._body.setVisible(shown)
        self.heading.setArrowType(Qt.ArrowType.DownArrow if shown else Qt.ArrowType.RightArrow)
        self.heading.setAccessibleName(f"{self.group.value}, {'open' if shown else 'closed'}")

    def _lay_out(self, notice: str) -> None:
        self._dress_heading()
        line = QHBoxLayout()
        line.setContentsMargins(0, 4, 6, 0)
        line.addWidget(self.heading)
        line.addWidget(self.summary, 1)
        column = QVBoxLayout(self._body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(3)
        if notice:
            column.addWidget(_notice(notice))
        self._fill(column)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(line)
        layout.addWidget(self._body)

    def _fill(self, column: QVBoxLayout) -> None:
        several = len({row.row.section for row in self.rows}) > 1
        for section, rows in groupby(self.rows, key=lambda row: row.row.section):
            if section and several:
                self._sections[section] = _section_heading(section)
                column.addWidget(self._sections[section])
            for row in rows:
                column.addWidget(row)

    def _dress_heading(self) -> None:
        heading = self.heading
        heading.setText(self.group.value)
        heading.setAutoRaise(True)
        heading.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        heading.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        heading.setToolTip("Open or close this group. The search finds its options either way.")
        font = heading.font()
        font.setBold(True)
        heading.setFont(font)


def group_summary(rows: Sequence[OptionRow]) -> str:
    """Return what is on in a group and what is edited: `off`, `thermal_guard on · 2 edited`, `defaults`."""
    switches = [row for row in rows if row.row.label == "enabled"]
    on = [section_words(row.row.section) for row in switches if row.value]
    edited = sum(row.is_changed for row in rows)
    if switches:
        parts = [f"{', '.join(on)} on" if on else "off"]
    else:
        other = [row for row in rows if row.value != row.row.default]
        parts = [", ".join(f"{row.row.label} {option_value_text(row.row, row.value)}" for row in other) or "defaults"]
    if edited:
        parts.append(f"{edited} edited")
    return " · ".join(parts)


def _section_heading(section: str) -> QWidget:
    heading = QWidget()
    heading.setToolTip(f"{SECTIONS[section].meaning} The options {section}.*")
    name = QLabel(section_words(section))
    font = name.font()
    font.setItalic(True)
    name.setFont(font)
    meaning = ElidedLabel(Qt.AlignmentFlag.AlignLeft)
    meaning.set_text(SECTIONS[section].meaning)
    line = QHBoxLayout(heading)
    line.setContentsMargins(8, 5, 8, 0)
    line.setSpacing(10)
    line.addWidget(name)
    line.addWidget(meaning, 1)
    return heading


def _notice(text: str) -> QLabel:
    label = QLabel(text)
    label.setWordWrap(True)
    label.setContentsMargins(8, 0, 8, 2)
    return label
