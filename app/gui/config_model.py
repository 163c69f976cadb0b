"""The configuration being edited, what it is compared with, and its undo history. Knows no widget and no session."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from PySide6.QtCore import QObject, Signal
from PySide6.QtGui import QUndoCommand, QUndoStack

from app.config.editing import changed_options, option_value, replace_option
from app.config.options import OPTIONS, option
from app.config.veoconfig import VeoConfig
from app.core.errors import InvalidInputError
from widgets.option_text import option_value_text

MERGE_WITHIN_S: Final = 0.8
"""Edits of one option that follow each other this closely (a drag) are one step of undo."""


@dataclass(frozen=True, slots=True)
class LoadedPreset:
    """What edits are compared with.

    Attributes:
        name: as the title shows it. config: as it was loaded or saved.
        path: its file; None for the defaults and for shipped presets, which are never written over.
    """

    name: str
    config: VeoConfig
    path: Path | None = None


class ConfigModel(QObject):
    """Holds the configuration and the loaded preset; every change by the user is a step of undo.

    Signals:
        changed(): another configuration or another loaded preset.
        refused(key, text): an edit that the configuration's rules do not allow, and why, as a sentence.
    """

    changed = Signal()
    refused = Signal(str, str)

    def __init__(self, loaded: LoadedPreset, now_s: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._config, self._loaded = loaded.config, loaded
        self._now_s = now_s
        self.undo_stack = QUndoStack(self)

    @property
    def config(self) -> VeoConfig:
        """The configuration as it is now."""
        return self._config

    @property
    def loaded(self) -> LoadedPreset:
        """What it is compared with."""
        return self._loaded

    def set_option(self, key: str, value: Any) -> None:
        """Edit one option."""
        before = self._config
        try:
            config = replace_option(before, key, value)
        except InvalidInputError as error:
            self.refused.emit(key, str(error))
            self.changed.emit()  # the control shows the value that holds again
            return
        if config != before:
            text = f"{key} {option_value_text(option(key), option_value(config, key))}"
            self.undo_stack.push(EditCommand(self, before, config, text, key=key, at_s=self._now_s()))

    def load(self, preset: LoadedPreset) -> None:
        """Take over a preset, as one step of undo."""
        if preset != self._loaded or preset.config != self._config:
            self.undo_stack.push(LoadCommand(self, preset))

    def revert(self) -> None:
        """Take the loaded preset's values back, as one step of undo."""
        if self._loaded.config != self._config:
            text = f"revert to {self._loaded.name}"
            self.undo_stack.push(EditCommand(self, self._config, self._loaded.config, text))

    def saved_as(self, preset: LoadedPreset) -> None:
        """Compare with what was just saved from now on. Not undone: the file has been written."""
        self.replace(self._config, preset)

    def edits(self) -> dict[str, tuple[Any, Any]]:
        """Return key → (loaded, current) of every option that differs from the loaded preset, in file order."""
        return changed_options(self._loaded.config, self._config)

    def diff_rows(self) -> list[tuple[str, str, str]]:
        """Return key, loaded and current value in words, of every option that differs."""
        return [
            (key, option_value_text(option(key), old), option_value_text(option(key), new))
            for key, (old, new) in self.edits().items()
        ]

    def replace(self, config: VeoConfig, loaded: LoadedPreset | None = None) -> None:
        """Put a configuration, and a loaded preset if given, in place without a step of undo."""
        before = (self._config, self._loaded)
        self._config, self._loaded = config, loaded or self._loaded
        if before != (self._config, self._loaded):
            self.changed.emit()


def option_values(config: VeoConfig) -> Mapping[str, Any]:
    """Return key → value of every option."""
    return {row.key: option_value(config, row.key) for row in OPTIONS}


class EditCommand(QUndoCommand):
    """From one configuration to another; successive edits of the same option merge."""

    def __init__(
        self, model: ConfigModel, before: VeoConfig, after: VeoConfig, text: str, *, key: str = "", at_s: float = 0.0
    ) -> None:
        super().__init__(text)
        self.model, self.before, self.after, self.key, self.at_s = model, before, after, key, at_s

    def id(self) -> int:
        """Return a number that edits of one option share; -1 never merges."""
        return next((index for index, row in enumerate(OPTIONS) if row.key == self.key), -1)

    def mergeWith(self, other: QUndoCommand) -> bool:  # noqa: N802 - Qt's name
        """Take in the next edit of the same option when it follows closely."""
        if not isinstance(other, EditCommand) or other.key != self.key or other.at_s - self.at_s > MERGE_WITHIN_S:
            return False
        self.after, self.at_s = other.after, other.at_s
        self.setText(other.text())
        return True

    def undo(self) -> None:
        """Go back."""
        self.model.replace(self.before)

    def redo(self) -> None:
        """Go there."""
        self.model.replace(self.after)


class LoadCommand(QUndoCommand):
    """From one preset, with what had been edited of it, to another."""

    def __init__(self, model: ConfigModel, preset: LoadedPreset) -> None:
        super().__init__(f"load {preset.name}")
        self._model, self._preset = model, preset
        self._config_before, self._loaded_before = model.config, model.loaded

    def undo(self) -> None:
        """Go back to the preset and the edits before."""
        self._model.replace(self._config_before, self._loaded_before)

    def redo(self) -> None:
        """Take over the preset."""
        self._model.replace(self._preset.config, self._preset)
