"""A run's summary covers the whole metric table; warm-up, devices and counts are kept apart."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from app.analysis.run_data import SinkAt, TelemetryTable
from app.analysis.run_sources import run_source
from app.analysis.run_statistics import of_one_device, summarise_run
from app.analysis.self_cost import call_costs, telemetry_cost_ratio
from app.analysis.summary import Missing, Summary, Value
from app.core.clock import NO_STAMP_NS
from app.core.metrics import METRICS
from tests.analysis.run_builder import (
    START_NS,
    Made,
    counters_of,
    made_frames,
    made_run,
    made_sink,
    made_telemetry,
    telemetry_table,
)


def test_the_summary_has_every_metric_in_the_tables_order() -> None:
    assert list(summarise_run(made_run())) == list(METRICS)


def test_warm_up_is_left_out_of_statistics_and_not_of_counts() -> None:
    run = made_run(Made(seconds=10.0), warmup_s=2.0)
    assert len(run_source(run).measured) == 480
    summary = summarise_run(run)
    latency, lost = summary["source_to_display_ms"], summary["loss_ratio"]
    assert isinstance(latency, Summary)
    assert isinstance(lost, Value)
    assert latency.n == 480
    assert lost.n == 600


def test_counts_come_from_the_engine_and_not_from_the_records_kept() -> None:
    frames = made_frames(Made(lost_every=5))
    run = made_run(frames=frames[:100], counters=counters_of(frames))
    assert summarise_run(run)["loss_ratio"] == Value(0.2, 600)


def test_a_run_without_a_gpu_says_why_each_reading_is_missing() -> None:
    rows = [(START_NS + at, "nvml", "", "gpu_temperature_c", math.nan, "no NVIDIA driver", 5.0) for at in range(3)]
    summary = summarise_run(made_run(telemetry=telemetry_table(rows)))
    assert summary["gpu_temperature_c"] == Missing("no NVIDIA driver")
    assert isinstance(summary["power_w"], Missing)


def test_statistics_never_mix_two_devices() -> None:
    rows = [
        (START_NS + at, "nvml", device, "gpu_temperature_c", value, "", 5.0)
        for at in range(9)
        for device, value in (("GPU-a", 40.0), ("GPU-b", 80.0))
    ]
    table = telemetry_table(rows)
    assert set(of_one_device(table, "GPU-b").value) == {80.0}
    assert set(of_one_device(table, "").value) == {40.0}
    summary = summarise_run(made_run(telemetry=table, sink_history=()))["gpu_temperature_c"]
    assert isinstance(summary, Summary)
    assert summary.sd == 0.0


def test_the_nominal_interval_follows_the_granted_mode() -> None:
    assert run_source(made_run(Made(rate_hz=120.0))).nominal_ms == pytest.approx(1000 / 60, rel=1e-6)


def test_a_run_that_never_got_ready_still_has_a_summary() -> None:
    nothing = made_frames(Made(seconds=0.0))
    run = made_run(
        frames=nothing,
        counters=counters_of(nothing),
        telemetry=TelemetryTable.empty(),
        segments=(),
        source=None,
        sink_history=(),
        statuses=(),
    )
    summary = summarise_run(run)
    assert isinstance(summary["loss_ratio"], Missing)
    assert isinstance(summary["self_cpu_ratio.engine"], Missing)
    assert summary["loss.superseded"] == Value(0)


def test_telemetry_calls_are_charged_by_provider_and_metric() -> None:
    costs = call_costs(made_telemetry(10.0, gpu="nvml"))
    assert {(cost.provider, cost.metric) for cost in costs} >= {("nvml", "power_w"), ("host", "host_cpu_ratio")}
    assert all(cost.n == 20 and cost.mean_us == 40.0 for cost in costs)
    assert telemetry_cost_ratio(made_telemetry(10.0), 10.0) == pytest.approx(40 * 40e-6 / 10)


def test_no_telemetry_costs_nothing_known() -> None:
    assert math.isnan(telemetry_cost_ratio(TelemetryTable.empty(), 10.0))
    assert call_costs(TelemetryTable.empty()) == ()


def test_columns_of_different_length_are_refused() -> None:
    table = made_telemetry(2.0)
    with pytest.raises(ValueError, match="differ in length"):
        TelemetryTable(
            table.at_ns[:-1], table.provider, table.device, table.metric, table.value, table.reason, table.cost_us
        )


def test_rows_of_a_mask_keep_their_columns_together() -> None:
    table = made_telemetry(2.0).of_metric("host_cpu_ratio")
    assert len(table) == 4
    assert set(table.metric) == {"host_cpu_ratio"}
    assert np.all(np.diff(table.at_ns) > 0)


def test_the_sinks_last_grant_is_the_runs() -> None:
    run = made_run()
    assert run.sink == made_sink()
    assert run.duration_s == pytest.approx(10.2)


def test_the_last_fit_of_the_clocks_is_the_runs_and_n_says_how_many_there_were() -> None:
    run = made_run()
    fitted = [
        replace(status, gpu_clock_offset_ns=1e3 * n, gpu_clock_drift_ppm=0.5 * n, gpu_clock_residual_ns=40.0)
        for n, status in enumerate(run.statuses[:4])
    ]
    summary = summarise_run(replace(run, statuses=(*run.statuses[4:], *fitted)))
    assert summary["gpu_cpu_clock_offset_ns"] == Value(3e3, 4)
    assert summary["gpu_cpu_drift_ppm"] == Value(1.5, 4)
    assert summary["gpu_cpu_residual_ns"] == Value(40.0, 4)


def test_a_gpu_without_calibration_has_no_fit_and_says_why() -> None:
    summary = summarise_run(made_run())
    assert summary["gpu_cpu_residual_ns"] == Missing(METRICS["gpu_cpu_residual_ns"].missing)


def test_bands_share_the_intervals_out_by_their_distance_from_the_nominal_one() -> None:
    frames = made_frames(Made(seconds=10.0))
    frames["displayed_ns"][::10] += 1_000_000
    frames["displayed_ns"][5::10] += 4_000_000
    summary = summarise_run(made_run(frames=frames, warmup_s=0.0))
    shares = [summary[f"interval_band_ratio.{name}"] for name in ("low", "middle", "high")]
    assert all(isinstance(share, Value) and share.n == 599 for share in shares)
    assert [share.value for share in shares if isinstance(share, Value)] == pytest.approx([0.6, 0.2, 0.2], abs=0.01)


def test_a_run_without_a_nominal_interval_has_no_bands() -> None:
    frames = made_frames(Made(seconds=2.0))
    frames["source_interval_ns"] = NO_STAMP_NS
    run = made_run(frames=frames, sink_history=(SinkAt(START_NS, made_sink(refresh_hz=None)),))
    assert isinstance(summarise_run(run)["interval_band_ratio.low"], Missing)
