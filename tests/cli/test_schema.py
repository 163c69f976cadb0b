from __future__ import annotations

from pathlib import Path

from typer.testing import CliRunner

from app.cli.main import cli
from app.config.json_schema import render_json_schema
from app.core.errors import InvalidInputError


def test_the_schema_goes_to_standard_output() -> None:
    result = CliRunner().invoke(cli, ["schema"])
    assert (result.exit_code, result.output) == (0, render_json_schema())


def test_the_schema_is_written_to_a_file(tmp_path: Path) -> None:
    path = tmp_path / "a.schema.json"
    result = CliRunner().invoke(cli, ["schema", "-o", str(path)])
    assert (result.exit_code, result.output) == (0, "")
    assert path.read_text(encoding="utf-8") == render_json_schema()


def test_a_folder_that_is_not_there_is_a_sentence(tmp_path: Path) -> None:
    result = CliRunner().invoke(cli, ["schema", "-o", str(tmp_path / "none" / "a.json")])
    assert result.exit_code != 0
    assert isinstance(result.exception, InvalidInputError)
    assert str(result.exception).endswith("a.json: cannot be written: no such file or directory; make its folder first")
