"""All controls, generated from the option table: groups that open and close, and a search that finds in all of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final

from PySide6.QtCore import QEvent, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QLabel, QLineEdit, QScrollArea, QStyle, QVBoxLayout, QWidget

from app.config.options import Group, Option
from widgets.icons import icon
from widgets.option_group import OptionGroup
from widgets.option_row import OptionRow

_LEAST_WIDTH_PX: Final = 290
"""Room for a control under its name, so that the window fits a screen of 960×540."""

_MARGIN_PX: Final = 4


class OptionPanel(QWidget):
    """Rows of options under their headings.

    Args:
        options: what is shown, in table order.
        notices: a sentence under a heading, where there is something to know about the whole group.

    Signals:
        edited(key, value): the person set a value.
        restart_requested(): the engine is to be started anew.
    """

    edited = Signal(str, object)
    restart_requested = Signal()

    def __init__(self, options: Sequence[Option], notices: Mapping[Group, str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.rows = {row.key: OptionRow(row) for row in options}
        self.search = QLineEdit()
        self.groups = {group: self._make_group(group, notices) for group in _groups_of(options)}
        self._values: Mapping[str, Any] = {}
        self._nothing = QLabel("No option matches; clear the search with Esc.")
        self._lay_out()
        self.search.textChanged.connect(self._filter)
        self._ink()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the palette."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and hasattr(self, "_nothing"):
            self._ink()

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Stack names and controls in a narrow panel: no value is out of sight."""
        super().resizeEvent(event)
        bar_px = self.style().pixelMetric(QStyle.PixelMetric.PM_ScrollBarExtent)  # there or not: rows never flicker
        room_px = event.size().width() - 2 * _MARGIN_PX - bar_px
        needed = [row.beside_width_px for row in self.rows.values()]
        usual_px = median(needed)  # most rows change over together
        for row, needed_px in zip(self.rows.values(), needed, strict=True):
            row.stack(room_px < max(needed_px, usual_px))

    def show_values(self, values: Mapping[str, Any], loaded: Mapping[str, Any]) -> None:
        """Show the values of every option, and the loaded preset's."""
        if values != self._values:
            self._values = values
            for row in self.rows.values():
                row.show_refusal("")  # a rule between options may hold now
        for key, row in self.rows.items():
            row.show_value(values[key], loaded[key])
        for group in self.groups.values():
            group.show_summary()

    def show_refusal(self, key: str, text: str) -> None:
        """Show beside an option why its edit was not taken."""
        if key in self.rows:
            self.rows[key].show_refusal(text)

    def offer_restart(self, keys: Iterable[str]) -> None:
        """Offer to start the engine anew beside each of these options, and beside no other."""
        wanted = set(keys)
        for key, row in self.rows.items():
            row.offer_restart(key in wanted)

    @property
    def closed_groups(self) -> list[Group]:
        """The groups of which only the heading is shown."""
        return [group for group, widget in self.groups.items() if not widget.is_open]

    def close_groups(self, closed: Iterable[Group]) -> None:
        """Show only the headings of these groups, and the rows of all others."""
        wanted = set(closed)
        for group, widget in self.groups.items():
            widget.set_open(group not in wanted)

    def show_effects(self, effects: Mapping[str, str]) -> None:
        """Show when each of these changes acts."""
        for key, text in effects.items():
            if key in self.rows:
                self.rows[key].show_effect(text)

    def show_actual(self, texts: Mapping[str, str]) -> None:
        """Show beside each of these options what is really there; "" takes it away."""
        for key, text in texts.items():
            if key in self.rows:
                self.rows[key].show_actual(text)

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
        found = [group.search(text) for group in self.groups.values()]
        self._nothing.setVisible(not any(found))

    def _make_group(self, group: Group, notices: Mapping[Group, str]) -> OptionGroup:
        rows = [row for row in self.rows.values() if row.row.group is group]
        for row in rows:
            row.edited.connect(self.edited)
            row.restart_requested.connect(self.restart_requested)
        return OptionGroup(group, rows, notices.get(group, ""))

    def _lay_out(self) -> None:
        self.search.setPlaceholderText("Search options…")
        self.search.setClearButtonEnabled(True)
        self.search.setAccessibleName("Search options")
        content = QWidget()
        column = QVBoxLayout(content)
        column.setContentsMargins(0, 2, 0, 4)
        column.setSpacing(3)
        for group in self.groups.values():
            column.addWidget(group)
        self._nothing.setVisible(False)
        self._nothing.setContentsMargins(8, 8, 8, 8)
        column.addWidget(self._nothing)
        column.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(_MARGIN_PX, _MARGIN_PX, _MARGIN_PX, 0)
        layout.addWidget(self.search)
        layout.addWidget(_scrolled(content), 1)


def _groups_of(options: Sequence[Option]) -> list[Group]:
    return list(dict.fromkeys(row.group for row in options))


def _scrolled(content: QWidget) -> QScrollArea:
    area = QScrollArea()
    area.setWidget(content)
    area.setWidgetResizable(True)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
    area.setMinimumWidth(_LEAST_WIDTH_PX)
    return area
