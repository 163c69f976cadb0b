"""What the tool itself cost the machine during a run: engine process, telemetry calls, frame records."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.analysis.run_data import TelemetryTable
from app.analysis.summary import Measured, Missing, Value, summarise
from app.core.metrics import metric
from app.ipc.messages import EngineStatus


@dataclass(frozen=True, slots=True)
class CallCost:
    """Cost of one kind of telemetry call: the readings that one provider took of one metric.

    `total_us` is wall time of the calls; `n` calls.
    """

    provider: str
    metric: str
    n: int
    mean_us: float
    max_us: float
    total_us: float


def engine_cost(statuses: Sequence[EngineStatus]) -> dict[str, Measured]:
    """Return self_cpu_ratio.engine and record_cost_us over the engine's statuses."""
    cpu = np.array([status.cpu_ratio for status in statuses], np.float64)
    record = np.array(
        [np.nan if status.record_cost_us is None else status.record_cost_us for status in statuses], np.float64
    )
    return {
        "self_cpu_ratio.engine": summarise(cpu, metric("self_cpu_ratio.engine").missing),
        "record_cost_us": summarise(record, metric("record_cost_us").missing),
    }


def clock_fit(statuses: Sequence[EngineStatus]) -> dict[str, Measured]:
    """Return the last fit of the GPU's clock to CLOCK_MONOTONIC; N is the number of statuses that carried one."""
    values = {
        "gpu_cpu_clock_offset_ns": [status.gpu_clock_offset_ns for status in statuses],
        "gpu_cpu_drift_ppm": [status.gpu_clock_drift_ppm for status in statuses],
        "gpu_cpu_residual_ns": [status.gpu_clock_residual_ns for status in statuses],
    }
    return {metric_id: _last_known(each, metric(metric_id).missing) for metric_id, each in values.items()}


def _last_known(values: Sequence[float | None], missing: str) -> Measured:
    known = [value for value in values if value is not None]
    return Value(known[-1], len(known)) if known else Missing(missing)


def call_costs(telemetry: TelemetryTable) -> tuple[CallCost, ...]:
    """Return the cost of each kind of telemetry call, dearest in total first."""
    charged = telemetry.where(~np.isnan(telemetry.cost_us))
    by_call: dict[tuple[str, str], list[float]] = {}
    for provider, metric_id, cost_us in zip(charged.provider, charged.metric, charged.cost_us, strict=True):
        by_call.setdefault((provider, metric_id), []).append(float(cost_us))
    costs = [
        CallCost(provider, metric_id, len(us), sum(us) / len(us), max(us), sum(us))
        for (provider, metric_id), us in by_call.items()
    ]
    return tuple(sorted(costs, key=lambda cost: (-cost.total_us, cost.provider, cost.metric)))


def telemetry_cost_ratio(telemetry: TelemetryTable, duration_s: float) -> float:
    """Return wall time inside telemetry calls ÷ run time; NaN when nothing was sampled."""
    known = telemetry.cost_us[~np.isnan(telemetry.cost_us)]
    return float(known.sum()) / 1e6 / duration_s if len(known) and duration_s > 0 else float("nan")
