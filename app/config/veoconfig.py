"""VeoConfig as a JSON object: out of the model and back, with every problem of an input reported at once."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from app.config.complaints import missing_problem, shown, unknown_key_problem, value_problem
from app.config.config_object import EXTENSION_PREFIX, RULE_BROKEN, ConfigObject
from app.config.governors import (
    BandwidthGuard,
    FrameCompensation,
    IframeGuard,
    Recapture,
    RecaptureWeights,
    ThermalGuard,
)
from app.config.json_text import KeyPath, path_text
from app.config.model import VeoConfig
from app.config.options import OPTIONS, SECTIONS, Kind, Option, is_option, option
from app.config.sections import Alerts, Device, Encoder, MemoryTimings, Realtime
from app.core.errors import InvalidInputError, Problem

__all__ = [
    "SCHEMA_KEY",
    "SCHEMA_NAME",
    "SCHEMA_VERSION",
    "Alerts",
    "BandwidthGuard",
    "ConfigObject",
    "Device",
    "Encoder",
    "FrameCompensation",
    "IframeGuard",
    "MemoryTimings",
    "Realtime",
    "Recapture",
    "RecaptureWeights",
    "ThermalGuard",
    "VeoConfig",
    "config_from_object",
    "config_to_object",
    "examine_object",
    "schema_problem",
]

SCHEMA_KEY: Final = "schema"
SCHEMA_NAME: Final = "veoconfig"
SCHEMA_VERSION: Final = 1

MAX_PROBLEMS: Final = 100
"""Problems reported of one input; the last says how many more there are."""

_EXACT_WHOLE: Final = 2.0**53


def config_to_object(config: VeoConfig) -> dict[str, Any]:
    """Return the configuration as JSON values: every key in file order, then the `x_` keys by name.

    Equal configurations give equal objects in equal order.
    """
    dumped = config.model_dump(mode="json")
    return {SCHEMA_KEY: f"{SCHEMA_NAME}/{SCHEMA_VERSION}", **_in_file_order(dumped, ())}


def config_from_object(obj: Mapping[str, Any]) -> VeoConfig:
    """Return the configuration of a JSON object of the present schema version; missing keys take their default.

    Raises:
        InvalidInputError: with every problem found.
    """
    config, problems = examine_object(obj)
    if config is None or problems:
        raise InvalidInputError([problem for _, problem in problems])
    if not _is_writable(config_to_object(config)):
        raise InvalidInputError([_UNWRITABLE])
    return config


def examine_object(obj: Mapping[str, Any]) -> tuple[VeoConfig | None, list[tuple[KeyPath, Problem]]]:
    """Return the configuration (None where there are problems) and every problem with where it stands."""
    plain: dict[str, Any] = copy.deepcopy(dict(obj))
    schema = plain.pop(SCHEMA_KEY, f"{SCHEMA_NAME}/{SCHEMA_VERSION}")
    problems: list[tuple[KeyPath, Problem]] = []
    if schema != f"{SCHEMA_NAME}/{SCHEMA_VERSION}":
        problems.append(((SCHEMA_KEY,), schema_problem(schema)))
    problems += _take_unknown_keys(plain)
    config = _validate(plain, problems)
    if not problems:
        return config, []
    return None, _first_problems(problems)


def schema_problem(schema: Any) -> Problem:
    """Return the complaint about a value of `schema` that this version cannot read."""
    return Problem(
        SCHEMA_KEY,
        shown(schema),
        f'is not "{SCHEMA_NAME}/{SCHEMA_VERSION}"',
        f'write "{SCHEMA_NAME}/{SCHEMA_VERSION}", or leave the key out',
    )


_UNWRITABLE: Final = Problem(
    "",
    "",
    "a text or own value holds what JSON cannot: NaN, Infinity or half a surrogate pair",
    "write null for a value that is missing",
)


def _is_writable(obj: dict[str, Any]) -> bool:
    """Tell whether JSON can hold an object. A file's was scanned; one made in the program may hold anything."""
    try:
        json.dumps(obj, ensure_ascii=False, allow_nan=False).encode()
    except ValueError:
        return False
    return True


def _in_file_order(value: Any, path: KeyPath) -> Any:
    if isinstance(value, dict):
        known = _known_keys(path)
        keys = [key for key in value if key in known]
        keys += sorted(key for key in value if key not in known)
        return {key: _in_file_order(value[key], (*path, key)) for key in keys}
    if isinstance(value, list):
        return [_in_file_order(item, (*path, index)) for index, item in enumerate(value)]
    if isinstance(value, float) and value.is_integer() and abs(value) < _EXACT_WHOLE:
        # 33 and 33.0 are equal, so they must be written alike; 33 is what a person writes.
        return int(value)
    return value


def _known_keys(path: KeyPath) -> tuple[str, ...]:
    """Return the keys that the object at `path` may hold, () where any may stand."""
    return _KEYS_OF_OBJECT.get(path_text(path), ())


