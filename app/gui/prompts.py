"""Every question that the window asks: modal dialogs behind one small interface, so that tests can answer."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QInputDialog, QMessageBox, QWidget

from widgets.problem_dialog import ProblemDialog

PRESET_FILTER = "VeoTuner presets (*.VeoConfig.json *.json);;All files (*)"
ENCODE_FILTER = "MP4, Matroska, MPEG-TS (*.mp4 *.mkv *.ts)"
REPORT_FILTER = "Reports (*.html)"
SOURCE_FILTER = "Videos (*.mp4 *.mkv *.mov *.webm *.avi *.ts *.m4v *.mpg *.h264 *.hevc *.y4m);;All files (*)"


class Unsaved(Enum):
    """Answers to the question about unsaved changes."""

    SAVE = "save"
    DISCARD = "discard"
    CANCEL = "cancel"


class Prompts(Protocol):
    """The questions. A path of None means that the user cancelled."""

    def unsaved(self, preset_name: str, changes: Sequence[str]) -> Unsaved:
        """Ask what becomes of unsaved changes."""
        ...

    def open_path(self, title: str, pattern: str, folder: Path) -> Path | None:
        """Ask for an existing file."""
        ...

    def save_path(self, title: str, pattern: str, suggested: Path) -> Path | None:
        """Ask where to save; an existing file has been confirmed."""
        ...

    def text(self, title: str, label: str) -> str:
        """Ask for a line of text; "" when the user cancelled."""
        ...

    def problems(self, title: str, intro: str, lines: Sequence[str]) -> None:
        """Show what is wrong; returns at once."""
        ...


class DialogPrompts:
    """Asks with modal dialogs over a window."""

    def __init__(self, window: QWidget) -> None:
        self._window = window

    def unsaved(self, preset_name: str, changes: Sequence[str]) -> Unsaved:
        """Ask what becomes of unsaved changes; the changes are listed in the details."""
        box = QMessageBox(self._window)
        box.setIcon(QMessageBox.Icon.Question)
        box.setWindowTitle("Unsaved changes")
        box.setText(f"“{preset_name}” has {len(changes)} unsaved change{'s' if len(changes) != 1 else ''}.")
        box.setInformativeText("Save them first?")
        box.setDetailedText("\n".join(changes))
        buttons = QMessageBox.StandardButton
        box.setStandardButtons(buttons.Save | buttons.Discard | buttons.Cancel)
        box.setDefaultButton(buttons.Save)
        answers = {buttons.Save: Unsaved.SAVE, buttons.Discard: Unsaved.DISCARD}
        return answers.get(buttons(box.exec()), Unsaved.CANCEL)

    def open_path(self, title: str, pattern: str, folder: Path) -> Path | None:
        """Ask for an existing file."""
        name, _ = QFileDialog.getOpenFileName(self._window, title, str(folder), pattern)
        return Path(name) if name else None

    def save_path(self, title: str, pattern: str, suggested: Path) -> Path | None:
        """Ask where to save."""
        name, _ = QFileDialog.getSaveFileName(self._window, title, str(suggested), pattern)
        return Path(name) if name else None

    def text(self, title: str, label: str) -> str:
        """Ask for a line of text."""
        text, accepted = QInputDialog.getText(self._window, title, label)
        return text.strip() if accepted else ""

    def problems(self, title: str, intro: str, lines: Sequence[str]) -> None:
        """Show what is wrong, and go on.

        Told by tasks too: a dialog that is waited for would run the event loop inside a task, and asyncio then drops
        the steps of all others, until nothing starts, stops or closes any more.
        """
        dialog = ProblemDialog(title, intro, lines, self._window)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.open()


class SilentPrompts:
    """Answers for a window without a person: nothing is saved, opened or shown."""

    def unsaved(self, _preset_name: str, _changes: Sequence[str]) -> Unsaved:
        """Discard: nobody edited anything."""
        return Unsaved.DISCARD

    def open_path(self, _title: str, _pattern: str, _folder: Path) -> Path | None:
        """Choose nothing."""
        return None

    def save_path(self, _title: str, _pattern: str, _suggested: Path) -> Path | None:
        """Choose nothing."""
        return None

    def text(self, _title: str, _label: str) -> str:
        """Write nothing."""
        return ""

    def problems(self, _title: str, _intro: str, _lines: Sequence[str]) -> None:
        """Show nothing; the caller's exit code and standard error tell."""
