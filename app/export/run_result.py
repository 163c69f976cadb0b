"""The result of a run as JSON (`veotuner-run/1`), and as rows of text for a terminal.

The object holds JSON values only, no NaN, and the same run gives the same bytes. A metric is an object of statistics
(`n, mean, sd, p50, p95, p99, max`), `{"value": …}`, or `{"missing": reason}`. Of a summary with too few samples for a
percentile that percentile is null, and `missing_statistics` says why. Values are in the unit of the metric's id.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, NamedTuple

from app.analysis.littles_law import check_littles_law
from app.analysis.loss import cadence, late_shown, unaccounted
from app.analysis.run_data import RunData
from app.analysis.run_statistics import measured_frames, summarise_run
from app.analysis.self_cost import call_costs, telemetry_cost_ratio
from app.analysis.summary import Measured, Missing, Value
from app.config.veoconfig import config_to_object
from app.core.clock import NS_PER_S
from app.core.metrics import METRICS, MetricGroup, metric, number_text, value_text
from app.core.vocabulary import LOSS_CLASSES
from app.export.metric_sources import display_time_label, metric_sources
from app.export.run_warnings import run_advice, run_warnings

RUN_SCHEMA: Final = "veotuner-run/1"

_STATISTICS: Final = ("n", "mean", "sd", "p50", "p95", "p99", "max")
_SINK_KEYS: Final = ("kind", "refresh_hz", "present_mode_requested", "present_mode_granted", "image_count")
_ALWAYS_SHOWN: Final = (
    "source_to_display_ms",
    "display_interval_ms",
    "jitter_sd_ms",
    "fps_average",
    "fps_low_1pct_mean",
    "stutter_time_ratio",
    "loss_ratio",
)
_DEAREST_CALLS: Final = 5


class ResultRow(NamedTuple):
    """One row of the result table, as text: what, how much with its unit, of how many samples, and where from."""

    title: str
    value: str
    n: str
    source: str


def build_run_result(data: RunData) -> dict[str, Any]:
    """Return the result object of a run."""
    measured = summarise_run(data)
    sources = metric_sources(data)
    known = [metric_id for metric_id, value in measured.items() if not isinstance(value, Missing)]
    result = {
        "schema": RUN_SCHEMA,
        "tool_version": data.tool_version,
        "started": data.started_at,
        "duration_s": round(data.duration_s, 6),
        "warmup_s": data.warmup_s,
        "config": config_to_object(data.config),
        "source": {"text": data.source_text} | (asdict(data.source) if data.source else {}),
        "sink": _sink(data),
        "sink_details": _sink_details(data),
        "frames": _frames(data),
        "records": _records(data),
        "metrics": {metric_id: measured_object(value) for metric_id, value in measured.items()},
        "metric_sources": {metric_id: sources[metric_id] for metric_id in known},
        "metric_samples": {metric_id: _samples(measured[metric_id]) for metric_id in known},
        "cadence": {str(refreshes): count for refreshes, count in cadence(measured_frames(data)).items()},
        "littles_law": _littles_law(data),
        "self": _self(data, measured),
        "segments": _segments(data),
        "config_changes": _config_changes(data),
        "events": _events(data),
        "warnings": list(run_warnings(data)),
        "advice": [{"key": item.key, "text": item.text} for item in run_advice(data)],
        "machine": dict(data.machine),
    }
    plain: dict[str, Any] = _json_value(result)
    return plain


def result_json(result: Mapping[str, Any]) -> str:
    """Return a result as JSON text, two-space indent, with a newline at the end."""
    return json.dumps(result, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def measured_object(measured: Measured) -> dict[str, Any]:
    """Return a measured metric as its JSON object."""
    if isinstance(measured, Missing):
        return {"missing": measured.reason}
    if isinstance(measured, Value):
        return {"value": measured.value}
    values = {name: getattr(measured, name) for name in _STATISTICS}
    reasons = {name: why for name, why in measured.missing_statistics().items() if name in _STATISTICS}
    return values | ({"missing_statistics": reasons} if reasons else {})


def result_rows(result: Mapping[str, Any]) -> list[ResultRow]:
    """Return the rows of a result's table: frames first, then every metric measured, and the headline ones anyway."""
    rows = _frame_rows(result["frames"])
    for metric_id, entry in result["metrics"].items():
        counted = metric_id.startswith("loss.")
        if not counted and metric_id in METRICS and ("missing" not in entry or metric_id in _ALWAYS_SHOWN):
            rows.append(_metric_row(metric_id, entry, result))
    return rows


