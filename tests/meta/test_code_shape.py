"""Shape of the code that a reader relies on: small files, short functions, telling names, exceptions with reasons."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted(file for folder in ("app", "widgets", "tests") for file in (ROOT / folder).rglob("*.py"))

LONGEST_FILE = 700
LONGEST_FUNCTION = 60
NAMES_THAT_TELL_NOTHING = {"utils", "util", "helpers", "helper", "misc", "common"}

EXCEPTION = re.compile(r"#\s*(?:noqa|type:\s*ignore)(?P<codes>[^#]*?)(?:\s(?:-|–|—|#)\s*(?P<reason>\S.*))?$")


def relative(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_no_file_is_too_long_to_read() -> None:
    lengths = {relative(file): len(file.read_text().splitlines()) for file in SOURCES}
    assert {file: lines for file, lines in lengths.items() if lines > LONGEST_FILE} == {}


def test_no_function_is_too_long_to_read() -> None:
    long = {
        f"{relative(file)}:{node.lineno} {node.name}": node.end_lineno - node.lineno + 1
        for file in SOURCES
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.end_lineno is not None
    }
    assert {name: lines for name, lines in long.items() if lines > LONGEST_FUNCTION} == {}


def test_no_module_is_a_drawer_for_everything() -> None:
    assert [relative(file) for file in SOURCES if file.stem in NAMES_THAT_TELL_NOTHING] == []


@pytest.mark.parametrize("folder", ["app", "widgets"])
def test_an_exception_from_a_rule_names_the_rule_and_gives_a_reason(folder: str) -> None:
    bare = [
        f"{relative(file)}:{number}: {line.strip()}"
        for file in SOURCES
        if file.is_relative_to(ROOT / folder)
        for number, line in enumerate(file.read_text().splitlines(), 1)
        if (match := EXCEPTION.search(line)) and not (match["codes"].strip(" :[]") and match["reason"])
    ]
    assert bare == []
