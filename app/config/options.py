"""The option table: `OPTIONS`, read off the VeoConfig model at import and checked there.

Controls, flags, sweep axes, the schema and the reference take everything from here and list nothing themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from app.config.config_object import ConfigObject
from app.config.knob import Effect, Group, Knob, Section, without_none
from app.config.model import VeoConfig

__all__ = [
    "BOUNDED_KINDS",
    "GROUPS",
    "OPTIONS",
    "SECTIONS",
    "STEPPED_KINDS",
    "Effect",
    "Group",
    "Kind",
    "Option",
    "attribute_path",
    "is_option",
    "option",
]


class Kind(StrEnum):
    """Shape of an option's value, which decides its control and how it is written."""

    FLAG = "flag"
    """`bool`."""
    INT = "int"
    """`int`."""
    NUMBER = "number"
    """`float`."""
    TEXT = "text"
    """`str`."""
    CHOICE = "choice"
    """One of `choices`."""
    RANGE = "range"
    """`(int, int)`, lowest and highest."""
    INT_LIST = "int_list"
    """Tuple of `int`."""
    TABLE = "table"
    """Tuple of rows of two `float`."""
    FIELDS = "fields"
    """Object of whole numbers, its keys in `fields`."""
    OBJECT = "object"
    """Any JSON object."""


@dataclass(frozen=True, slots=True)
class Option:
    """One row of the table.

    Attributes:
        key: dotted key (`thermal_guard.start_c`).
        group: heading.
        kind: shape of the value.
        default: default, JSON-able (a choice is its text).
        minimum, maximum: inclusive bounds of the value or of every number in it; None for none.
        step: sensible increment; None where the value is no number.
        unit: "" for none.
        choices: allowed texts of a `Kind.CHOICE`, in order; empty otherwise.
        fields: keys of a `Kind.FIELDS`; empty otherwise.
        nullable: may be null, which switches it off.
        effect: when a change acts.
        meaning: one sentence: what it does and which way it pushes what.
    """

    key: str
    group: Group
    kind: Kind
    default: Any
    minimum: float | None
    maximum: float | None
    step: float | None
    unit: str
    choices: tuple[str, ...]
    fields: tuple[str, ...]
    nullable: bool
    effect: Effect
    meaning: str

    @property
    def acts(self) -> bool:
        """Tell whether the engine obeys it: neither only kept in the file nor left to the hardware guard."""
        return self.effect not in (Effect.RECORD, Effect.PRIVILEGED)

    @property
    def section(self) -> str:
        """Return the key of the object it lies in (`thermal_guard`), or "" at the top."""
        return self.key.rpartition(".")[0]

    @property
    def label(self) -> str:
        """Return the last part of the key."""
        return self.key.rpartition(".")[2]


GROUPS: Final[tuple[Group, ...]] = tuple(Group)
"""Headings in file order."""

_KIND_OF_TYPE: Final[Mapping[Any, Kind]] = {
    bool: Kind.FLAG,
    int: Kind.INT,
    float: Kind.NUMBER,
    str: Kind.TEXT,
    tuple[int, int]: Kind.RANGE,
    tuple[int, ...]: Kind.INT_LIST,
    tuple[tuple[float, float], ...]: Kind.TABLE,
}


def _kind(plain: Any) -> Kind:
    """Return the kind of a field's type; raises TypeError for one that no control could show."""
    if plain in _KIND_OF_TYPE:
        return _KIND_OF_TYPE[plain]
    if _choices(plain):
        return Kind.CHOICE
    if isinstance(plain, type) and issubclass(plain, ConfigObject):
        return Kind.FIELDS
    if get_origin(plain) is dict:
        return Kind.OBJECT
    raise TypeError(f"no kind of option holds {plain}")


def _choices(plain: Any) -> tuple[str, ...]:
    if get_origin(plain) is Literal:
        return tuple(str(choice) for choice in get_args(plain))
    if isinstance(plain, type) and issubclass(plain, StrEnum):
        return tuple(member.value for member in plain)
    return ()


def _plain_type(field: FieldInfo) -> tuple[Any, bool]:
    if field.annotation is None:
        raise TypeError("a field of the model needs a type")
    return without_none(field.annotation)


def _knob(field: FieldInfo) -> Knob | None:
    return next((item for item in field.metadata if isinstance(item, Knob)), None)


def _section(field: FieldInfo) -> Section | None:
    return next((item for item in field.metadata if isinstance(item, Section)), None)


