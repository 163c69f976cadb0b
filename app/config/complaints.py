"""What is wrong with a value, in words: every complaint about an option is made here from the option table.

`Problem.sentence` joins path, value, `expected` (a verb phrase) and hint.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from typing import Any, Final

from app.config.options import Kind, Option
from app.core.errors import Problem

_SHOWN_CHARACTERS: Final = 60


def shown(value: Any) -> str:
    """Return a value as a user wrote it in JSON, on one line, cut when it is long."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    if not text.isprintable():
        text = json.dumps(value, default=str)
    return text if len(text) <= _SHOWN_CHARACTERS else text[: _SHOWN_CHARACTERS - 1] + "…"


def number_text(value: float) -> str:
    """Return a number without a needless fraction (`4`, `33.3`)."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def bounds_text(option: Option) -> str:
    """Return the allowed range with its unit (`1–64 frames`)."""
    if option.minimum is None or option.maximum is None:
        raise ValueError(f"{option.key} has no bounds")
    # An en dash after a negative bound reads as a second minus.
    dash = " to " if option.minimum < 0 else "–"
    unit = f" {option.unit}" if option.unit else ""
    return f"{number_text(option.minimum)}{dash}{number_text(option.maximum)}{unit}"


def allowed_text(option: Option) -> str:
    """Return what an option holds (`a whole number in 1–64 frames`, `one of block, drop_oldest, drop_newest`)."""
    return _filled(_ALLOWED[option.kind], option) + (", or null" if option.nullable else "")


def value_problem(option: Option, path: str, value: Any) -> Problem:
    """Return the complaint about a value that `option` does not allow.

    Args:
        path: where the value stands; below the option's key when it is one item of a list or object.
    """
    item = path != option.key
    if _is_number(value) and _holds_numbers(option, item=item) and not _within(option, value):
        return Problem(path, shown(value), f"is outside {bounds_text(option)}", _nearest_bound(option, value))
    expected = _filled(_ALLOWED_ITEM[option.kind], option) if item else allowed_text(option)
    return Problem(path, shown(value), f"is not {expected}", _type_hint(option, value, item=item))


def missing_problem(path: str, option: Option) -> Problem:
    """Return the complaint about a required key that is not there."""
    fields = ", ".join(option.fields)
    return Problem(path, "", "is missing", f"give all of {fields}, or set {option.key} to null")


def unknown_key_problem(path: str, known: Iterable[str]) -> Problem:
    """Return the complaint about a key that no option has, with the nearest of the `known` paths."""
    near = nearest(path, known)
    hint = f"did you mean {near}? Else" if near else "see `veotuner schema` for all keys,"
    return Problem(path, "", "is not an option", f"{hint} remove it, or begin its name with x_ to keep it")


def nearest(text: str, known: Iterable[str]) -> str:
    """Return the known name that is most like `text`, or "" when none is."""
    # Comparing is quadratic in the length, and no known name is anywhere near this long.
    if len(text) > 100:
        return ""
    by_folded = {name.casefold(): name for name in known}
    found = difflib.get_close_matches(text.casefold(), by_folded, n=1, cutoff=0.5)
    return by_folded[found[0]] if found else ""


_ALLOWED: Final = {
    Kind.FLAG: "true or false",
    Kind.INT: "a whole number in {bounds}",
    Kind.NUMBER: "a number in {bounds}",
    Kind.TEXT: "text",
    Kind.CHOICE: "one of {choices}",
    Kind.RANGE: "[minimum, maximum], two whole numbers in {bounds}",
    Kind.INT_LIST: "a list of whole numbers in {bounds}",
    Kind.TABLE: "a list of rows of two numbers in {bounds}",
    Kind.FIELDS: "an object with {fields}, whole numbers in {bounds}",
    Kind.OBJECT: "an object",
}

_ALLOWED_ITEM: Final = {
    Kind.RANGE: "a whole number in {bounds}",
    Kind.INT_LIST: "a whole number in {bounds}",
    Kind.TABLE: "a number in {bounds}",
    Kind.FIELDS: "a whole number in {bounds}",
    Kind.OBJECT: "a JSON value",
}


def _filled(template: str, option: Option) -> str:
    bounds = bounds_text(option) if option.minimum is not None else ""
    return template.format(bounds=bounds, choices=", ".join(option.choices), fields=", ".join(option.fields))


def _holds_numbers(option: Option, *, item: bool) -> bool:
    return option.kind in ({Kind.RANGE, Kind.INT_LIST, Kind.TABLE, Kind.FIELDS} if item else {Kind.INT, Kind.NUMBER})


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _within(option: Option, value: float) -> bool:
    return (option.minimum is None or value >= option.minimum) and (option.maximum is None or value <= option.maximum)


def _nearest_bound(option: Option, value: float) -> str:
    low, high = option.minimum or 0, option.maximum or 0
    return f"use {number_text(low)} or more" if value < low else f"use {number_text(high)} or less"


def _type_hint(option: Option, value: Any, *, item: bool) -> str:
    if option.kind is Kind.CHOICE:
        return _choice_hint(option, value)
    if _holds_numbers(option, item=item):
        return _number_hint(option, value)
    return _EXAMPLES[option.kind]


_EXAMPLES: Final = {
    Kind.FLAG: "write true or false, without quotes",
    Kind.TEXT: "write it in double quotes",
    Kind.RANGE: "write it as [1500, 1800]",
    Kind.INT_LIST: "write it as [2, 3], or [] for none",
    Kind.TABLE: "write it as [[40, 60], [80, 45]]",
    Kind.FIELDS: "give every field, or write null",
    Kind.OBJECT: "write it as {…}",
}


def _choice_hint(option: Option, value: Any) -> str:
    near = nearest(value, option.choices) if isinstance(value, str) else ""
    return f"did you mean {near}?" if near else f'use "{option.default}", the default'


def _number_hint(option: Option, value: Any) -> str:
    if isinstance(value, str) and _is_plain_number(value):
        return f"write {value} without quotes"
    if isinstance(value, float):
        return f"use {round(value)}"
    if value is None:
        return "leave the key out to take its default"
    example = option.default if _is_number(option.default) else option.minimum or 0
    return f"write a number, such as {number_text(example)}"


def _is_plain_number(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.replace(".", "", 1).isdigit() and digits[0] != "."
