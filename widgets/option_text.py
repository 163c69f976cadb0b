"""Options in words: values with their unit, and what a control's tool tip says."""

from __future__ import annotations

import html
from typing import Any, Final

from app.config.options import Effect, Kind, Option

EFFECT_WORDS: Final = {
    Effect.LIVE: "acts at the next frame",
    Effect.SWAPCHAIN: "the swapchain is rebuilt between two frames; nothing restarts",
    Effect.PIPELINE: "the stage it concerns is opened anew; the window stays",
    Effect.PRIVILEGED: "needs rights over the hardware; this version edits and saves it only",
    Effect.RECORD: "kept in the file; nothing on this machine acts on it",
}


def number_words(value: float) -> str:
    """Return a number without digits that mean nothing (`33.3`, `8`)."""
    return f"{value:.10g}"


def option_value_text(row: Option, value: Any) -> str:
    """Return a value as a person reads it, with its unit: `33.3 ms`, `1500–1800 MHz`, `none`."""
    if value is None:
        return "none"
    if row.kind is Kind.TABLE:
        return _table_text(value, row)
    return _with_unit(_words_of(row, value), row) if row.kind in _MEASURED else _words_of(row, value)


_MEASURED: Final = frozenset({Kind.RANGE, Kind.FIELDS, Kind.INT, Kind.NUMBER, Kind.CHOICE})


def _words_of(row: Option, value: Any) -> str:
    match row.kind:
        case Kind.RANGE:
            text = f"{value[0]}–{value[1]}"
        case Kind.FIELDS:
            text = " ".join(f"{name} {value[name]}" for name in row.fields)
        case Kind.FLAG:
            text = "on" if value else "off"
        case Kind.INT | Kind.NUMBER:
            text = number_words(value)
        case Kind.INT_LIST:
            text = ", ".join(map(str, value))
        case _:
            text = str(value)
    return text or "(empty)"


def option_range_text(row: Option) -> str:
    """Return what a value may be: `1–64 frames`, or the choices."""
    if row.choices:
        return _with_unit(", ".join(row.choices), row)
    if row.minimum is None or row.maximum is None:
        return "on or off" if row.kind is Kind.FLAG else "any text"
    limits = _with_unit(f"{number_words(row.minimum)} to {number_words(row.maximum)}", row)
    return f"none, or {limits}" if row.nullable else limits


def option_tip(row: Option) -> str:
    """Return the tool tip: key, meaning, range with unit, default and when a change acts (rich text)."""
    facts = [
        ("Range", option_range_text(row)),
        ("Default", option_value_text(row, row.default)),
        ("Effect", EFFECT_WORDS[row.effect]),
    ]
    lines = "<br>".join(f"<i>{name}:</i> {html.escape(text)}" for name, text in facts if text)
    return f"<p><b>{html.escape(row.key)}</b></p><p>{html.escape(row.meaning)}</p><p>{lines}</p>"


def _table_text(value: Any, row: Option) -> str:
    """Return the rows as `40 ms → 60 fps`."""
    units = [f" {unit}" for unit in row.unit.split(", ")]
    return ", ".join(
        " → ".join(f"{number_words(number)}{unit}" for number, unit in zip(numbers, units, strict=True))
        for numbers in value
    )


def _with_unit(text: str, row: Option) -> str:
    return f"{text} {row.unit}" if row.unit else text


def section_words(section: str) -> str:
    """Return the key of a section as words: `thermal_guard` is `thermal guard`."""
    return section.replace("_", " ").replace(".", " ")
