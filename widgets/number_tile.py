"""One number with its name and unit."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent, QPalette, QPen
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from widgets.elided_label import ElidedLabel
from widgets.theme import muted_colour


@dataclass(frozen=True, slots=True)
class TileText:
    """What a tile shows.

    Attributes:
        title: name of the number. value: number and unit, or "—".
        basis: what it is made from, in a word or two (`N 436`). reason: why there is none; "" when there is one.
        tip: definition, N and source in full.
        basis_short: the basis where a tile is narrow; "" for no other.
    """

    title: str
    value: str
    basis: str
    reason: str
    tip: str
    basis_short: str = ""


class NumberTile(QFrame):
    """A number large enough to read from a step away; its definition is in the tool tip."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFrameShape(QFrame.Shape.StyledPanel)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._title, self._value = QLabel(title), QLabel("—")
        self._basis = ElidedLabel(Qt.AlignmentFlag.AlignRight)
        self._reason = ElidedLabel(Qt.AlignmentFlag.AlignLeft)
        self._shown: TileText | None = None
        font = self._value.font()
        font.setPointSizeF(font.pointSizeF() * 1.35)
        font.setBold(True)
        self._value.setFont(font)
        self._lay_out()
        small = self._basis.font()
        small.setPointSizeF(small.pointSizeF() * 0.9)
        self._basis.setFont(small)
        self._colour()

    def show_text(self, text: TileText) -> None:
        """Show a number."""
        if text == self._shown:
            return
        self._shown = text
        self._title.setText(text.title)
        self._value.setText(text.value)
        self._basis.set_text(text.basis, text.basis_short or text.basis)  # a part of a number is another number
        self._reason.set_text(text.reason)
        self.setToolTip(text.tip)
        self.setAccessibleName(f"{text.title}: {text.value}, {text.basis or text.reason}")

    @property
    def text(self) -> TileText | None:
        """What is shown."""
        return self._shown

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the palette."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and hasattr(self, "_reason"):
            self._colour()

    def paintEvent(self, event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Show the focus: Qt's frames do not."""
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self)
            painter.setPen(QPen(self.palette().color(QPalette.ColorRole.Highlight), 2))
            painter.drawRect(self.rect().adjusted(1, 1, -1, -1))

    def focusInEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Draw the focus."""
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:  # noqa: N802 - Qt's name
        """Take the focus away."""
        super().focusOutEvent(event)
        self.update()

    def _colour(self) -> None:
        self._title.setStyleSheet(f"color: {muted_colour(self.palette())}")

    def _lay_out(self) -> None:
        heading, numbers = QHBoxLayout(), QHBoxLayout()
        for row in (heading, numbers):
            row.setSpacing(5)
        self._title.setMinimumWidth(1)  # of a tile that is too narrow the number is what stays
        heading.addWidget(self._title)
        heading.addWidget(self._basis, 1)
        numbers.addWidget(self._value)
        numbers.addWidget(self._reason, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(7, 3, 6, 4)
        layout.setSpacing(0)
        layout.addLayout(heading)
        layout.addLayout(numbers)
