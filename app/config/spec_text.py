"""Reading of the small texts that name a source or a sink: `kind:rest,key=value,…`, each number with its bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from app.config.complaints import nearest, number_text
from app.core.errors import InvalidInputError, Problem

PIXELS_MAXIMUM: Final = 16_384
"""Largest width or height: the image limit of common Vulkan devices."""

_DECIMAL: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?")
_SIZE: Final = re.compile(r"([0-9]{1,9})[xX×]([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Bounds:
    """Inclusive bounds of a number with its unit, for the check and for the complaint."""

    minimum: float
    maximum: float
    unit: str = ""
    whole: bool = False

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        return f"{number_text(self.minimum)}–{number_text(self.maximum)}{unit}"


@dataclass(frozen=True, slots=True)
class SpecReader:
    """Makes every complaint about one text in the same form.

    Attributes:
        subject: `source` or `sink`.
        text: the whole text as the user gave it.
        form: the allowed form.
        example: a text that is right.
    """

    subject: str
    text: str
    form: str
    example: str

    def error(self, fault: str) -> InvalidInputError:
        """Return the error: `source: "…" fault; write it as FORM, for example EXAMPLE`."""
        return refusal(self.subject, self.text, fault, f"write it as {self.form}, for example {self.example}")

    def number(self, name: str, text: str, bounds: Bounds) -> float:
        """Return a number within its bounds.

        Raises:
            InvalidInputError: it is no plain decimal number, or outside.
        """
        if not _DECIMAL.fullmatch(text) or (bounds.whole and "." in text):
            kind = "whole number" if bounds.whole else "number"
            raise self.error(f"has {name} “{text}”, which is not a {kind} in {bounds}")
        value = float(text)
        if not bounds.minimum <= value <= bounds.maximum:
            raise self.error(f"has {name} {text}, which is outside {bounds}")
        return value

    def whole(self, name: str, text: str, bounds: Bounds) -> int:
        """Return a whole number within its bounds; raises as `number` does."""
        self.number(name, text, bounds)
        return int(text)

    def size(self, text: str) -> tuple[int, int]:
        """Return width and height in pixels of `WxH`.

        Raises:
            InvalidInputError: another form, or outside 1–16384 px.
        """
        match = _SIZE.fullmatch(text)
        if match is None:
            raise self.error(f"has the size “{text}”, which is not WIDTHxHEIGHT")
        bounds = Bounds(1, PIXELS_MAXIMUM, "px", whole=True)
        return self.whole("the width", match[1], bounds), self.whole("the height", match[2], bounds)

    def settings(self, parts: list[str], known: tuple[str, ...]) -> Mapping[str, str]:
        """Return `key=value` parts as a mapping.

        Raises:
            InvalidInputError: a part without `=`, an unknown key, or a key given twice.
        """
        values: dict[str, str] = {}
        for part in parts:
            key, equals, value = part.partition("=")
            if not equals or key not in known:
                near = nearest(key, known)
                raise self.error(f"has “{part}”, " + (f"did you mean {near}=…" if near else "which it does not know"))
            if key in values:
                raise self.error(f"gives {key} twice")
            values[key] = value
        return values


def refusal(subject: str, text: str, fault: str, hint: str) -> InvalidInputError:
    """Return the error of one text: `source: "…" fault; hint`."""
    shown = text if len(text) <= 80 else f"{text[:79]}…"
    return InvalidInputError([Problem(subject, f"“{shown}”", fault, hint)])
