"""The sources of the grid: add, remove, and move them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QLabel,
    QListWidget,
    QListWidgetItem,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.config.source_text import redacted

_ADD_TEXTS = {"file": "Add &file…", "synthetic": "Add s&ynthetic…", "address": "Add &address…"}


class SourceListDialog(QDialog):
    """A list in the order of the grid, row by row.

    Args:
        sources: source texts to begin with.
        makers: asks for another source and returns its text, "" for none; by kind (`file`, `synthetic`, `address`).
        most: as many as the grid can show.
    """

    def __init__(
        self,
        sources: Sequence[str],
        makers: Mapping[str, Callable[[], str]],
        most: int,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle("Sources")
        self._sources = list(sources)
        self._most = most
        self.list = QListWidget()
        self.list.setAccessibleName("Sources in the order of the grid")
        self.add_buttons = {kind: self._button(_ADD_TEXTS[kind], self._adder(make)) for kind, make in makers.items()}
        self.remove = self._button("&Remove", self._remove)
        self.earlier = self._button("Move &up", lambda: self._move(-1))
        self.later = self._button("Move &down", lambda: self._move(1))
        self.grid_label = QLabel()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self.list.currentRowChanged.connect(lambda _row: self._enable())
        self._lay_out()
        self._show(0)

    def sources(self) -> tuple[str, ...]:
        """Return the source texts in the order of the grid."""
        return tuple(self._sources)

    def add(self, source: str) -> None:
        """Add a source at the end; "" adds nothing."""
        if source and len(self._sources) < self._most:
            self._sources.append(source)
            self._show(len(self._sources) - 1)

    def _adder(self, make: Callable[[], str]) -> Callable[[], None]:
        return lambda: self.add(make())

    def _remove(self) -> None:
        row = self.list.currentRow()
        del self._sources[row]
        self._show(min(row, len(self._sources) - 1))

    def _move(self, by: int) -> None:
        row = self.list.currentRow()
        self._sources.insert(row + by, self._sources.pop(row))
        self._show(row + by)

    def _show(self, row: int) -> None:
        self.list.clear()
        for index, source in enumerate(self._sources, 1):
            item = QListWidgetItem(f"{index}  {redacted(source)}")
            item.setToolTip(redacted(source))
            self.list.addItem(item)
        self.list.setCurrentRow(row)
        self._enable()

    def _enable(self) -> None:
        row, count = self.list.currentRow(), len(self._sources)
        for button in self.add_buttons.values():
            button.setEnabled(count < self._most)
        self.remove.setEnabled(row >= 0)
        self.earlier.setEnabled(row > 0)
        self.later.setEnabled(0 <= row < count - 1)
        self.buttons.button(QDialogButtonBox.StandardButton.Ok).setEnabled(count > 0)
        self.grid_label.setText(
            f"{count} of at most {self._most}, shown side by side; each has its own records, graphs and numbers. "
            "The encoder and the preview stream take the first."
        )

    def _button(self, text: str, pressed: Callable[[], None]) -> QPushButton:
        button = QPushButton(text)
        button.setAutoDefault(False)
        button.clicked.connect(lambda _checked=False: pressed())
        return button

    def _lay_out(self) -> None:
        side = QVBoxLayout()
        for button in (*self.add_buttons.values(), self.remove, self.earlier, self.later):
            side.addWidget(button)
        side.addStretch(1)
        row = QHBoxLayout()
        row.addWidget(self.list, 1)
        row.addLayout(side)
        self.grid_label.setWordWrap(True)
        layout = QVBoxLayout(self)
        layout.addLayout(row, 1)
        layout.addWidget(self.grid_label)
        layout.addWidget(self.buttons)
        self.resize(640, 320)
