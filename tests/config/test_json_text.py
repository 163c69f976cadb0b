from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.config.json_text import MAX_BYTES, MAX_NESTING, KeyPath, scan_json
from app.core.errors import InvalidInputError
from tests.config.configurations import json_values, texts


def sentences(data: bytes) -> list[str]:
    """Return what is wrong with a text, noted or fatal."""
    try:
        return [problem.sentence() for _, problem in scan_json(data).problems]
    except InvalidInputError as error:
        return [problem.sentence() for problem in error.problems]


objects = st.dictionaries(texts, json_values, max_size=4)


@given(objects, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_what_json_writes_is_read_as_json_reads_it(
    obj: dict[str, Any], indent: int | str | None, ascii_only: bool, line_end: str
) -> None:
    data = json.dumps(obj, indent=indent, ensure_ascii=ascii_only).replace("\n", line_end).encode()
    assert scan_json(data).value == json.loads(data)
    assert sentences(data) == []


@given(objects, st.sampled_from([None, 2]))
def test_a_place_is_where_the_value_stands(obj: dict[str, Any], indent: int | None) -> None:
    text = json.dumps(obj, indent=indent, ensure_ascii=False)
    lines = text.split("\n")
    scanned = scan_json(text.encode())
    for path, place in scanned.values.items():
        written = json.dumps(_at(obj, path), ensure_ascii=False)
        assert lines[place.line - 1][place.column - 1 :].startswith(written[:1])
    for path, place in scanned.keys.items():
        assert lines[place.line - 1][place.column - 1 :].startswith(json.dumps(path[-1], ensure_ascii=False))


PIECES = (
    *("{", "}", "[", "]", ":", ",", '"', "\\", " ", "\n", "\t", '"a"', '"b"', '\\u00e9"', "\\x", "'", "//"),
    *("1", "-", "0", ".", "e", "+", "01", "1e999", "true", "null", "NaN", "Infinity", "-Infinity"),
    *("é", "\x00", "\x7f"),
)
fragments = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(fragments)
def test_any_text_is_read_as_json_reads_it_or_refused_at_a_place(text: str) -> None:
    data = text.encode()
    found = sentences(data)
    strict = _strict(text)
    if strict is None:
        assert found
    else:
        assert found == []
        assert scan_json(data).value == strict
    assert all("(line " in sentence for sentence in found)


@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused_at_a_place(data: bytes) -> None:
    assert all("(line " in sentence for sentence in sentences(data))


GOLDEN = {
    b"": "the file is empty (line 1, column 1); the smallest valid file is {}",
    b" \n ": "the file is empty (line 2, column 2); the smallest valid file is {}",
    b"[]": "“[” stands where the outermost { must be (line 1, column 1); a VeoConfig is one object, { … }",
    b"null": "“null” stands where the outermost { must be (line 1, column 1); a VeoConfig is one object, { … }",
    b"{} x": "“x” stands after the closing } (line 1, column 4); remove everything after the object",
    b"{}\n{}": "“{” stands after the closing } (line 2, column 1); remove everything after the object",
    b"\xef\xbb\xbf{}": "the file begins with a byte order mark (line 1, column 1); save it as UTF-8 without one",
    b"\xff\xfe{\0}\0": "the file is UTF-16 (line 1, column 1); save it as UTF-8 without a byte order mark",
    b'{"name":\n "\xe4"}': "byte 0xe4 is not UTF-8 (line 2, column 3); save the file as UTF-8",
    b'{"a": 1, "a": 2}': "a: is given twice, first in line 1, column 2 (line 1, column 10); keep one of the two",
    b'{"a": {"b": 1,\n"b": 2}}': (
        "a.b: is given twice, first in line 1, column 8 (line 2, column 1); keep one of the two"
    ),
    b'{"a": NaN}': "a: NaN is no number in JSON (line 1, column 7); write a finite number, or leave the key out",
    b'{"a": [1, -Infinity]}': "a[1]: -Infinity is no number in JSON (line 1, column 11); "
    "write a finite number, or leave the key out",
    b'{"a": 1e999}': "a: 1e999 is too large for a number (line 1, column 7); use a smaller one",
    b'{"a": "\\ud800"}': 'a: "\\ud800" holds half a surrogate pair (line 1, column 7); write both halves, or neither',
    b'{"a": 1,}': "a comma stands before the } (line 1, column 8); remove the comma",
    b'{"a": [1,]}': "a comma stands before the ] (line 1, column 9); remove the comma",
    b'{"a": 1 "b": 2}': '“"” stands where a comma or } must be (line 1, column 9); put a comma between two items',
    b'{"a": 1': "the end of the file stands where a comma or } must be (line 1, column 8); "
    "the file is cut off, or a bracket is missing",
    b"{a: 1}": '“a” stands where a key must be (line 1, column 2); write keys in double quotes, as "name"',
    b'{"a" 1}': '“1” stands where the : after a key must be (line 1, column 6); write "key": value',
    b'{"a": True}': "“True” stands where a value must be (line 1, column 7); write true",
    b"{\"a\": 'b'}": "“'b'” stands where a value must be (line 1, column 7); write text in double quotes",
    b'{"a": // b\n1}': "“//” stands where a value must be (line 1, column 7); "
    "JSON has no comments: remove it, or keep it as text under a key that begins with x_",
    b'{"a": .5}': "“.5” stands where a value must be (line 1, column 7); write a number as 33 or 33.3",
    b'{"a": 01}': "“01” stands where a value must be (line 1, column 7); write a number as 33 or 33.3",
    b'{"a": }': "“}” stands where a value must be (line 1, column 7); "
    "write a number, true, false, null, a text in double quotes, a list or an object",
    b'{"a": "b': 'a text is not closed by " (line 1, column 7); add the " at its end',
    b'{"a": "C:\\x"}': "“\\x” is no escape in JSON (line 1, column 10); write a backslash as \\\\",
    b'{"a": "b\nc"}': "a text holds the control character U+000A (line 1, column 9); "
    "write a line break as \\n, a tab as \\t",
}


@pytest.mark.parametrize("data", GOLDEN, ids=repr)
def test_each_fault_has_its_sentence(data: bytes) -> None:
    assert sentences(data) == [GOLDEN[data]]


def test_nesting_is_allowed_to_its_limit_and_no_deeper() -> None:
    lists = MAX_NESTING - 1
    assert sentences(b'{"x_a":' + b"[" * lists + b"]" * lists + b"}") == []
    assert sentences(b'{"x_a":' + b"[" * (lists + 1) + b"]" * (lists + 1) + b"}") == [
        "nesting is deeper than 16 levels (line 1, column 23); flatten it"
    ]


def test_a_file_may_have_one_mebibyte_and_no_more() -> None:
    full = b'{"x_a": "' + b"a" * (MAX_BYTES - 11) + b'"}'
    assert len(full) == MAX_BYTES
    assert sentences(full) == []
    assert sentences(full + b"\n") == [
        "the file is larger than 1 MiB (line 1, column 1048577); a VeoConfig has a few kB"
    ]


def test_a_very_long_number_is_refused_not_converted() -> None:
    (sentence,) = sentences(b'{"x_a": ' + b"9" * 5000 + b"}")
    assert "is too large for a number (line 1, column 9)" in sentence


def test_the_same_key_in_two_objects_under_a_doubled_key_is_no_second_fault() -> None:
    assert len(sentences(b'{"a": {"b": 1}, "a": {"b": 2}}')) == 1


def test_a_key_with_line_breaks_keeps_its_complaint_on_one_line() -> None:
    (sentence,) = sentences(b'{"a\\nb": NaN}')
    assert "\n" not in sentence


def _at(value: Any, path: KeyPath) -> Any:
    for part in path:
        value = value[part]
    return value


def _strict(text: str) -> dict[str, Any] | None:
    """Return what the standard library reads, None where it or our stricter rules refuse the text."""
    doubled = False

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        nonlocal doubled
        doubled = doubled or len(dict(items)) < len(items)
        return dict(items)

    def refuse(constant: str) -> None:
        raise ValueError(constant)

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=refuse)
        json.dumps(value, allow_nan=False)
    except ValueError:
        return None
    return value if isinstance(value, dict) and not doubled else None
