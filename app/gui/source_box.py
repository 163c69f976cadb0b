"""Which of several sources the graphs and tiles speak of."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QComboBox, QWidget

from app.gui.status_line import rate_text
from app.ipc.messages import SourceInfo


class SourceBox(QComboBox):
    """Lists the sources of a run; hidden where there is only one."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName("Source that graphs and numbers speak of")
        self.setToolTip("Graphs and numbers are those of this source; the others are measured all the same.")
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.hide()

    def show_sources(self, sources: Sequence[SourceInfo]) -> None:
        """List these and choose the first."""
        self.clear()
        for index, source in enumerate(sources, 1):
            self.addItem(f"source {index} of {len(sources)}")
            tip = f"{rate_text(source)} fps: {source.description}"
            self.setItemData(index - 1, tip, Qt.ItemDataRole.ToolTipRole)
        self.setVisible(len(sources) > 1)

    def choose_next(self) -> None:
        """Choose the next one, after the last the first."""
        if self.count() > 1:
            self.setCurrentIndex((self.currentIndex() + 1) % self.count())
