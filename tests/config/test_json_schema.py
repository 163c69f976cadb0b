from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from app.config.json_schema import render_json_schema, veoconfig_json_schema
from app.config.options import OPTIONS, Kind, Option
from app.config.presets import data_folder


def test_the_committed_schema_is_up_to_date() -> None:
    committed = Path(data_folder("assets") / "veoconfig.schema.json").read_text(encoding="utf-8")
    assert committed == render_json_schema(), "run: veotuner schema -o assets/veoconfig.schema.json"


@pytest.mark.parametrize("row", OPTIONS, ids=lambda row: row.key)
def test_every_option_is_in_the_schema_with_meaning_unit_and_bounds(row: Option) -> None:
    found = _property(row.key)
    assert found["description"] == row.meaning
    assert found.get("x-unit", "") == row.unit
    bounds = {(part.get("minimum"), part.get("maximum")) for part in _parts(found) if _is_number(part)}
    assert bounds == (
        {(row.minimum, row.maximum)} if row.minimum is not None and row.kind is not Kind.FIELDS else set()
    )
    choices = [part["enum"] for part in _parts(found) if "enum" in part]
    assert choices == ([list(row.choices)] if row.choices else [])
    assert ({"type": "null"} in list(_parts(found))) is row.nullable


def test_every_object_refuses_unknown_keys_and_keeps_own_ones() -> None:
    schema = veoconfig_json_schema()
    objects = [schema, *(part for part in schema["$defs"].values() if part.get("type") == "object")]
    assert len(objects) == 12
    for part in objects:
        assert part["additionalProperties"] is False
        assert list(part["patternProperties"]) == ["^x_"]


def test_no_key_is_required_but_the_fields_of_memory_timings() -> None:
    schema = veoconfig_json_schema()
    required = {name: part["required"] for name, part in schema["$defs"].items() if "required" in part}
    assert required == {"MemoryTimings": ["tCL", "tRCD", "tRP", "tRAS"]}
    assert "required" not in schema


def test_the_schema_version_is_a_constant() -> None:
    assert veoconfig_json_schema()["properties"]["schema"]["const"] == "veoconfig/1"


def _property(key: str) -> dict[str, Any]:
    schema = veoconfig_json_schema()
    part: dict[str, Any] = schema
    for label in key.split("."):
        reference = next((inner["$ref"] for inner in _parts(part) if "$ref" in inner), "")
        if reference:
            part = schema["$defs"][reference.rpartition("/")[2]]
        part = part["properties"][label]
    reference = next((inner["$ref"] for inner in _parts(part) if "$ref" in inner), "")
    if not reference or "MemoryTimings" in reference:
        return part
    return {**json.loads(json.dumps(schema["$defs"][reference.rpartition("/")[2]])), **part}


def _parts(part: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and what it is composed of, without descending into named properties."""
    if isinstance(part, list):
        for item in part:
            yield from _parts(item)
    elif isinstance(part, dict):
        yield part
        for name in ("anyOf", "allOf", "prefixItems", "items"):
            yield from _parts(part.get(name))


def _is_number(part: dict[str, Any]) -> bool:
    return part.get("type") in ("integer", "number")
