"""Presets: open, save, save as, revert, recent and shipped ones; nothing is lost without being asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import platformdirs
from PySide6.QtCore import QObject, Signal

from app.config.presets import Preset
from app.config.store import load_config, save_config
from app.config.veoconfig import VeoConfig
from app.core.errors import InvalidInputError, VeoTunerError
from app.gui.config_model import ConfigModel, LoadedPreset
from app.gui.prompts import PRESET_FILTER, Prompts, Unsaved
from app.gui.settings import GuiSettings

SUFFIX: Final = ".VeoConfig.json"
DEFAULTS: Final = LoadedPreset("defaults", VeoConfig())


class PresetController(QObject):
    """Moves configurations between the model and files.

    Signals:
        notice(text): something worth a line: loaded, saved, migrated.
        recent_changed(): the list of recent presets.
    """

    notice = Signal(str)
    recent_changed = Signal()

    def __init__(self, model: ConfigModel, prompts: Callable[[], Prompts], settings: GuiSettings) -> None:
        super().__init__()
        self._model = model
        self._prompts = prompts
        self._settings = settings

    @property
    def is_modified(self) -> bool:
        """Tell whether there are changes that no file holds."""
        return bool(self._model.edits())

    def open(self) -> None:
        """Ask for a file and load it."""
        if self.may_discard():
            path = self._prompts().open_path("Open preset", PRESET_FILTER, self._folder())
            if path is not None:
                self._load(path)

    def open_path(self, path: Path) -> None:
        """Load a file, after asking about unsaved changes."""
        if self.may_discard():
            self._load(path)

    def open_shipped(self, preset: Preset) -> None:
        """Load a preset that came with the program; saving it asks for a place."""
        if self.may_discard():
            self._model.load(LoadedPreset(preset.name, preset.config))
            self.notice.emit(f"preset {preset.name}: {preset.description}")

    def save(self) -> bool:
        """Write to the loaded file, or ask for one; tell whether it was written."""
        path = self._model.loaded.path
        return self.save_as() if path is None else self._write(path)

    def save_as(self) -> bool:
        """Ask for a file and write to it; tell whether it was written."""
        loaded = self._model.loaded
        suggested = loaded.path or self._folder() / f"{loaded.name}{SUFFIX}"
        path = self._prompts().save_path("Save preset as", PRESET_FILTER, suggested)
        if path is None:
            return False
        return self._write(path if path.suffix else path.with_name(path.name + SUFFIX))

    def revert(self) -> None:
        """Take the loaded values back; undo brings the edits back."""
        count = len(self._model.edits())
        self._model.revert()
        if count:
            self.notice.emit(f"{count} change{'s' if count > 1 else ''} taken back; undo brings them back")

    def may_discard(self) -> bool:
        """Ask about unsaved changes, save them if asked to, and tell whether to go on."""
        if not self.is_modified:
            return True
        changes = [f"{key}: {loaded} → {current}" for key, loaded, current in self._model.diff_rows()]
        answer = self._prompts().unsaved(self._model.loaded.name, changes)
        return answer is Unsaved.DISCARD or (answer is Unsaved.SAVE and self.save())

    def load_first(self, path: Path) -> None:
        """Load the preset of the command line.

        Raises:
            InvalidInputError: it cannot be used.
        """
        loaded = load_config(path)
        preset = LoadedPreset(preset_name(path), loaded.config, path)
        self._model.replace(preset.config, preset)
        self._tell_loaded(preset, loaded.notices)

    def recent(self) -> list[str]:
        """Return paths of recent presets, newest first."""
        return self._settings.recent("preset")

    def _load(self, path: Path) -> None:
        try:
            loaded = load_config(path)
        except InvalidInputError as error:
            self._show_refusal(path, str(error).splitlines())
            return
        except (VeoTunerError, OSError) as error:
            self._show_refusal(path, [str(error)])
            return
        preset = LoadedPreset(preset_name(path), loaded.config, path)
        self._model.load(preset)
        self._tell_loaded(preset, loaded.notices)

    def _tell_loaded(self, preset: LoadedPreset, notices: tuple[str, ...]) -> None:
        self._remember(preset)
        for text in (f"preset {preset.name} loaded", *notices):
            self.notice.emit(text)

    def _show_refusal(self, path: Path, lines: list[str]) -> None:
        self._settings.forget("preset", str(path))
        self.recent_changed.emit()
        self._prompts().problems(
            "Preset not loaded",
            f"{path.name} cannot be used. The file was left as it is, and so is the configuration in the window.",
            lines,
        )

    def _write(self, path: Path) -> bool:
        try:
            save_config(self._model.config, path)
        except (VeoTunerError, OSError) as error:
            intro = f"{path} was not written; the changes are still in the window."
            self._prompts().problems("Preset not saved", intro, str(error).splitlines())
            return False
        preset = LoadedPreset(preset_name(path), self._model.config, path)
        self._model.saved_as(preset)
        self._remember(preset)
        self.notice.emit(f"preset saved to {path}")
        return True

    def _remember(self, preset: LoadedPreset) -> None:
        if preset.path is not None:
            self._settings.remember("preset", str(preset.path.absolute()))
            self.recent_changed.emit()

    def _folder(self) -> Path:
        recent = self.recent()
        return Path(recent[0]).parent if recent else platformdirs.user_documents_path()


def preset_name(path: Path) -> str:
    """Return how a preset's file is called in the title: without its ending."""
    return path.name.removesuffix(SUFFIX).removesuffix(".json")
