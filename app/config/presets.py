"""The presets that come with VeoTuner."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

import app
from app.config.complaints import nearest
from app.config.store import load_config
from app.config.veoconfig import VeoConfig
from app.core.errors import InvalidInputError, Problem

PRESET_SUFFIX: Final = ".VeoConfig.json"


@dataclass(frozen=True, slots=True)
class Preset:
    """One preset: its name (also the file's), what it is for, where it lies, and what it holds."""

    name: str
    description: str
    path: Path
    config: VeoConfig


def data_folder(name: str) -> Path:
    """Return a folder of data files (`presets`, `assets`): inside an installed package, else beside the source tree.

    Raises:
        FileNotFoundError: this installation lacks it.
    """
    package = Path(app.__file__).resolve().parent
    for folder in (package / "data" / name, package.parent / name):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"this installation of VeoTuner lacks its {name} folder; install it anew")


def list_presets() -> tuple[Preset, ...]:
    """Return the presets by name.

    Raises:
        InvalidInputError: one of them is damaged or missing; it names the file.
    """
    try:
        folder = data_folder("presets")
    except FileNotFoundError as error:
        raise InvalidInputError([Problem("", "", "cannot list the presets", str(error))]) from error
    return tuple(_read(path) for path in sorted(folder.glob(f"*{PRESET_SUFFIX}")))


def find_preset(name: str) -> Preset:
    """Return a preset by its name.

    Raises:
        InvalidInputError: there is none of this name; it names the nearest.
    """
    presets = {preset.name: preset for preset in list_presets()}
    if name in presets:
        return presets[name]
    near = nearest(name, presets)
    hint = f"did you mean {near}?" if near else f"choose one of {', '.join(presets)}"
    raise InvalidInputError([Problem("preset", f"“{name}”", "is not the name of a preset", hint)])


def _read(path: Path) -> Preset:
    config = load_config(path).config
    return Preset(path.name.removesuffix(PRESET_SUFFIX), config.description, path, config)
