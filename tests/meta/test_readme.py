"""The README tells the truth about the command line: what it shows can be typed."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer.main

from app.cli.main import cli
from app.config.presets import list_presets
from app.config.sink_text import parse_sink
from app.config.source_text import parse_source

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
COMMANDS = typer.main.get_group(cli).commands
EXAMPLES = [shlex.split(line, comments=True) for line in README.splitlines() if line.startswith("veotuner ")]


@pytest.mark.parametrize("words", EXAMPLES, ids=" ".join)
def test_an_example_names_commands_and_options_that_exist(words: list[str]) -> None:
    command = COMMANDS[words[1]]
    takes_others = command.context_settings.get("ignore_unknown_options", False)  # the window reads its own arguments
    known = {option for parameter in command.params for option in parameter.opts}
    assert takes_others or {word for word in words[2:] if word.startswith("-") and word != "-"} <= known


@pytest.mark.parametrize("words", [words for words in EXAMPLES if words[1] == "run"], ids=" ".join)
def test_an_example_run_has_a_source_and_a_sink_that_parse(words: list[str]) -> None:
    parse_source(words[2])
    if "--sink" in words:
        parse_sink(words[words.index("--sink") + 1])
    if "--preset" in words:
        assert words[words.index("--preset") + 1] in {preset.name for preset in list_presets()}


def test_it_shows_an_example_of_every_command_that_is_not_explained_elsewhere() -> None:
    assert {words[1] for words in EXAMPLES} | {"demo", "presets", "schema"} == set(COMMANDS)


def test_it_starts_with_a_picture_and_exactly_two_commands() -> None:
    lines = [line for line in README.splitlines() if line]
    assert lines[0].startswith("# ")
    assert lines[1].startswith("![")
    first_block = re.search(r"```sh\n(.*?)```", README, re.DOTALL)
    assert first_block
    assert [line.split("#")[0].split() for line in first_block[1].splitlines()] == [["make", "run"], ["make", "test"]]
