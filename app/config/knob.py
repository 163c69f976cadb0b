"""What one knob is: the metadata that stands beside a field of the VeoConfig model, and the validation made of it.

A knob is declared once, in `app.config.model` or a module of its sections: type, default, bounds, unit, effect and
meaning in one place. pydantic takes its constraints from here, and `app.config.options` reads the option table off the
model, so the two cannot disagree.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Union, get_args, get_origin

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema


class Effect(StrEnum):
    """When a change of an option acts."""

    LIVE = "live"
    """At the next frame."""
    SWAPCHAIN = "swapchain"
    """The swapchain is rebuilt between two frames; nothing restarts."""
    PIPELINE = "pipeline"
    """The stage it concerns is opened anew; where that cannot be (a device), with the next run. The window stays."""
    PRIVILEGED = "privileged"
    """Goes through the hardware guard."""
    RECORD = "record"
    """Kept in the file; nothing on this machine acts on it."""


class Group(StrEnum):
    """Heading under which an option stands, in file order."""

    IDENTITY = "Identity"
    QUEUES = "Queues"
    LATENCY = "Latency"
    SWAPCHAIN = "Swapchain"
    PREVIEW_STREAM = "Preview stream"
    CLOCKS = "Clocks and memory"
    GOVERNORS = "Governors"
    ENCODER = "Encoder"
    ALERTS = "Alerts"
    SCHEDULING = "Scheduling and device"


@dataclass(frozen=True, slots=True)
class Section:
    """Metadata of a nested object whose fields are knobs: they take group and effect from it.

    Attributes:
        group: heading of all its knobs.
        effect: when a change of any of them acts.
        meaning: one sentence: what the section is for.
    """

    group: Group
    effect: Effect
    meaning: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Knob:
    """Metadata of one field of the model.

    Attributes:
        meaning: one sentence: what the knob does and which way it pushes what.
        group: heading; None inside a `Section`, whose group it takes.
        effect: when a change acts; None inside a `Section`.
        unit: unit of the value as it is shown (`ms`, `frames`), "" for none.
        minimum, maximum: inclusive bounds of a number, or of every number in a list; None where there is none.
        step: sensible increment of a slider; None where the value is no number.
    """

    meaning: str
    group: Group | None = None
    effect: Effect | None = None
    unit: str = ""
    minimum: float | None = None
    maximum: float | None = None
    step: float | None = None

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Return the validation of this field: strict types within the bounds."""
        plain, nullable = without_none(source)
        schema = self._schema(plain, handler)
        return core_schema.nullable_schema(schema) if nullable else schema

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the field's JSON Schema with its meaning and unit."""
        unit = {"x-unit": self.unit} if self.unit else {}
        return {**handler(schema), "description": self.meaning, **unit}

    def _schema(self, plain: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        if get_origin(plain) is tuple:
            return self._tuple_schema(get_args(plain), handler)
        numbers: dict[Any, Callable[[], CoreSchema]] = {int: self._int_schema, float: self._float_schema}
        if plain in numbers:
            return numbers[plain]()
        if plain is bool:
            return core_schema.bool_schema(strict=True)
        if plain is str:
            return core_schema.str_schema(strict=True)
        return handler(plain)

    def _tuple_schema(self, items: tuple[Any, ...], handler: GetCoreSchemaHandler) -> CoreSchema:
        if items[-1] is Ellipsis:
            return core_schema.tuple_schema([self._schema(items[0], handler)], variadic_item_index=0)
        return core_schema.tuple_schema([self._schema(item, handler) for item in items])

    def _int_schema(self) -> CoreSchema:
        low = None if self.minimum is None else int(self.minimum)
        high = None if self.maximum is None else int(self.maximum)
        return core_schema.no_info_before_validator_function(
            whole_number, core_schema.int_schema(strict=True, ge=low, le=high)
        )

    def _float_schema(self) -> CoreSchema:
        number = core_schema.float_schema(strict=True, allow_inf_nan=False, ge=self.minimum, le=self.maximum)
        return core_schema.no_info_after_validator_function(_without_negative_zero, number)


def without_none(annotation: Any) -> tuple[Any, bool]:
    """Return a type without `None`, and whether it had it (`int | None` → `int`, True)."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation, False
    plain = [item for item in get_args(annotation) if item is not type(None)]
    if len(plain) != 1:
        raise TypeError(f"a knob holds one type, or one type or None, not {annotation}")
    return plain[0], True


def whole_number(value: object) -> object:
    """Return 4 for 4.0, anything else untouched: JSON has one kind of number, JSON Schema counts 4.0 as an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _without_negative_zero(value: float) -> float:
    # -0.0 equals 0.0 but is written differently; equal configurations must give equal bytes.
    return value + 0.0
