"""A label that ends in an ellipsis where the room ends; the whole text is in its tool tip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPalette
from PySide6.QtWidgets import QSizePolicy, QWidget


class ElidedLabel(QWidget):
    """One line of plain text in the colour of secondary text, elided at its end.

    Args:
        alignment: horizontal place of the text.
    """

    def __init__(self, alignment: Qt.AlignmentFlag, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._text = self._short = ""
        self._alignment = alignment
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)

    @property
    def text(self) -> str:
        """The whole text."""
        return self._text

    @property
    def text_shown(self) -> str:
        """What of the text there is room for."""
        metrics = self.fontMetrics()
        if self._short:
            whole = (text for text in (self._text, self._short) if metrics.horizontalAdvance(text) <= self.width())
            return next(whole, "")
        shown: str = metrics.elidedText(self._text, Qt.TextElideMode.ElideRight, self.width())
        return shown

    def set_text(self, text: str, short: str = "") -> None:
        """Show a text, or `short` where there is no room for it; with a `short`, nothing where neither fits whole."""
        if (text, short) != (self._text, self._short):
            self._text, self._short = text, short
            self.setToolTip(text)
            self.update()

    def sizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line."""
        return QSize(20, self.fontMetrics().height())

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """One line."""
        return self.sizeHint()

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what fits."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(QPalette.ColorRole.PlaceholderText))
        painter.drawText(self.rect(), int(self._alignment | Qt.AlignmentFlag.AlignVCenter), self.text_shown)
