"""The metric table: id, unit, definition and look of every number that VeoTuner shows, records or exports.

Plot axes, tiles, report rows, CSV headers and telemetry readings all come from here; nothing is listed twice. A value
is stored in the unit that its id names (`_ms`, `_bytes_per_s`, `_ratio`); only `value_text` turns it into what a
person reads.
"""

from __future__ import annotations

import math
from typing import Final

from app.core.frame_metrics import FRAME_METRICS, STAGES
from app.core.metric import (
    FEWEST_SAMPLES,
    LINE_STYLES,
    MARKERS,
    OKABE_ITO,
    SAMPLED,
    SINGLE,
    Metric,
    MetricGroup,
)
from app.core.reading_metrics import READING_METRICS

__all__ = [
    "FEWEST_SAMPLES",
    "LINE_STYLES",
    "MARKERS",
    "METRICS",
    "OKABE_ITO",
    "OPEN_FAMILIES",
    "SAMPLED",
    "SINGLE",
    "STAGES",
    "Metric",
    "MetricGroup",
    "metric",
    "number_text",
    "value_text",
]


def _checked(rows: tuple[Metric, ...]) -> dict[str, Metric]:
    table = {row.id: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("the metric table names an id twice")
    for row in rows:
        if row.statistics not in (SAMPLED, SINGLE):
            raise ValueError(f"{row.id}: unknown statistics {row.statistics}")
        if row.colour not in OKABE_ITO or row.line_style not in LINE_STYLES or row.marker not in ("", *MARKERS):
            raise ValueError(f"{row.id}: colour, line style or marker outside the fixed sets")
        if not (row.title and row.definition and row.missing and row.scale > 0):
            raise ValueError(f"{row.id}: title, definition, missing and scale are needed")
    return table


METRICS: Final[dict[str, Metric]] = _checked((*FRAME_METRICS, *READING_METRICS))
"""Every metric by id, in the order in which reports list them."""

OPEN_FAMILIES: Final = ("host_cpu_ratio", "host_cpu_frequency_mhz", "host_temperature_c", "probe_cost_us")
"""Metrics whose members (`host_cpu_ratio.3`) are only known on a machine; a member is described by its family's row."""


def metric(metric_id: str) -> Metric:
    """Return the row that describes a metric or a member of an open family.

    Raises:
        KeyError: no such metric; the text names the id.
    """
    family = metric_id.partition(".")[0]
    try:
        return METRICS[family if family in OPEN_FAMILIES else metric_id]
    except KeyError:
        raise KeyError(f"no metric {metric_id!r} in the table") from None


def number_text(value: float) -> str:
    """Return a number with about four digits that mean something (`16.67`, `0.0312`, `1234`), "—" for NaN."""
    if math.isnan(value):
        return "—"
    size = abs(value)
    if size == 0 or not math.isfinite(size):
        return "0" if size == 0 else f"{value}"
    decimals = max(0, min(4, 3 - math.floor(math.log10(size))))
    text = f"{value:.{decimals}f}"
    if float(text) == 0:  # what rounds to nothing has no sign
        text = text.removeprefix("-")
    return text.rstrip("0").rstrip(".") if value == round(value) and "." in text else text


def value_text(metric_id: str, value: float) -> str:
    """Return a stored value as a person reads it, with its unit: `value_text("loss_ratio", 0.0123)` is `1.230 %`."""
    row = metric(metric_id)
    number = number_text(row.shown(value))
    return number if number == "—" or not row.unit else f"{number} {row.unit}"
