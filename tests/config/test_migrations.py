from __future__ import annotations

from typing import Any

import pytest

from app.config.migrations import SCHEMA_HISTORY, SchemaHistory, migrate, schema_version
from app.core.errors import InvalidInputError


def _append(step: str) -> Any:
    return lambda obj: {**obj, "steps": [*obj.get("steps", []), step]}


THREE = SchemaHistory(version=3, migrations={1: _append("1 to 2"), 2: _append("2 to 3")})


def test_a_missing_schema_means_one() -> None:
    assert schema_version({}) == 1
    assert schema_version({}, THREE) == 1


def test_each_step_is_taken_once_and_in_order() -> None:
    assert migrate({}, 1, THREE) == {"steps": ["1 to 2", "2 to 3"]}
    assert migrate({}, 2, THREE) == {"steps": ["2 to 3"]}
    assert migrate({}, 3, THREE) == {}


def test_the_given_object_is_not_changed() -> None:
    obj: dict[str, Any] = {"schema": "veoconfig/1", "a": 1}
    migrate(obj, 1, THREE)
    assert obj == {"schema": "veoconfig/1", "a": 1}


def test_the_present_history_is_complete() -> None:
    assert set(SCHEMA_HISTORY.migrations) == set(range(1, SCHEMA_HISTORY.version))


@pytest.mark.parametrize("schema", ["veoconfig/4", "veoconfig/999999"])
def test_a_newer_version_is_refused(schema: str) -> None:
    with pytest.raises(InvalidInputError, match="written by a newer version"):
        schema_version({"schema": schema}, THREE)


@pytest.mark.parametrize(
    "schema", [1, None, "", "1", "veoconfig", "veoconfig/", "veoconfig/x", "veoconfig/1.0", "other/1", "veoconfig/0"]
)
def test_what_is_no_version_is_refused(schema: object) -> None:
    with pytest.raises(InvalidInputError, match="is not"):
        schema_version({"schema": schema}, THREE)


def test_a_version_that_no_step_leads_on_from_is_refused() -> None:
    with pytest.raises(InvalidInputError):
        schema_version({}, SchemaHistory(version=3, migrations={2: _append("2 to 3")}))
