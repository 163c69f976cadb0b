"""Every metric of one run: of its frames after the warm-up, its counters, its telemetry and the tool's own cost.

Of several sources the first one is the run's headline; what the engine counts and copies is of all together.
"""

from __future__ import annotations

import numpy as np

from app.analysis.bandwidth import upload_bandwidth
from app.analysis.encoding import encode_statistics
from app.analysis.loss import loss_ratio
from app.analysis.run_data import RunData, TelemetryTable
from app.analysis.run_sources import (
    decimation_statistics,
    measured_encodes,
    run_source,
    source_count,
    source_statistics,
)
from app.analysis.self_cost import clock_fit, engine_cost, telemetry_cost_ratio
from app.analysis.summary import Measured, Missing, Value, single, summarise
from app.core.metrics import METRICS, MetricGroup, metric
from app.core.vocabulary import LOSS_CLASSES

_TELEMETRY_GROUPS = (MetricGroup.BANDWIDTH, MetricGroup.THERMAL, MetricGroup.CLOCK, MetricGroup.LOAD, MetricGroup.SELF)


def summarise_run(data: RunData) -> dict[str, Measured]:
    """Return every metric of the table, in its order; what this run cannot tell is `Missing` with its reason."""
    first = run_source(data)
    measured = {
        **_telemetry_statistics(data.telemetry, data.sink.device_uuid if data.sink else ""),
        **source_statistics(data, first),
        **_upload_of_all(data),
        **_loss_statistics(data),
        **decimation_statistics(data.frames),
        **encode_statistics(measured_encodes(data, first), data.encodes),
        **engine_cost(data.statuses),
        **clock_fit(data.statuses),
    }
    if isinstance(measured["self_cpu_ratio.sampler"], Missing):
        measured["self_cpu_ratio.sampler"] = _sampler_cost(data)
    return {metric_id: measured.get(metric_id, Missing(row.missing)) for metric_id, row in METRICS.items()}


def _upload_of_all(data: RunData) -> dict[str, Measured]:
    """Of several sources the copies add up: that is what the link carries."""
    if source_count(data) == 1:
        return {}
    row = metric("upload_bandwidth_bytes_per_s")
    warm_ns = run_source(data).warm_ns
    frames = data.frames[data.frames["process_end_ns"] >= warm_ns]
    return {row.id: summarise(upload_bandwidth(frames).bytes_per_s, row.missing)}


def _loss_statistics(data: RunData) -> dict[str, Measured]:
    counters = data.counters
    counts: dict[str, Measured] = {f"loss.{fate.label}": Value(counters.lost.get(fate, 0)) for fate in LOSS_CLASSES}
    return counts | {"loss_ratio": single(loss_ratio(counters), counters.produced, metric("loss_ratio").missing)}


def _telemetry_statistics(telemetry: TelemetryTable, device: str) -> dict[str, Measured]:
    statistics: dict[str, Measured] = {"probe_cost_us": summarise(telemetry.cost_us, metric("probe_cost_us").missing)}
    for metric_id, row in METRICS.items():
        if row.group in _TELEMETRY_GROUPS and metric_id not in statistics:
            rows = of_one_device(telemetry.of_metric(metric_id), device)
            statistics[metric_id] = summarise(rows.value, _missing_reason(rows, row.missing))
    return statistics


def of_one_device(rows: TelemetryTable, preferred: str) -> TelemetryTable:
    """Return the readings of one device: statistics never mix two.

    It is the preferred one (the run's GPU) where it has readings, else the one with the most values, the first by name
    among equals.
    """
    devices = sorted(set(rows.device))
    if len(devices) < 2:
        return rows
    known = {device: int(np.count_nonzero(~np.isnan(rows.value[rows.device == device]))) for device in devices}
    chosen = preferred if preferred in known else max(devices, key=lambda device: known[device])
    return rows.where(rows.device == chosen)


def _missing_reason(rows: TelemetryTable, otherwise: str) -> str:
    reasons = sorted({str(reason) for reason in rows.reason if reason})
    return "; ".join(reasons) if reasons else otherwise


def _sampler_cost(data: RunData) -> Measured:
    ratio = telemetry_cost_ratio(data.telemetry, data.duration_s)
    return single(
        ratio, int(np.count_nonzero(~np.isnan(data.telemetry.cost_us))), metric("self_cpu_ratio.sampler").missing
    )
