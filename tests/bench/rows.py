"""A row of the bench: what was measured in turns, on both sides, and what it has to reach."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table.

    Attributes:
        what: the claim, as a person reads it.
        ours, reference: measured values with their unit; reference is "" where there is only a limit.
        result: the number that is held against the target, with its unit if it has one.
        target: what it has to reach (`≥ 0.8`).
        met: whether it did.
        how: how it was measured: rounds, spread, file.
    """

    what: str
    ours: str
    reference: str
    result: str
    target: str
    met: bool
    how: str


@dataclass(frozen=True, slots=True)
class Turns:
    """Values of two contenders that ran alternately, so that a machine that slows down slows both."""

    ours: list[float]
    reference: list[float]

    @property
    def ratio(self) -> float:
        """Median of ours by median of the reference."""
        return statistics.median(self.ours) / statistics.median(self.reference)

    @property
    def spread(self) -> str:
        """Lowest and highest of each side, whole numbers, and the number of rounds."""
        return f"{len(self.ours)} turns; ours {_range(self.ours)}, reference {_range(self.reference)}"


def take_turns(ours: Callable[[], float], reference: Callable[[], float], rounds: int) -> Turns:
    """Run both contenders `rounds` times, changing who goes first."""
    results: tuple[list[float], list[float]] = ([], [])
    contenders = [(ours, results[0]), (reference, results[1])]
    for _ in range(rounds):
        for contender, values in contenders:
            values.append(contender())
        contenders.reverse()
    return Turns(*results)


def markdown_table(rows: Iterable[Row]) -> str:
    """Return the rows as a Markdown table."""
    lines = ["| what | VeoTuner | reference | result | target | met | how |", "| --- " * 7 + "|"]
    for row in rows:
        met = "yes" if row.met else "**no**"
        cells = (row.what, row.ours, row.reference, row.result, row.target, met, row.how)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _range(values: list[float]) -> str:
    return f"{min(values):.0f}–{max(values):.0f}"
