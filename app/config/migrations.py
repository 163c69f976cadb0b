"""Schema versions of VeoConfig.json: which one a file has, and the steps from an older one to the present.

Version 1 is the first, so there is no step yet. A step is a pure function of the object of version n that returns
the object of version n + 1, entered in `MIGRATIONS` under n.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from app.config.veoconfig import SCHEMA_KEY, SCHEMA_NAME, SCHEMA_VERSION, schema_problem
from app.core.errors import InvalidInputError, Problem

Migration = Callable[[dict[str, Any]], dict[str, Any]]

_SCHEMA: Final = re.compile(rf"{SCHEMA_NAME}/([0-9]{{1,6}})")


@dataclass(frozen=True, slots=True)
class SchemaHistory:
    """Present version and the steps that lead to it.

    Attributes:
        version: the version that is written.
        migrations: version n → step to n + 1.
    """

    version: int = SCHEMA_VERSION
    migrations: Mapping[int, Migration] = field(default_factory=dict)


SCHEMA_HISTORY: Final = SchemaHistory()


def schema_version(obj: Mapping[str, Any], history: SchemaHistory = SCHEMA_HISTORY) -> int:
    """Return the schema version that an object says it has; a missing one means 1.

    Raises:
        InvalidInputError: no version, one newer than the present, or one that no step leads on from.
    """
    schema = obj.get(SCHEMA_KEY, f"{SCHEMA_NAME}/1")
    match = _SCHEMA.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        raise InvalidInputError([schema_problem(schema)])
    version = int(match[1])
    if version > history.version:
        newest = f"the newest this version reads is {SCHEMA_NAME}/{history.version}"
        raise InvalidInputError(
            [Problem(SCHEMA_KEY, f'"{schema}"', f"was written by a newer version ({newest})", "update VeoTuner")]
        )
    if any(step not in history.migrations for step in range(version, history.version)):
        raise InvalidInputError([schema_problem(schema)])
    return version


def migrate(obj: dict[str, Any], version: int, history: SchemaHistory = SCHEMA_HISTORY) -> dict[str, Any]:
    """Return the object in the present version, step by step; the given one is not changed."""
    for step in range(version, history.version):
        obj = history.migrations[step](dict(obj))
    return {key: value for key, value in obj.items() if key != SCHEMA_KEY}