def _keys_of_objects() -> dict[str, tuple[str, ...]]:
    keys: dict[str, list[str]] = {"": [], **{section: [] for section in SECTIONS}}
    for path in [*(row.key for row in OPTIONS), *SECTIONS]:
        parent, _, label = path.rpartition(".")
        keys[parent].append(label)
    fields = {row.key: row.fields for row in OPTIONS if row.kind is Kind.FIELDS}
    return {path: tuple(labels) for path, labels in keys.items()} | fields


_KEYS_OF_OBJECT: Final = _keys_of_objects()


def _known_paths() -> list[str]:
    return [*(f"{path}.{key}".removeprefix(".") for path, keys in _KEYS_OF_OBJECT.items() for key in keys), SCHEMA_KEY]


def _take_unknown_keys(obj: dict[str, Any]) -> list[tuple[KeyPath, Problem]]:
    """Remove the keys that no option has, and return the complaint about each (nearest names for the first ones)."""
    known = _known_paths()
    problems: list[tuple[KeyPath, Problem]] = []
    for path, key, parent in list(_unknown_keys(obj, ())):
        del parent[key]
        near = known if len(problems) < MAX_PROBLEMS else []
        problems.append((path, unknown_key_problem(path_text(path), near)))
    return problems


def _unknown_keys(obj: dict[str, Any], path: KeyPath) -> Iterator[tuple[KeyPath, str, dict[str, Any]]]:
    """Yield path, key and parent of each key that no option has."""
    known = _known_keys(path)
    for key, value in obj.items():
        if key.startswith(EXTENSION_PREFIX):
            continue
        if key not in known:
            yield (*path, key), key, obj
        elif isinstance(value, dict) and _known_keys((*path, key)):
            yield from _unknown_keys(value, (*path, key))


def _validate(obj: dict[str, Any], problems: list[tuple[KeyPath, Problem]]) -> VeoConfig:
    """Validate, setting aside what is wrong until the rest stands, so that rules between values are checked too."""
    while True:
        try:
            return VeoConfig.model_validate(obj)
        except ValidationError as error:
            for details in error.errors(include_url=False):
                path, problem = _problem(details)
                problems.append((path, problem))
                _set_aside(obj, path)


def _problem(details: ErrorDetails) -> tuple[KeyPath, Problem]:
    path: KeyPath = details["loc"]
    if details["type"] == RULE_BROKEN:
        context = details["ctx"]
        path = (*path, context["key"])
        return path, Problem(path_text(path), "", context["expected"], context["hint"])
    row = _option_above(path)
    if row is None:
        text = path_text(path)
        return path, Problem(text, shown(details["input"]), "is not an object", f"write {text} as {{…}}")
    if details["type"] == "missing" and row.kind is Kind.FIELDS:
        return path, missing_problem(path_text(path), row)
    if details["type"] in ("missing", "too_long") and row.kind in (Kind.RANGE, Kind.TABLE):
        return _length_problem(path, details, row)
    return path, value_problem(row, path_text(path), details["input"])


def _length_problem(path: KeyPath, details: ErrorDetails, row: Option) -> tuple[KeyPath, Problem]:
    """Return the complaint about a list that is too short (reported at the missing item) or too long."""
    whole = path[:-1] if details["type"] == "missing" else path
    if path_text(whole) == row.key:
        return whole, value_problem(row, row.key, details["input"])
    text = path_text(whole)
    return whole, Problem(text, shown(details["input"]), "is not a row of two numbers", "write it as [40, 60]")


def _option_above(path: KeyPath) -> Option | None:
    """Return the option that a path lies in."""
    for length in range(len(path), 0, -1):
        text = path_text(path[:length])
        if is_option(text):
            return option(text)
    return None


def _set_aside(obj: dict[str, Any], path: KeyPath) -> None:
    """Remove the option that a path lies in, so that it takes its default; its whole section if it is not there.

    A rule may be broken by a default (`band_low_us` alone raised above the default of `band_high_us`): then only
    the section can go.
    """
    row = _option_above(path)
    keys = row.key.split(".") if row else [str(part) for part in path]
    parents: list[dict[str, Any]] = [obj]
    for key in keys[:-1]:
        inner = parents[-1].get(key)
        if not isinstance(inner, dict):
            break
        parents.append(inner)
    if keys[len(parents) - 1] in parents[-1]:
        del parents[-1][keys[len(parents) - 1]]
    else:
        obj.pop(keys[0], None)


def _first_problems(problems: list[tuple[KeyPath, Problem]]) -> list[tuple[KeyPath, Problem]]:
    if len(problems) <= MAX_PROBLEMS:
        return problems
    rest = len(problems) - MAX_PROBLEMS
    more = Problem("", "", f"and {rest} more problems", "cure these first, then check again")
    return [*problems[:MAX_PROBLEMS], ((), more)]
