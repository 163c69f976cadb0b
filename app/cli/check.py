"""`veotuner check`: tells what is wrong with VeoConfig files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from app.cli.exit_codes import FAILED
from app.config.store import LoadedConfig, load_config
from app.core.errors import InvalidInputError, Problem

CHECK_SCHEMA: Final = "veotuner-check/1"


def check(
    files: Annotated[list[Path], typer.Argument(metavar="FILE…", help="VeoConfig files to check.")],
    json_output: Annotated[bool, typer.Option("--json", help="Print the result as one JSON object.")] = False,
) -> None:
    """Check VeoConfig files: one line an error, exit code 1 if there is any."""
    results = {path: _load(path) for path in files}
    if json_output:
        text = json.dumps({"schema": CHECK_SCHEMA, "files": [_as_object(*item) for item in results.items()]}, indent=2)
    else:
        text = "\n".join(line for item in results.items() for line in _lines(*item))
    typer.echo(text)
    if any(isinstance(result, InvalidInputError) for result in results.values()):
        raise typer.Exit(FAILED)


def _load(path: Path) -> LoadedConfig | InvalidInputError:
    try:
        return load_config(path)
    except InvalidInputError as error:
        return error


def _lines(path: Path, result: LoadedConfig | InvalidInputError) -> list[str]:
    if isinstance(result, InvalidInputError):
        return [f"{path}: {problem.sentence()}" for problem in result.problems]
    return [f"{path}: notice: {notice}" for notice in result.notices] + [f"{path}: valid"]


def _as_object(path: Path, result: LoadedConfig | InvalidInputError) -> dict[str, Any]:
    if isinstance(result, LoadedConfig):
        return {"file": str(path), "valid": True, "notices": list(result.notices), "problems": []}
    problems = [_problem_object(problem) for problem in result.problems]
    return {"file": str(path), "valid": False, "notices": [], "problems": problems}


def _problem_object(problem: Problem) -> dict[str, Any]:
    return {
        "path": problem.path,
        "value": problem.value,
        "expected": problem.expected,
        "hint": problem.hint,
        "line": problem.line,
        "column": problem.column,
        "sentence": problem.sentence(),
    }
