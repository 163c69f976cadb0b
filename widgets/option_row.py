"""One option in the panel: name, control, reset arrow, and a line that says what is going on with it."""

from __future__ import annotations

import html
from typing import Any, Final

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtWidgets import QGridLayout, QLabel, QPushButton, QSizePolicy, QToolButton, QWidget

from app.config.options import SECTIONS, Kind, Option
from widgets.option_controls import make_control
from widgets.option_text import option_tip, option_value_text
from widgets.theme import muted_colour, warning_colour

LABEL_WIDTH_PX: Final = 164

_LEFT_PX, _RIGHT_PX, _GAP_PX = 8, 4, 6
_AROUND_PX: Final = _LEFT_PX + _RIGHT_PX + 2 * _GAP_PX

_REFUSED: Final = "refused"
"""How the word of the engine begins when the system does not allow what an option asks for."""


class OptionRow(QWidget):
    """A control with its name, its changed marker and its notes.

    Signals:
        edited(key, value): the person set a value, or took the loaded one back.
        restart_requested(): the engine is to be started anew, so that the value acts.
    """

    edited = Signal(str, object)
    restart_requested = Signal()

    def __init__(self, row: Option, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.row = row
        self.control = make_control(row)
        self.name = QLabel(row.label)
        self.reset = QToolButton()
        self.notes = QLabel()
        self.restart = QPushButton("Restart now")
        self._value: Any = row.default
        self._loaded: Any = row.default
        self._grid = QGridLayout(self)
        self._is_stacked = False
        self._effect = self._actual = self._advice = self._refusal = ""
        self._build()
        self.control.edited.connect(lambda value: self.edited.emit(row.key, value))
        self.reset.clicked.connect(self._take_back)
        self.restart.clicked.connect(self.restart_requested)
        self._show_state()

    @property
    def value(self) -> Any:
        """The value that holds."""
        return self._value

    def show_value(self, value: Any, loaded: Any) -> None:
        """Show the present value, and the loaded preset's for comparison; a draft goes with a new value only."""
        is_new = value != self._value
        if (is_new or loaded != self._loaded or self._refusal) and not (self._has_draft and not is_new):
            self.control.show_value(value)
        if is_new:
            self._refusal = ""
        if is_new or loaded != self._loaded:
            self._value, self._loaded = value, loaded
            self._show_state()

    def show_refusal(self, text: str) -> None:
        """Show why the last edit was not taken, as a sentence; "" takes it away."""
        if text != self._refusal and not (self._has_draft and not text):
            self._refusal = text
            self._show_state()

    def offer_restart(self, offered: bool) -> None:
        """Offer to start the engine anew, or no longer."""
        self.restart.setVisible(offered)

    @property
    def beside_width_px(self) -> int:
        """Room that name and control need beside each other."""
        both_px = max(LABEL_WIDTH_PX, self.name.sizeHint().width()) + self.control.minimumSizeHint().width()
        return both_px + self.reset.sizeHint().width() + _AROUND_PX

    def stack(self, stacked: bool) -> None:
        """Put the control under the name, or beside it."""
        if stacked == self._is_stacked:
            return
        self._is_stacked = stacked
        self._grid.setColumnStretch(0, int(stacked))
        place = (1, 0, 1, 3) if stacked else (0, 1, 1, 1)
        self._grid.addWidget(self.control, *place)

    def show_effect(self, text: str) -> None:
        """Show when the last change acts, as the engine said; "" takes it away."""
        if text != self._effect:
            self._effect = text
            self._show_notes()

    def show_actual(self, text: str) -> None:
        """Show what was granted or is really there; "" takes it away."""
        if text != self._actual:
            self._actual = text
            self._show_notes()

    def show_advice(self, text: str) -> None:
        """Show a warning with its arithmetic; "" takes it away."""
        if text != self._advice:
            self._advice = text
            self._show_notes()

    @property
    def is_changed(self) -> bool:
        """Tell whether the value differs from the loaded preset."""
        return bool(self._value != self._loaded)

    def matches(self, text: str) -> bool:
        """Tell whether a search text is in key, meaning, unit, group or section; every word must be."""
        section = SECTIONS[self.row.section].meaning if self.row.section else ""
        haystack = f"{self.row.key} {self.row.meaning} {self.row.unit} {self.row.group} {section}".lower()
        return all(word in haystack for word in text.lower().split())

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the palette."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and hasattr(self, "_advice"):
            self._show_notes()

    @property
    def _has_draft(self) -> bool:
        return self.control.keeps_draft and bool(self._refusal)

    def _take_back(self) -> None:
        self._refusal = ""
        self.control.show_value(self._value)  # a draft goes, even where the value that holds is the loaded one
        self._show_state()
        self.edited.emit(self.row.key, self._loaded)

    def _show_state(self) -> None:
        font = self.name.font()
        font.setBold(self.is_changed)
        self.name.setFont(font)
        self.name.setText(f"{self.row.label} •" if self.is_changed else self.row.label)
        self.reset.setEnabled(self.is_changed or self._has_draft)
        loaded = option_value_text(self.row, self._loaded)
        self.reset.setToolTip(f"Back to {loaded}, as in the loaded preset" if self.reset.isEnabled() else "As loaded")
        self._show_notes()

    def _show_notes(self) -> None:
        muted, warning = muted_colour(self.palette()), warning_colour(self.palette())
        parts = []
        if self.is_changed:
            parts.append(f"was {html.escape(option_value_text(self.row, self._loaded))}")
        refused = self._effect.startswith(_REFUSED)
        if self._effect and not refused:
            parts.append(html.escape(self._effect))
        text = f'<span style="color:{muted}">{" · ".join(parts)}</span>' if parts else ""
        if self._actual:
            text += ("<br>" if text else "") + html.escape(self._actual)
        if self._advice:
            text += ("<br>" if text else "") + f'<span style="color:{warning}">⚠ {html.escape(self._advice)}</span>'
        if refused:
            text += ("<br>" if text else "") + f'<span style="color:{warning}">✖ {html.escape(self._effect)}</span>'
        if self._refusal:
            kept = "not in force" if self._has_draft else "not taken"
            refusal = f"✖ {kept}: {self._refusal}"
            text += ("<br>" if text else "") + f'<span style="color:{warning}">{html.escape(refusal)}</span>'
        self.notes.setText(text)
        self.notes.setVisible(bool(text))

    def _build(self) -> None:
        tip = option_tip(self.row)
        for widget in (self, self.name, *self.control.inputs()):
            widget.setToolTip(tip)
        self.setAccessibleName(self.row.key)
        self.name.setMinimumWidth(LABEL_WIDTH_PX)
        self.name.setBuddy(self.control.inputs()[0])
        self.reset.setIconSize(QSize(14, 14))
        self.reset.setAutoRaise(True)
        self.reset.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.reset.setAccessibleName(f"Reset {self.row.key}")
        self.restart.setToolTip("Start a new engine with the present options; the run begins anew.")
        self.restart.setAccessibleName(f"Restart the engine so that {self.row.key} acts")
        self.restart.hide()
        self.notes.setWordWrap(True)
        self.notes.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Minimum)
        layout = self._grid
        layout.setContentsMargins(_LEFT_PX, 1, _RIGHT_PX, 1)
        layout.setHorizontalSpacing(_GAP_PX)
        layout.setVerticalSpacing(0)
        tall = self.row.kind in {Kind.FIELDS, Kind.TABLE}
        top = Qt.AlignmentFlag.AlignTop if tall else Qt.AlignmentFlag.AlignVCenter
        layout.addWidget(self.name, 0, 0, top)
        layout.addWidget(self.control, 0, 1)
        layout.addWidget(self.reset, 0, 2, top)
        layout.addWidget(self.notes, 2, 0, 1, 2)
        layout.addWidget(self.restart, 3, 1, Qt.AlignmentFlag.AlignLeft)
        layout.setColumnStretch(1, 1)