def _walk(
    model: type[ConfigObject], section: Section | None = None, prefix: tuple[str, ...] = (), names: tuple[str, ...] = ()
) -> Iterator[tuple[Option, tuple[str, ...]] | tuple[str, Section]]:
    """Yield the options of a model with their attribute paths, and each section with its key before its options."""
    for name, field in model.model_fields.items():
        path, attributes = (*prefix, field.alias or name), (*names, name)
        inner, knob = _section(field), _knob(field)
        plain, nullable = _plain_type(field)
        if inner is not None:
            yield ".".join(path), inner
            yield from _walk(plain, inner, path, attributes)
        elif knob is not None:
            yield _option(".".join(path), field, knob, section, plain, nullable), attributes
        else:
            raise TypeError(f"{'.'.join(path)}: a field of the model needs a Knob or a Section")


def _option(key: str, field: FieldInfo, knob: Knob, section: Section | None, plain: Any, nullable: bool) -> Option:
    group = section.group if section else knob.group
    effect = section.effect if section else knob.effect
    if group is None or effect is None:
        raise TypeError(f"{key}: a knob outside a section needs a group and an effect")
    choices = _choices(plain)
    kind = _kind(plain)
    return Option(
        key=key,
        group=group,
        kind=kind,
        default=field.get_default(call_default_factory=True),
        minimum=knob.minimum,
        maximum=knob.maximum,
        step=knob.step,
        unit=knob.unit,
        choices=choices,
        fields=tuple(plain.model_fields) if kind is Kind.FIELDS else (),
        nullable=nullable,
        effect=effect,
        meaning=knob.meaning,
    )


def _check(option: Option) -> None:
    """Raise ValueError where a row of the table contradicts itself."""
    faults = [
        (option.default is None and not option.nullable, "its default is null, but it is not nullable"),
        (not option.meaning.endswith("."), "its meaning is no sentence"),
        (option.kind in BOUNDED_KINDS and None in (option.minimum, option.maximum), "a number needs bounds"),
        (option.kind not in BOUNDED_KINDS and option.minimum is not None, "only numbers have bounds"),
        (option.kind in STEPPED_KINDS and not (option.step or 0) > 0, "a slider needs a positive step"),
        (not _default_is_valid(option), "its default is outside its bounds"),
    ]
    for wrong, fault in faults:
        if wrong:
            raise ValueError(f"option {option.key}: {fault}")


def _default_is_valid(option: Option) -> bool:
    if option.minimum is None or option.maximum is None:
        return option.kind is not Kind.CHOICE or option.default in option.choices
    return all(option.minimum <= number <= option.maximum for number in _numbers(option.default))


def _numbers(value: Any) -> Iterator[float]:
    if isinstance(value, tuple):
        for item in value:
            yield from _numbers(item)
    elif value is not None:
        yield value


BOUNDED_KINDS: Final = frozenset({Kind.INT, Kind.NUMBER, Kind.RANGE, Kind.INT_LIST, Kind.TABLE, Kind.FIELDS})
"""Kinds made of numbers, which have bounds."""

STEPPED_KINDS: Final = frozenset({Kind.INT, Kind.NUMBER, Kind.RANGE, Kind.FIELDS})
"""Kinds that a slider or spin box shows."""

_ROWS: Final = tuple(_walk(VeoConfig))

OPTIONS: Final[tuple[Option, ...]] = tuple(row for row, _ in _ROWS if isinstance(row, Option))
"""Every option, in file order."""

SECTIONS: Final[Mapping[str, Section]] = MappingProxyType(
    {row: section for row, section in _ROWS if isinstance(row, str) and isinstance(section, Section)}
)
"""Nested objects by key, in file order, with what each is for."""

_BY_KEY: Final = {row.key: row for row in OPTIONS}

_ATTRIBUTES: Final = {row.key: path for row, path in _ROWS if isinstance(row, Option) and isinstance(path, tuple)}

for _row in OPTIONS:
    _check(_row)


def option(key: str) -> Option:
    """Return the option of a dotted key.

    Raises:
        KeyError: no option has this key.
    """
    return _BY_KEY[key]


def is_option(key: str) -> bool:
    """Tell whether a dotted key names an option."""
    return key in _BY_KEY


def attribute_path(key: str) -> tuple[str, ...]:
    """Return the attribute names that lead from a `VeoConfig` to an option's value.

    Raises:
        KeyError: no option has this key.
    """
    return _ATTRIBUTES[key]
