"""A dialog that lists everything that is wrong with an input, so that it can be mended in one go."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QPlainTextEdit, QVBoxLayout, QWidget


class ProblemDialog(QDialog):
    """A heading, what it means for the user, and the problems, one a line, selectable and copied with Ctrl+C."""

    def __init__(self, title: str, intro: str, problems: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(title)
        self.problems = QPlainTextEdit("\n".join(problems))
        self.problems.setReadOnly(True)
        self.problems.setTabChangesFocus(True)
        self.problems.setAccessibleName("Problems")
        text = QLabel(intro)
        text.setWordWrap(True)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(text)
        layout.addWidget(self.problems, 1)
        layout.addWidget(buttons)
        self.resize(680, 200 + 18 * min(len(problems), 12))
