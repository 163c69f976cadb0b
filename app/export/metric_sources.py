"""Where each number of a run came from, in words that stand beside it."""

from __future__ import annotations

from typing import Final

import numpy as np

from app.analysis.run_data import RunData
from app.core.metrics import METRICS, MetricGroup, metric
from app.core.vocabulary import DisplayTimeSource, Fate

SIMULATED_PROVIDER: Final = "simulated"
"""Name of the telemetry provider that makes its readings up."""

_BY_GROUP: Final = {
    MetricGroup.STAGE: "frame stamps",
    MetricGroup.LOSS: "engine counters",
    MetricGroup.ENCODE: "frame stamps",
}
_BY_ID: Final = {
    "present_interval_ms": "present calls",
    "arrival_jitter_ms": "arrivals at the source",
    "display_refreshes": "sink",
    "upload_bandwidth_bytes_per_s": "frame records",
    "self_cpu_ratio.engine": "engine status",
    "self_cpu_ratio.sampler": "telemetry calls",
    "record_cost_us": "engine status",
    "probe_cost_us": "telemetry calls",
}
_FROM_DISPLAY: Final = (MetricGroup.INTERVAL, MetricGroup.JITTER, MetricGroup.LATENCY, MetricGroup.RATE)


def metric_sources(data: RunData) -> dict[str, str]:
    """Return for every metric of the table where its value came from; "" where it was not measured at all."""
    display = f"display time: {display_time_label(data)}"
    return {metric_id: _source(metric_id, data, display) for metric_id in METRICS}


def display_time_sources(data: RunData) -> tuple[DisplayTimeSource, ...]:
    """Return the sources that display times of this run came from, the most frequent first."""
    shown = data.frames["display_time_source"][data.frames["fate"] == Fate.DISPLAYED]
    counts = np.bincount(shown, minlength=max(DisplayTimeSource) + 1)
    used = [source for source in DisplayTimeSource if source and counts[source]]
    return tuple(sorted(used, key=lambda source: -int(counts[source])))


def display_time_label(data: RunData) -> str:
    """Return the names of the display-time sources (`present_wait`), or `none`."""
    return ", ".join(source.label for source in display_time_sources(data)) or DisplayTimeSource.NONE.label


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
    return display if group in _FROM_DISPLAY else _BY_GROUP.get(group, "")
