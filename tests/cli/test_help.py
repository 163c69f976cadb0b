"""`--help` speaks to the person at the terminal."""

from __future__ import annotations

import re

import pytest
import typer.main
from typer.testing import CliRunner

from app.cli.main import cli

COMMANDS = sorted(typer.main.get_command(cli).commands)  # type: ignore[attr-defined]  # a group, as there are several
DOCSTRING_SECTION = re.compile(r"^\W*(Args|Attributes|Example|Examples|Note|Raises|Returns|Yields):\W*$", re.MULTILINE)


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "gui"])  # the window's help is its own
def test_the_help_of_a_command_says_what_it_does_and_nothing_for_programmers(command: str) -> None:
    result = CliRunner().invoke(cli, [command, "--help"])
    assert result.exit_code == 0
    assert f"Usage: veotuner {command}" in result.output
    assert DOCSTRING_SECTION.search(result.output) is None, result.output


def test_every_command_has_a_line_in_the_list() -> None:
    listed = CliRunner().invoke(cli, ["--help"]).output
    for command in COMMANDS:
        assert re.search(rf"^\W*{command}\s+[A-Z]", listed, re.MULTILINE), command