def _frame_rows(frames: Mapping[str, Any]) -> list[ResultRow]:
    lost = {metric(f"loss.{name}").title: count for name, count in frames["lost"].items() if count}
    repeated = "— (the sink knows no refresh)" if frames["repeated"] is None else str(frames["repeated"])
    counts = {
        "Frames produced": str(frames["produced"]),
        "Frames displayed": str(frames["displayed"]),
        **{title: str(count) for title, count in lost.items()},
        "In flight at the end": str(frames["in_flight"]),
        "Refreshes repeated": repeated,
    }
    return [ResultRow(title, text, "", "engine counters") for title, text in counts.items()]


def _samples(measured: Measured) -> int | None:
    return None if isinstance(measured, Missing) else measured.n


def _metric_row(metric_id: str, entry: Mapping[str, Any], result: Mapping[str, Any]) -> ResultRow:
    row = metric(metric_id)
    source = result["metric_sources"].get(metric_id, "")
    samples = result["metric_samples"].get(metric_id)
    if "missing" in entry:
        return ResultRow(row.title, f"— ({entry['missing']})", "", source)
    if "value" in entry:
        return ResultRow(
            row.title, value_text(metric_id, entry["value"]), "" if samples is None else str(samples), source
        )
    spread = [
        f"{name} {number_text(row.shown(entry[name]))}" for name in ("p95", "p99", "max") if entry[name] is not None
    ]
    text = f"{value_text(metric_id, entry['p50'])} (mean {number_text(row.shown(entry['mean']))}, {', '.join(spread)})"
    return ResultRow(row.title, text, str(samples), source)


def _sink(data: RunData) -> dict[str, Any]:
    sink = data.sink
    known = {key: getattr(sink, key) if sink else None for key in _SINK_KEYS}
    return known | {"display_time_source": display_time_label(data)}


def _sink_details(data: RunData) -> dict[str, Any]:
    sink = asdict(data.sink) if data.sink else {}
    rest = {key: value for key, value in sink.items() if key not in (*_SINK_KEYS, "display_time_source")}
    return {"text": data.sink_text, "builds": len(data.sink_history)} | rest


def _frames(data: RunData) -> dict[str, Any]:
    counters = data.counters
    return {
        "produced": counters.produced,
        "displayed": counters.displayed,
        "lost": {fate.label: counters.lost.get(fate, 0) for fate in LOSS_CLASSES},
        "repeated": counters.repeated,
        "in_flight": counters.in_flight,
    }


def _records(data: RunData) -> dict[str, Any]:
    return {
        "kept": len(data.frames),
        "overwritten": data.lapped_records,
        "measured": len(measured_frames(data)),
        "late_shown": late_shown(data.frames),
        "unaccounted": unaccounted(data.counters),
    }


def _littles_law(data: RunData) -> dict[str, Any]:
    law = check_littles_law(measured_frames(data))
    if isinstance(law, Missing):
        return {"missing": law.reason}
    return asdict(law) | {"product": law.product, "difference_ratio": law.difference_ratio, "holds": law.holds}


def _self(data: RunData, measured: Mapping[str, Measured]) -> dict[str, Any]:
    costs = call_costs(data.telemetry)
    own = {key: measured_object(value) for key, value in measured.items() if METRICS[key].group is MetricGroup.SELF}
    return own | {
        "engine_resident_bytes": max((status.resident_bytes for status in data.statuses), default=None),
        "telemetry": {
            "calls": sum(cost.n for cost in costs),
            "time_ratio": telemetry_cost_ratio(data.telemetry, data.duration_s),
            "dearest_calls": [asdict(cost) for cost in costs[:_DEAREST_CALLS]],
        },
    }


def _segments(data: RunData) -> list[dict[str, Any]]:
    return [
        {
            "segment": span.segment,
            "started_s": _since_start_s(data, span.started_ns),
            "ended_s": None if span.ended_ns is None else _since_start_s(data, span.ended_ns),
            "reason_started": span.reason_started,
            "reason_ended": span.reason_ended,
        }
        for span in data.segments
    ]


def _config_changes(data: RunData) -> list[dict[str, Any]]:
    return [
        {
            "at_s": _since_start_s(data, change.applied_ns),
            "config_serial": change.config_serial,
            "changes": change.changes,
            "effects": change.effects,
        }
        for change in data.config_history
    ]


def _events(data: RunData) -> list[dict[str, Any]]:
    return [
        {"at_s": _since_start_s(data, event.at_ns), "severity": event.severity, "kind": event.kind, "text": event.text}
        for event in data.events
    ]


def _since_start_s(data: RunData, at_ns: int) -> float:
    return round((at_ns - data.started_ns) / NS_PER_S, 6)


def _json_value(value: Any) -> Any:
    """Return a value as JSON knows it: NaN and infinity as null, tuples as lists, keys as text."""
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
