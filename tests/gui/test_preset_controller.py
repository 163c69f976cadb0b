"""Presets on real files: nothing is lost without being asked for, and a bad file changes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from app.config.presets import list_presets
from app.config.store import load_config, save_config
from app.config.veoconfig import VeoConfig
from app.gui.config_model import ConfigModel
from app.gui.preset_controller import DEFAULTS, PresetController, preset_name
from app.gui.prompts import Unsaved
from app.gui.settings import GuiSettings
from tests.gui.conftest import AnsweringPrompts

BAD_PRESETS = {
    "not JSON": "{",
    "two problems": '{"frame_queue_depth": 0, "present_mode": "MAILBOKS"}',
    "unknown key": '{"frame_queue_dept": 8}',
    "newer version": '{"schema": "veoconfig/99"}',
    "duplicate key": '{"frame_queue_depth": 8, "frame_queue_depth": 9}',
    "not a number": '{"render_latency_ms": NaN}',
    "a list": "[]",
}


@pytest.fixture
def model(qapp: QApplication) -> ConfigModel:
    return ConfigModel(DEFAULTS)


@pytest.fixture
def presets(model: ConfigModel, prompts: AnsweringPrompts, settings: GuiSettings) -> PresetController:
    return PresetController(model, lambda: prompts, settings)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.VeoConfig.json"
    save_config(VeoConfig(frame_queue_depth=9), path)
    return path


def test_a_preset_is_loaded_named_and_remembered(presets: PresetController, model: ConfigModel, file: Path) -> None:
    presets.open_path(file)
    assert (model.loaded.name, model.config.frame_queue_depth) == ("mine", 9)
    assert presets.recent() == [str(file)]


def test_saving_writes_what_is_shown_and_keeps_the_old_file(
    presets: PresetController, model: ConfigModel, file: Path
) -> None:
    presets.open_path(file)
    model.set_option("frame_queue_depth", 12)
    assert presets.save()
    assert load_config(file).config == model.config
    assert load_config(file.with_name(file.name + ".bak")).config.frame_queue_depth == 9
    assert not presets.is_modified


def test_saving_the_defaults_asks_for_a_place(
    presets: PresetController, model: ConfigModel, prompts: AnsweringPrompts, tmp_path: Path
) -> None:
    model.set_option("frame_queue_depth", 12)
    assert not presets.save()
    prompts.save_answer = tmp_path / "new"
    assert presets.save()
    assert load_config(tmp_path / "new.VeoConfig.json").config.frame_queue_depth == 12
    assert model.loaded.name == "new"


@pytest.mark.parametrize("text", BAD_PRESETS.values(), ids=BAD_PRESETS.keys())
def test_a_bad_preset_is_told_in_full_and_changes_nothing(
    presets: PresetController, model: ConfigModel, prompts: AnsweringPrompts, tmp_path: Path, text: str
) -> None:
    path = tmp_path / "bad.VeoConfig.json"
    path.write_text(text)
    presets.open_path(path)
    title, lines = prompts.shown[0]
    assert title == "Preset not loaded"
    assert all("bad.VeoConfig.json" in line for line in lines)
    assert len(lines) == (2 if "MAILBOKS" in text else 1)
    assert model.config == DEFAULTS.config
    assert path.read_text() == text


def test_a_preset_that_is_gone_is_told_and_forgotten(
    presets: PresetController, prompts: AnsweringPrompts, settings: GuiSettings, tmp_path: Path
) -> None:
    gone = tmp_path / "gone.VeoConfig.json"
    settings.remember("preset", str(gone))
    presets.open_path(gone)
    assert prompts.shown
    assert presets.recent() == []


@pytest.mark.parametrize(
    ("answer", "goes_on", "saved"), [(Unsaved.CANCEL, False, 9), (Unsaved.DISCARD, True, 9), (Unsaved.SAVE, True, 12)]
)
def test_unsaved_changes_are_asked_about_with_what_they_are(
    presets: PresetController,
    model: ConfigModel,
    prompts: AnsweringPrompts,
    file: Path,
    answer: Unsaved,
    goes_on: bool,
    saved: int,
) -> None:
    presets.open_path(file)
    model.set_option("frame_queue_depth", 12)
    prompts.answer = answer
    assert presets.may_discard() is goes_on
    assert prompts.asked == [("mine", ["frame_queue_depth: 9 frames → 12 frames"])]
    assert load_config(file).config.frame_queue_depth == saved


def test_cancelling_keeps_the_changes_when_another_preset_is_opened(
    presets: PresetController, model: ConfigModel, prompts: AnsweringPrompts, file: Path
) -> None:
    model.set_option("frame_queue_depth", 12)
    presets.open_path(file)
    assert model.config.frame_queue_depth == 12
    assert prompts.asked


def test_a_file_that_cannot_be_written_keeps_the_changes_and_says_so(
    presets: PresetController, model: ConfigModel, prompts: AnsweringPrompts, tmp_path: Path
) -> None:
    model.set_option("frame_queue_depth", 12)
    prompts.save_answer = tmp_path / "no such folder" / "x.VeoConfig.json"
    assert not presets.save_as()
    assert prompts.shown[0][0] == "Preset not saved"
    assert presets.is_modified


def test_a_shipped_preset_is_never_written_over(
    presets: PresetController, model: ConfigModel, prompts: AnsweringPrompts, tmp_path: Path
) -> None:
    shipped = list_presets()[0]
    presets.open_shipped(shipped)
    assert model.config == shipped.config
    assert model.loaded.path is None


@pytest.mark.parametrize(("file", "name"), [("a.VeoConfig.json", "a"), ("b.json", "b"), ("c.d.VeoConfig.json", "c.d")])
def test_the_title_shows_the_name_without_its_ending(file: str, name: str) -> None:
    assert preset_name(Path("/somewhere") / file) == name
