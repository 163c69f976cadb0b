"""The result of a run as JSON (`veotuner-run/1`).

The object holds JSON values only, no NaN, and the same run gives the same bytes. A metric is an object of statistics
(`n, mean, sd, p50, p95, p99, max`), `{"value": …}`, or `{"missing": reason}`. Of a summary with too few samples for a
percentile that percentile is null, and `missing_statistics` says why. Values are in the unit of the metric's id.

Statistics never mix two sources. Of a run with several, `source`, `metrics`, `cadence` and `littles_law` are of the
first one; `sources` has each with its own; `frames`, `records`, the `loss.…`, `decimated.…` metrics and the upload
bandwidth are of all together. The counts of one source are by record, of the frames whose fate is known; in flight is
known of all together only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final

from app.analysis.loss import late_shown, unaccounted
from app.analysis.run_data import RunData
from app.analysis.run_sources import run_source, run_sources
from app.analysis.run_statistics import summarise_run
from app.analysis.self_cost import call_costs, telemetry_cost_ratio
from app.analysis.summary import Measured
from app.config.veoconfig import config_to_object
from app.core.metrics import METRICS, MetricGroup
from app.core.vocabulary import LOSS_CLASSES
from app.export.display_truth import display_time_label
from app.export.measured_json import measured_object, measured_objects, sample_counts
from app.export.metric_sources import metric_sources
from app.export.result_blocks import (
    cadence_block,
    command_buffers_block,
    display_time_block,
    encoder_block,
    governors_block,
    littles_law_block,
    since_start_s,
    sources_block,
)
from app.export.run_warnings import run_advice, run_warnings

RUN_SCHEMA: Final = "veotuner-run/1"

_SINK_KEYS: Final = ("kind", "refresh_hz", "present_mode_requested", "present_mode_granted", "image_count")
_DEAREST_CALLS: Final = 5


def build_run_result(data: RunData) -> dict[str, Any]:
    """Return the result object of a run."""
    measured = summarise_run(data)
    sources, samples, first = metric_sources(data), sample_counts(measured), run_source(data)
    result = {
        "schema": RUN_SCHEMA,
        "tool_version": data.tool_version,
        "started": data.started_at,
        "duration_s": round(data.duration_s, 6),
        "warmup_s": data.warmup_s,
        "config": config_to_object(data.config),
        "source": {"text": data.source_text} | (asdict(data.source) if data.source else {}),
        "sources": sources_block(data),
        "sink": _sink(data),
        "sink_details": _sink_details(data),
        "display_time": display_time_block(data),
        "command_buffers": command_buffers_block(data),
        "frames": _frames(data),
        "records": _records(data),
        "metrics": measured_objects(measured),
        "metric_sources": {metric_id: sources[metric_id] for metric_id in samples},
        "metric_samples": samples,
        "cadence": cadence_block(first.measured),
        "littles_law": littles_law_block(first.measured),
        "governors": governors_block(data),
        "encoder": encoder_block(data),
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
        "measured": sum(len(source.measured) for source in run_sources(data)),
        "late_shown": late_shown(data.frames),
        "unaccounted": unaccounted(data.counters),
    }


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
            "source_index": span.source_index,
            "started_s": since_start_s(data, span.started_ns),
            "ended_s": None if span.ended_ns is None else since_start_s(data, span.ended_ns),
            "reason_started": span.reason_started,
            "reason_ended": span.reason_ended,
        }
        for span in data.segments
    ]


def _config_changes(data: RunData) -> list[dict[str, Any]]:
    return [
        {
            "at_s": since_start_s(data, change.applied_ns),
            "config_serial": change.config_serial,
            "changes": change.changes,
            "effects": change.effects,
        }
        for change in data.config_history
    ]


def _events(data: RunData) -> list[dict[str, Any]]:
    return [
        {"at_s": since_start_s(data, event.at_ns), "severity": event.severity, "kind": event.kind, "text": event.text}
        for event in data.events
    ]


def _json_value(value: Any) -> Any:
    """Return a value as JSON knows it: NaN and infinity as null, tuples as lists, keys as text."""
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)
