"""Strict JSON with the place of every value.

Our own scanner, because no kept library gives line and column of the values and refuses what a configuration must
not hold: duplicate keys, NaN, Infinity, numbers that overflow, half surrogate pairs, a byte order mark, deep nesting.
Tests hold it to `json.loads` on everything both accept.
"""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, NoReturn

from app.core.errors import InvalidInputError, Problem

MAX_BYTES: Final = 1 << 20
"""Largest text, 1 MiB."""

MAX_NESTING: Final = 16
"""Deepest nesting; the outermost object is level 1."""

MAX_DIGITS: Final = 4300
"""Longest whole number: where Python's own conversion stops."""

KeyPath = tuple[str | int, ...]
"""Where a value stands: keys and list indexes from the top."""


class Place(NamedTuple):
    """1-based line and column; a column is one Unicode character, a tab too."""

    line: int
    column: int


@dataclass(frozen=True, slots=True)
class JsonText:
    """A scanned text.

    Attributes:
        value: the outermost object, without what `problems` names.
        problems: faults that did not stop the scan, with their paths, each with line and column.
        keys, values: place of each key and of each value.
    """

    value: dict[str, Any]
    problems: tuple[tuple[KeyPath, Problem], ...]
    keys: Mapping[KeyPath, Place]
    values: Mapping[KeyPath, Place]


def scan_json(data: bytes) -> JsonText:
    """Scan a JSON object.

    Raises:
        InvalidInputError: the text is no JSON object, or a fault leaves its structure unclear; with line and column.
    """
    text = _decode(data)
    scanner = _Scanner(text)
    value = scanner.document()
    return JsonText(value, tuple(scanner.problems), scanner.keys, scanner.values)


def _decode(data: bytes) -> str:
    if len(data) > MAX_BYTES:
        head = data[:MAX_BYTES].decode(errors="replace")
        raise _fault(_Lines(head).place(len(head)), "", "the file is larger than 1 MiB", "a VeoConfig has a few kB")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _fault(Place(1, 1), "", "the file is UTF-16", "save it as UTF-8 without a byte order mark")
    if data.startswith(b"\xef\xbb\xbf"):
        raise _fault(Place(1, 1), "", "the file begins with a byte order mark", "save it as UTF-8 without one")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        head = data[: error.start].decode()
        byte = f"byte 0x{data[error.start]:02x}"
        raise _fault(_Lines(head).place(len(head)), byte, "is not UTF-8", "save the file as UTF-8") from None


def _fault(place: Place, value: str, expected: str, hint: str) -> InvalidInputError:
    return InvalidInputError([Problem("", value, expected, hint, line=place.line, column=place.column)])


