from __future__ import annotations

from pathlib import Path

import pytest

from app.config.advice import config_advice
from app.config.presets import Preset, data_folder, find_preset, list_presets
from app.config.store import render_config, save_config
from app.config.veoconfig import VeoConfig, config_to_object
from app.core.errors import InvalidInputError

NAMES = ("balanced-60", "high-rate-120", "low-latency", "safe-defaults", "smooth-24-on-60", "steady-72")

PRESETS = pytest.mark.parametrize("preset", list_presets(), ids=lambda preset: preset.name)


def test_these_presets_come_with_the_tool() -> None:
    assert tuple(preset.name for preset in list_presets()) == NAMES


@PRESETS
def test_a_preset_file_equals_its_own_saving(preset: Preset) -> None:
    assert preset.path.read_bytes() == render_config(preset.config)


@PRESETS
def test_a_preset_is_named_as_its_file_and_says_what_it_is_for(preset: Preset) -> None:
    assert preset.config.name == preset.name
    assert preset.description.endswith(".")
    assert len(preset.description) > 40


@pytest.mark.parametrize(
    ("name", "rate_hz", "refresh_hz"),
    [
        ("balanced-60", 60, 60),
        ("high-rate-120", 120, 120),
        ("low-latency", 60, 60),
        ("safe-defaults", 60, 60),
        ("steady-72", 72, 72),
        ("steady-72", 72, 144),
    ],
)
def test_a_preset_contradicts_itself_nowhere_on_the_display_it_is_for(
    name: str, rate_hz: float, refresh_hz: float
) -> None:
    assert config_advice(find_preset(name).config, source_rate_hz=rate_hz, refresh_hz=refresh_hz) == ()


def test_film_on_60_hz_is_the_one_compromise_and_the_advice_says_so() -> None:
    (advice,) = config_advice(find_preset("smooth-24-on-60").config, source_rate_hz=24, refresh_hz=60)
    assert "60 ÷ 24 = 2.5 refreshes a frame" in advice.text


def test_safe_defaults_are_the_defaults() -> None:
    plain = VeoConfig(name="safe-defaults", description=find_preset("safe-defaults").description)
    assert config_to_object(find_preset("safe-defaults").config) == config_to_object(plain)


def test_an_unknown_preset_names_the_nearest() -> None:
    with pytest.raises(InvalidInputError) as caught:
        find_preset("balanced-50")
    assert str(caught.value) == "preset: “balanced-50” is not the name of a preset; did you mean balanced-60?"
    with pytest.raises(InvalidInputError, match="choose one of balanced-60, high-rate-120"):
        find_preset("zzz")


def test_a_missing_data_folder_says_what_to_do() -> None:
    with pytest.raises(FileNotFoundError, match="install it anew"):
        data_folder("nonsense")


def test_an_installed_package_has_its_presets_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "site-packages" / "app"
    (package / "data" / "presets").mkdir(parents=True)
    save_config(VeoConfig(description="Installed."), package / "data" / "presets" / "installed.VeoConfig.json")
    monkeypatch.setattr("app.__file__", str(package / "__init__.py"))
    assert [preset.name for preset in list_presets()] == ["installed"]
