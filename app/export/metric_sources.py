"""Where each number of a run came from, in words that stand beside it."""

from __future__ import annotations

from typing import Final

from app.analysis.run_data import RunData
from app.analysis.run_sources import source_count
from app.core.metrics import METRICS, MetricGroup, metric
from app.export.display_truth import display_time_label

SIMULATED_PROVIDER: Final = "simulated"
"""Name of the telemetry provider that makes its readings up."""

_BY_GROUP: Final = {
    MetricGroup.STAGE: "frame stamps",
    MetricGroup.LOSS: "engine counters",
    MetricGroup.ENCODE: "encode records",
    MetricGroup.GPU: "frame records",
}
_BY_ID: Final = {
    "present_interval_ms": "present calls",
    "arrival_jitter_ms": "arrivals at the source",
    "display_refreshes": "sink",
    "upload_bandwidth_bytes_per_s": "frame records",
    "self_cpu_ratio.engine": "engine status",
    "self_cpu_ratio.sampler": "telemetry calls",
    "record_cost_us": "engine status",
    "gpu_cpu_clock_offset_ns": "engine status",
    "gpu_cpu_drift_ppm": "engine status",
    "gpu_cpu_residual_ns": "engine status",
    "probe_cost_us": "telemetry calls",
}
_BY_RECORD: Final = ("decimated.", "made_up_pictures")
_FROM_DISPLAY: Final = (MetricGroup.INTERVAL, MetricGroup.JITTER, MetricGroup.LATENCY, MetricGroup.RATE)
_OF_ONE_SOURCE: Final = (*_FROM_DISPLAY, MetricGroup.STAGE, MetricGroup.GPU, MetricGroup.ENCODE)
_OF_ALL_SOURCES: Final = "upload_bandwidth_bytes_per_s"


def metric_sources(data: RunData) -> dict[str, str]:
    """Return for every metric of the table where its value came from; "" where it was not measured at all.

    With several sources each says whether it is of the first one or of all.
    """
    origins = metric_origins(data)
    if source_count(data) == 1:
        return origins
    return {metric_id: origin + _whose(metric_id) for metric_id, origin in origins.items()}


def metric_origins(data: RunData) -> dict[str, str]:
    """Return the same without saying whose it is."""
    display = f"display time: {display_time_label(data)}"
    return {metric_id: _source(metric_id, data, display) for metric_id in METRICS}


def simulated_metrics(data: RunData) -> frozenset[str]:
    """Return the ids of metrics that the simulated GPU made up."""
    return frozenset(data.telemetry.metric[data.telemetry.provider == SIMULATED_PROVIDER])


def _source(metric_id: str, data: RunData, display: str) -> str:
    group = metric(metric_id).group
    providers = sorted(set(data.telemetry.of_metric(metric_id).provider))
    if providers:
        return ", ".join("SIMULATED GPU" if name == SIMULATED_PROVIDER else str(name) for name in providers)
    if metric_id in _BY_ID:
        return _BY_ID[metric_id]
    if metric_id.startswith(_BY_RECORD):
        return "frame records"
    return display if group in _FROM_DISPLAY else _BY_GROUP.get(group, "")


def _whose(metric_id: str) -> str:
    group = metric(metric_id).group
    if group is MetricGroup.LOSS or metric_id == _OF_ALL_SOURCES:
        return ", all sources"
    return ", source 1" if group in _OF_ONE_SOURCE else ""
