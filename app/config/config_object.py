"""What every object of a VeoConfig.json has in common, and the form in which a rule between its values is broken."""

from __future__ import annotations

from typing import Final, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

EXTENSION_PREFIX: Final = "x_"
"""Keys that begin with this belong to the user: they are kept and saved untouched."""

RULE_BROKEN: Final = "veoconfig_rule"
"""Type of the validation error of a rule that spans more than one value; its context holds key, expected and hint."""


class ConfigObject(BaseModel):
    """An object of the file: frozen, unknown keys refused, `x_` keys kept in `extensions`."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        field_title_generator=lambda name, field: field.alias or name,
        json_schema_extra={"additionalProperties": False, "patternProperties": {f"^{EXTENSION_PREFIX}": {}}},
    )

    # init=False speaks to type checkers only: the keys are no parameter of the constructor.
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    @property
    def extensions(self) -> dict[str, JsonValue]:
        """Return the user's own `x_` keys."""
        return self.__pydantic_extra__

    @model_validator(mode="after")
    def _refuse_unknown_keys(self) -> Self:
        for key in self.__pydantic_extra__:
            if not key.startswith(EXTENSION_PREFIX):
                raise broken_rule(key, "is not an option", "remove it, or begin its name with x_ to keep it")
        return self


def broken_rule(key: str, expected: str, hint: str) -> PydanticCustomError:
    """Return the error of a rule between values: `key` (within its object) `expected` (verb phrase); `hint`."""
    return PydanticCustomError(
        RULE_BROKEN, "{key} {expected}; {hint}", {"key": key, "expected": expected, "hint": hint}
    )
