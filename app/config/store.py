"""VeoConfig.json on disk: strict reading with every problem at its line, atomic saving with a backup."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from app.config.atomic_file import write_atomically
from app.config.file_errors import unreadable, unwritable
from app.config.former_names import read_former_names
from app.config.json_text import MAX_BYTES, JsonText, KeyPath, Place, scan_json
from app.config.migrations import SCHEMA_HISTORY, SchemaHistory, migrate, schema_version
from app.config.veoconfig import SCHEMA_KEY, SCHEMA_NAME, VeoConfig, config_to_object, examine_object
from app.core.errors import InvalidInputError, Problem


@dataclass(frozen=True, slots=True)
class LoadedConfig:
    """What a file held.

    Attributes:
        config: the configuration.
        notices: what was read in another way than it was written (former names, an older schema), one sentence each.
        path: the file; None for bytes that came from nowhere.
        schema_version: version the file was written in.
    """

    config: VeoConfig
    notices: tuple[str, ...]
    path: Path | None
    schema_version: int


def load_config(path: Path, *, history: SchemaHistory = SCHEMA_HISTORY) -> LoadedConfig:
    """Read a VeoConfig.json. Reading never writes: an older file is migrated in memory (see `save_config`).

    Raises:
        InvalidInputError: it cannot be read, or with every problem found and its line and column.
    """
    return parse_config(_read(path), path, history=history)


def parse_config(data: bytes, path: Path | None = None, *, history: SchemaHistory = SCHEMA_HISTORY) -> LoadedConfig:
    """Read the bytes of a VeoConfig.json.

    Args:
        path: the file they came from, named in errors.

    Raises:
        InvalidInputError: with every problem found and its line and column.
    """
    try:
        return _interpret(scan_json(data), path, history)
    except InvalidInputError as error:
        raise InvalidInputError([replace(problem, file=path) for problem in error.problems]) from None


def render_config(config: VeoConfig) -> bytes:
    """Return the saved form: every key in file order, two-space indent, newline at the end, UTF-8."""
    text = json.dumps(config_to_object(config), indent=2, ensure_ascii=False, allow_nan=False)
    return f"{text}\n".encode()


def save_config(config: VeoConfig, path: Path, *, history: SchemaHistory = SCHEMA_HISTORY) -> None:
    """Write a configuration atomically; the previous version stays beside it as `NAME.bak`.

    A file of an older schema is kept for good as `NAME.veoconfig-N.bak` before it is replaced. A file that already
    holds these bytes is left alone, so that its backup stays what it was.

    Raises:
        InvalidInputError: it cannot be written, or the file would not be readable again (own `x_` values too deep or
            too long). The file is as it was then.
    """
    data = render_config(config)
    parse_config(data, path)
    try:
        present = _present(path)
        if present == data:
            return
        if present is not None:
            _keep_older_schema(path, present, history)
        write_atomically(path, data, keep_backup=True)
    except (OSError, ValueError) as error:
        raise unwritable(path, error) from error


def migration_backup_path(path: Path, version: int) -> Path:
    """Return where `save_config` keeps a file of an older schema version."""
    return path.with_name(f"{path.name}.{SCHEMA_NAME}-{version}.bak")


def _interpret(text: JsonText, path: Path | None, history: SchemaHistory) -> LoadedConfig:
    try:
        version = schema_version(text.value, history)
    except InvalidInputError as error:
        raise InvalidInputError(_placed(text, [((SCHEMA_KEY,), problem) for problem in error.problems])) from None
    notices: tuple[str, ...] = ()
    if version < history.version:
        notices = (f"written as {SCHEMA_NAME}/{version}, read as {SCHEMA_NAME}/{history.version}",)
    obj, renamed = read_former_names(migrate(text.value, version, history))
    config, problems = examine_object(obj)
    found = _placed(text, problems)
    if config is None or found:
        raise InvalidInputError(found)
    return LoadedConfig(config, notices + renamed, path, version)


def _placed(text: JsonText, problems: Iterable[tuple[KeyPath, Problem]]) -> list[Problem]:
    """Return the problems of a text in the order of its lines, each once at its place."""
    # What the scanner left out because of its own fault is not missing as well.
    spoiled = {path[:length] for path, problem in text.problems if problem.value for length in range(len(path) + 1)}
    placed = [problem for _, problem in text.problems]
    placed += [_at(problem, _place(text, path, problem)) for path, problem in problems if path not in spoiled]
    last = (float("inf"), 0.0)
    return sorted(placed, key=lambda problem: (problem.line, problem.column or 0) if problem.line else last)


def _place(text: JsonText, path: KeyPath, problem: Problem) -> Place | None:
    """Return the place of the value a problem quotes, else of the key, else of what encloses it."""
    if not path:
        return None
    first, second = (text.values, text.keys) if problem.value else (text.keys, text.values)
    for length in range(len(path), 0, -1):
        place = first.get(path[:length]) or second.get(path[:length])
        if place is not None:
            return place
    return None


def _at(problem: Problem, place: Place | None) -> Problem:
    return problem if place is None else replace(problem, line=place.line, column=place.column)


def _read(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            # One byte beyond the limit is enough to refuse the file, and bounds what an endless one can cost.
            return file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise unreadable(path, error) from error


def _present(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except PermissionError:
        return None


def _keep_older_schema(path: Path, data: bytes, history: SchemaHistory) -> None:
    """Keep a file of an older schema; one that was kept before is the original and stays."""
    with contextlib.suppress(InvalidInputError):
        version = schema_version(scan_json(data).value, history)
        kept = migration_backup_path(path, version)
        if version < history.version and not kept.exists():
            write_atomically(kept, data)
