from __future__ import annotations

import json

from typer.testing import CliRunner

from app.cli.main import cli
from app.config.presets import list_presets
from app.core.errors import InvalidInputError


def test_the_list_gives_name_purpose_and_place_of_each() -> None:
    result = CliRunner().invoke(cli, ["presets"])
    assert result.exit_code == 0
    for preset in list_presets():
        assert preset.name in result.output
        assert preset.description in result.output
        assert str(preset.path) in result.output


def test_the_list_as_json() -> None:
    result = CliRunner().invoke(cli, ["presets", "--json"])
    listed = json.loads(result.output)
    assert listed["schema"] == "veotuner-presets/1"
    assert listed["presets"] == [
        {"name": preset.name, "description": preset.description, "path": str(preset.path)} for preset in list_presets()
    ]


def test_a_named_preset_is_printed_as_its_file() -> None:
    result = CliRunner().invoke(cli, ["presets", "steady-72"])
    (preset,) = (preset for preset in list_presets() if preset.name == "steady-72")
    assert (result.exit_code, result.output) == (0, preset.path.read_text(encoding="utf-8"))


def test_an_unknown_preset_is_a_sentence_with_the_nearest() -> None:
    result = CliRunner().invoke(cli, ["presets", "steady-27"])
    assert result.exit_code != 0
    assert isinstance(result.exception, InvalidInputError)
    assert "did you mean steady-72?" in str(result.exception)