class _Lines:
    """Line and column of offsets in a text."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        line = bisect_right(self._starts, offset)
        return Place(line, offset - self._starts[line - 1] + 1)


_SPOILED: Final = object()
"""Stands for a value with a fault until its container leaves it out."""

_SPACE: Final = re.compile(r"[ \t\n\r]*+")
_NUMBER: Final = re.compile(r"-?(?:0|[1-9][0-9]*+)(\.[0-9]++)?([eE][+-]?[0-9]++)?(?![0-9A-Za-z_.+-])")
_STRING_INSIDE: Final = re.compile(r'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u[0-9a-fA-F]{4})*+')
_NOT_FINITE: Final = re.compile(r"-?(?:NaN|Infinity)\b")
_WORD: Final = re.compile(r"[^\s,:\[\]{}\"]{1,40}")
_LITERALS: Final = {"true": True, "false": False, "null": None}


class _Scanner:
    """Recursive descent over one text; a fault that leaves the structure clear is noted and the scan goes on."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._lines = _Lines(text)
        self.problems: list[tuple[KeyPath, Problem]] = []
        self.keys: dict[KeyPath, Place] = {}
        self.values: dict[KeyPath, Place] = {}

    def document(self) -> dict[str, Any]:
        """Scan the whole text."""
        self._skip_space()
        if self._at == len(self._text):
            self._stop("", "the file is empty", "the smallest valid file is {}")
        if self._next() != "{":
            self._stop(self._found(), "stands where the outermost { must be", "a VeoConfig is one object, { … }")
        value: dict[str, Any] = self._object((), 1)
        self._skip_space()
        if self._at != len(self._text):
            self._stop(self._found(), "stands after the closing }", "remove everything after the object")
        return value

    def _value(self, path: KeyPath, level: int) -> Any:
        self.values[path] = self._lines.place(self._at)
        first = self._next()
        if first in ("{", "["):
            if level > MAX_NESTING:
                self._stop("", f"nesting is deeper than {MAX_NESTING} levels", "flatten it")
            return self._object(path, level) if first == "{" else self._list(path, level)
        if first == '"':
            return self._string(path)
        return self._scalar(path)

    def _object(self, path: KeyPath, level: int) -> dict[str, Any]:
        result: dict[str, Any] = {}
        seen: dict[str, Place] = {}
        self._at += 1
        self._skip_space()
        while self._next() != "}":
            if self._next() != '"':
                self._stop(self._found(), "stands where a key must be", 'write keys in double quotes, as "name"')
            self._member(result, seen, path, level)
            if not self._more("}"):
                break
        self._at += 1
        return result

    def _member(self, result: dict[str, Any], seen: dict[str, Place], path: KeyPath, level: int) -> None:
        place = self._lines.place(self._at)
        key = self._string(path)
        self._skip_space()
        if self._next() != ":":
            self._stop(self._found(), "stands where the : after a key must be", 'write "key": value')
        self._at += 1
        self._skip_space()
        # A key with a fault has been noted; its value is scanned for its own faults and left out.
        name = key if isinstance(key, str) else "?"
        inner = (*path, name)
        if name in seen:
            expected = f"is given twice, first in line {seen[name].line}, column {seen[name].column}"
            self._note(inner, Problem(path_text(inner), "", expected, "keep one of the two"), place)
        seen.setdefault(name, place)
        self.keys[inner] = place
        value = self._value(inner, level + 1)
        if value is not _SPOILED and isinstance(key, str):
            result[key] = value

    def _list(self, path: KeyPath, level: int) -> Any:
        result: list[Any] = []
        self._at += 1
        self._skip_space()
        while self._next() != "]":
            result.append(self._value((*path, len(result)), level + 1))
            if not self._more("]"):
                break
        self._at += 1
        # Leaving one item out would shift the rest, so the whole list goes.
        return _SPOILED if any(item is _SPOILED for item in result) else result

    def _more(self, closing: str) -> bool:
        """Pass the comma before another item; False at the closing bracket."""
        self._skip_space()
        if self._next() == closing:
            return False
        if self._next() != ",":
            hint = "put a comma between two items" if self._next() else "the file is cut off, or a bracket is missing"
            self._stop(self._found(), f"stands where a comma or {closing} must be", hint)
        comma = self._at
        self._at += 1
        self._skip_space()
        if self._next() == closing:
            place = self._lines.place(comma)
            self._note((), Problem("", "", f"a comma stands before the {closing}", "remove the comma"), place)
            return False
        return True

    def _string(self, path: KeyPath) -> Any:
        start = self._at
        end = _STRING_INSIDE.match(self._text, start + 1).end()  # type: ignore[union-attr]  # it also matches nothing
        self._at = end
        if end == len(self._text):
            self._at = start
            self._stop("", 'a text is not closed by "', 'add the " at its end')
        if self._text[end] == "\\":
            self._stop(f"“{self._text[end : end + 2]}”", "is no escape in JSON", "write a backslash as \\\\")
        if self._text[end] != '"':
            what = f"the control character U+{ord(self._text[end]):04X}"
            self._stop("", f"a text holds {what}", "write a line break as \\n, a tab as \\t")
        self._at += 1
        value: str = json.loads(self._text[start : self._at])
        if _is_unicode(value):
            return value
        problem = Problem(
            path_text(path),
            self._text[start : self._at][:60],
            "holds half a surrogate pair",
            "write both halves, or neither",
        )
        self._note(path, problem, self._lines.place(start))
        return _SPOILED

    def _scalar(self, path: KeyPath) -> Any:
        number = _NUMBER.match(self._text, self._at)
        if number:
            return self._number(path, number)
        infinite = _NOT_FINITE.match(self._text, self._at)
        if infinite:
            problem = Problem(
                path_text(path), infinite[0], "is no number in JSON", "write a finite number, or leave the key out"
            )
            self._note(path, problem, self.values[path])
            self._at = infinite.end()
            return _SPOILED
        word = _WORD.match(self._text, self._at)
        if word is None or word[0] not in _LITERALS:
            self._stop(self._found(), "stands where a value must be", _value_hint(word[0] if word else ""))
        self._at = word.end()
        return _LITERALS[word[0]]

    def _number(self, path: KeyPath, match: re.Match[str]) -> Any:
        self._at = match.end()
        text = match[0]
        whole = match[1] is None and match[2] is None
        if whole and len(text) <= MAX_DIGITS:
            return int(text)
        value = float(text)
        if math.isfinite(value) and not whole:
            return value
        shown = text if len(text) <= 60 else f"{text[:59]}…"
        self._note(
            path, Problem(path_text(path), shown, "is too large for a number", "use a smaller one"), self.values[path]
        )
        return _SPOILED

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip_space(self) -> None:
        self._at = _SPACE.match(self._text, self._at).end()  # type: ignore[union-attr]  # it also matches nothing

    def _found(self) -> str:
        word = _WORD.match(self._text, self._at)
        text = word[0] if word else self._next()
        return f"“{text}”" if text else "the end of the file"

    def _note(self, path: KeyPath, problem: Problem, place: Place) -> None:
        self.problems.append((path, replace(problem, line=place.line, column=place.column)))

    def _stop(self, value: str, expected: str, hint: str) -> NoReturn:
        """Raise a fault here together with those noted before it."""
        place = self._lines.place(self._at)
        fault = Problem("", value, expected, hint, line=place.line, column=place.column)
        raise InvalidInputError([*(problem for _, problem in self.problems), fault])


def path_text(path: KeyPath) -> str:
    """Return a path as it is shown (`frame_compensation.table[1][0]`)."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            text += f".{_printable_key(part)}" if text else _printable_key(part)
    return text


def _printable_key(key: str) -> str:
    """Return a key on one line: cut when it is longer than any of ours, control characters as escapes."""
    short = key if len(key) <= 60 else f"{key[:59]}…"
    return short if short.isprintable() else short.encode("unicode_escape").decode()


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _value_hint(word: str) -> str:
    hints = {"True": "write true", "False": "write false", "None": "write null", "nan": "leave the key out"}
    if word in hints:
        return hints[word]
    if word.startswith(("/", "#")):
        return "JSON has no comments: remove it, or keep it as text under a key that begins with x_"
    if word.startswith("'"):
        return "write text in double quotes"
    if word[:1] in set("+.-0123456789"):
        return "write a number as 33 or 33.3"
    return "write a number, true, false, null, a text in double quotes, a list or an object"
