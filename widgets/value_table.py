"""A read-only table of texts that can be selected and copied."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QItemSelectionModel, Qt
from PySide6.QtGui import QGuiApplication, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableWidget, QTableWidgetItem, QWidget


class ValueTable(QTableWidget):
    """Rows of texts under fixed headings; Ctrl+C copies the selected rows as tab-separated text."""

    def __init__(self, headings: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(0, len(headings), parent)
        self.setHorizontalHeaderLabels(list(headings))
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setAlternatingRowColors(True)
        self.setShowGrid(False)
        self.setTabKeyNavigation(False)
        self.setWordWrap(False)
        self.verticalHeader().hide()
        self.verticalHeader().setDefaultSectionSize(self.fontMetrics().height() + 5)
        self.verticalHeader().setMinimumSectionSize(10)
        self.horizontalHeader().setStretchLastSection(True)
        self.horizontalHeader().setDefaultAlignment(Qt.AlignmentFlag.AlignLeft)
        self.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.horizontalHeader().setHighlightSections(False)
        self._rows: list[tuple[str, ...]] = []
        self._is_log = False  # grows at its end
        self._at_end = True  # as the person left it; a table that is hidden or resized meanwhile is not scrolled away
        bar = self.verticalScrollBar()
        bar.valueChanged.connect(self._note_place)
        bar.rangeChanged.connect(self._stay_at_end)

    def show_rows(self, rows: Sequence[tuple[str, ...]]) -> None:
        """Replace all rows; the first column takes the width it needs."""
        if list(rows) == self._rows:
            return
        self._rows = list(rows)
        self.setRowCount(len(rows))
        for index, texts in enumerate(rows):
            self._write_row(index, texts)
        self.resizeColumnsToContents()

    def append_row(self, texts: tuple[str, ...], most: int) -> None:
        """Add a row at the end, forgetting the oldest beyond `most`; the view stays at the end if it was there."""
        self._rows.append(texts)
        self.insertRow(self.rowCount())
        self._write_row(self.rowCount() - 1, texts)
        if self.rowCount() > most:
            self.removeRow(0)
            self._rows.pop(0)
        self._is_log = True

    @property
    def rows(self) -> list[tuple[str, ...]]:
        """The rows that are shown."""
        return list(self._rows)

    def keyPressEvent(self, event: QKeyEvent) -> None:  # noqa: N802 - Qt's name
        """Copy the selected rows."""
        if event.matches(QKeySequence.StandardKey.Copy):
            QGuiApplication.clipboard().setText(self.selected_text())
            return
        super().keyPressEvent(event)

    def selected_text(self) -> str:
        """Return the selected rows, tab-separated, one a line."""
        model: QItemSelectionModel = self.selectionModel()
        indices = sorted(index.row() for index in model.selectedRows())
        return "\n".join("\t".join(self._rows[index]) for index in indices)

    def _note_place(self, value: int) -> None:
        self._at_end = value >= self.verticalScrollBar().maximum() - 1

    def _stay_at_end(self, _least: int, most: int) -> None:
        if self._is_log and self._at_end:
            self.verticalScrollBar().setValue(most)

    def _write_row(self, index: int, texts: tuple[str, ...]) -> None:
        for column, text in enumerate(texts):
            item = QTableWidgetItem(text)
            item.setToolTip(text)
            self.setItem(index, column, item)
