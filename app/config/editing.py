"""Edits of a configuration: each returns another one, or says what is wrong with the value."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import BaseModel

from app.config.complaints import nearest, shown
from app.config.options import OPTIONS, SECTIONS, Kind, Option, attribute_path, is_option, option
from app.config.veoconfig import VeoConfig, config_from_object, config_to_object
from app.core.errors import InvalidInputError, Problem


def option_value(config: VeoConfig, key: str) -> Any:
    """Return the value of an option as the model holds it; an object (`memory_timings`) as a plain dict.

    The result is always JSON-able: a choice is a `str`, a range or table a tuple.

    Raises:
        KeyError: no option has this key.
    """
    value: Any = config
    for name in attribute_path(key):
        value = getattr(value, name)
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


def replace_option(config: VeoConfig, key: str, value: Any) -> VeoConfig:
    """Return a configuration with one option changed.

    Raises:
        InvalidInputError: no option has this key, or it does not hold this value.
    """
    return replace_options(config, {key: value})


def replace_options(config: VeoConfig, values: Mapping[str, Any]) -> VeoConfig:
    """Return a configuration with several options changed at once, so that rules between them hold at the end.

    Raises:
        InvalidInputError: with every problem found.
    """
    problems = [_unknown_option(key) for key in values if not is_option(key)]
    if problems:
        raise InvalidInputError(problems)
    obj = config_to_object(config)
    for key, value in values.items():
        *sections, label = key.split(".")
        parent = obj
        for section in sections:
            parent = parent[section]
        parent[label] = value
    return config_from_object(obj)


def apply_settings(config: VeoConfig, settings: Iterable[str]) -> VeoConfig:
    """Return a configuration with `key=value` texts of a command line applied; the last of a key counts.

    A value is JSON (`8`, `true`, `null`, `[1500, 1800]`); text and choices may go without quotes.

    Raises:
        InvalidInputError: with every problem found.
    """
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals:
            problems.append(Problem("", shown(setting), "has no =", "write KEY=VALUE, such as frame_queue_depth=8"))
        elif not is_option(key):
            problems.append(_unknown_option(key))
        else:
            values[key] = _setting_value(option(key), text.strip())
    if problems:
        problems += _problems_of(config, values)
        raise InvalidInputError(problems)
    return replace_options(config, values)


def changed_options(old: VeoConfig, new: VeoConfig) -> dict[str, tuple[Any, Any]]:
    """Return key → (old value, new value) of every option that differs, in option order."""
    return {
        row.key: (before, after)
        for row in OPTIONS
        if (before := option_value(old, row.key)) != (after := option_value(new, row.key))
    }


def _problems_of(config: VeoConfig, values: Mapping[str, Any]) -> list[Problem]:
    try:
        replace_options(config, values)
    except InvalidInputError as error:
        return list(error.problems)
    return []


def _setting_value(row: Option, text: str) -> Any:
    if row.kind in (Kind.TEXT, Kind.CHOICE):
        return _setting_text(row, text)
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        # Not JSON: as text it cannot fit this option, so the complaint quotes it and says what would.
        return text


def _refuse_constant(name: str) -> None:
    """Refuse NaN and Infinity, which Python reads though JSON has no such numbers."""
    raise ValueError(name)


def _setting_text(row: Option, text: str) -> str | None:
    if text == "null" and row.nullable:
        return None
    if len(text) >= 2 and text[0] == text[-1] == '"':
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text


def _unknown_option(key: str) -> Problem:
    inside = [row.key for row in OPTIONS if row.key.startswith(f"{key}.")]
    if key in SECTIONS:
        return Problem(key, "", "is a group of options", f"set one of {', '.join(inside)}")
    near = nearest(key, (row.key for row in OPTIONS))
    hint = f"did you mean {near}?" if near else "see `veotuner schema` for all keys"
    return Problem(key or "(no key)", "", "is not an option", hint)
