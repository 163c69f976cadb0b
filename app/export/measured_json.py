"""A measured metric as its JSON object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from app.analysis.summary import Measured, Missing, Value

_STATISTICS: Final = ("n", "mean", "sd", "p50", "p95", "p99", "max")


def measured_object(measured: Measured) -> dict[str, Any]:
    """Return a measured metric as its JSON object."""
    if isinstance(measured, Missing):
        return {"missing": measured.reason}
    if isinstance(measured, Value):
        return {"value": measured.value}
    values = {name: getattr(measured, name) for name in _STATISTICS}
    reasons = {name: why for name, why in measured.missing_statistics().items() if name in _STATISTICS}
    return values | ({"missing_statistics": reasons} if reasons else {})


def measured_objects(measured: Mapping[str, Measured]) -> dict[str, Any]:
    """Return every metric as its JSON object, by id."""
    return {metric_id: measured_object(value) for metric_id, value in measured.items()}


def sample_counts(measured: Mapping[str, Measured]) -> dict[str, int | None]:
    """Return of how many samples each metric that has a value was made, None of a plain count."""
    return {metric_id: value.n for metric_id, value in measured.items() if not isinstance(value, Missing)}
