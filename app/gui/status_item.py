"""One entry of the status line."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StatusItem:
    """One entry of the line.

    Attributes:
        name: stable name, which gives its place. text: what is shown. tip: definition, and what there is to know.
        is_warning: it makes a number doubtful, or something is wrong.
        short: what is shown where the line is too narrow for every text; "" for the text itself.
    """

    name: str
    text: str
    tip: str
    is_warning: bool = False
    short: str = ""
