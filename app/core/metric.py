"""What a metric is: one row of the metric table, and the closed sets its look and statistics are chosen from."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class MetricGroup(StrEnum):
    """What a metric is about; the heading under which reports and menus list it."""

    INTERVAL = "Frame interval"
    JITTER = "Jitter"
    LATENCY = "Latency"
    STAGE = "Latency by stage"
    RATE = "Frame rate"
    LOSS = "Loss"
    GPU = "Commands and GPU work"
    BANDWIDTH = "Bandwidth"
    THERMAL = "Temperature"
    CLOCK = "Clocks and power"
    LOAD = "Load"
    ENCODE = "Encode"
    SELF = "Own cost"


SAMPLED: Final = ("n", "mean", "sd", "p50", "p95", "p99", "p999", "max")
"""Statistics of a metric that has one sample a frame or reading."""

SINGLE: Final = ("value",)
"""A metric that is one number for a whole window or run."""

FEWEST_SAMPLES: Final = {"mean": 2, "sd": 2, "p50": 2, "p95": 2, "p99": 100, "p999": 1000, "max": 2}
"""Samples below which a statistic is missing instead of a guess: a p99 of 60 samples is only their maximum."""

LINE_STYLES: Final = ("solid", "dashed", "dotted", "dash_dot")
"""Second cue beside colour for curves; a stage band drawn `dashed` is hatched: time spent waiting, not working."""

MARKERS: Final = ("circle", "square", "diamond", "triangle_up", "triangle_down", "cross", "plus")
"""Second cue beside colour for marks; each loss class has its own."""

BLUE: Final = "#0072B2"
SKY_BLUE: Final = "#56B4E9"
GREEN: Final = "#009E73"
YELLOW: Final = "#F0E442"
ORANGE: Final = "#E69F00"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
GREY: Final = "#999999"
OKABE_ITO: Final = (BLUE, SKY_BLUE, GREEN, YELLOW, ORANGE, VERMILLION, PURPLE, GREY)
"""Okabe and Ito's colours for the colour-blind, with grey in place of black, which a dark background swallows."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table.

    Attributes:
        id: stable name in JSON, CSV and code; ends in the unit that values are stored in.
        title: name shown to a person.
        unit: unit shown to a person; "" for a pure count.
        definition: what exactly is computed, and where the formula comes from.
        statistics: statistics that make sense, `SAMPLED` or `SINGLE`.
        missing: when there is no value, in words.
        group: heading.
        colour: `#RRGGBB` of the Okabe–Ito set, the same in every graph and report.
        line_style: one of `LINE_STYLES`. marker: one of `MARKERS`, "" where it is never drawn as a mark.
        scale: shown value = stored value × scale (bytes → MB: 1e-6; ratio → %: 100).
    """

    id: str
    title: str
    unit: str
    definition: str
    statistics: tuple[str, ...]
    missing: str
    group: MetricGroup
    colour: str
    line_style: str = "solid"
    marker: str = ""
    scale: float = 1.0

    def shown(self, value: float) -> float:
        """Return a stored value in the unit that is shown."""
        return value * self.scale
