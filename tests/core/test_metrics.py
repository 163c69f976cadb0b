"""The metric table is complete, free of contradictions, and turns stored values into text once and for all."""

from __future__ import annotations

import math

import pytest

from app.core.metrics import LINE_STYLES, METRICS, SAMPLED, STAGES, MetricGroup, metric, number_text, value_text
from app.core.vocabulary import LOSS_CLASSES, Governor

FAMILY_FREE_IDS = [
    "present_interval_ms",
    "display_interval_ms",
    "pacing_error_ms",
    "jitter_sd_ms",
    "jitter_rms_ratio",
    "adaptive_sd_ms",
    "arrival_jitter_ms",
    "source_to_display_ms",
    "frames_behind",
    "animation_error_ms",
    "fps_average",
    "fps_p1",
    "fps_low_1pct_mean",
    "fps_low_1pct_time",
    "stutter_time_ratio",
    "loss_ratio",
    "display_refreshes",
    "upload_bandwidth_bytes_per_s",
    "pcie_tx_bytes_per_s",
    "pcie_rx_bytes_per_s",
    "dram_bandwidth_ratio",
    "gpu_temperature_c",
    "memory_temperature_c",
    "thermal_margin_c",
    "gpu_clock_mhz",
    "memory_clock_mhz",
    "power_w",
    "encode_ms",
    "encode_fps",
    "encoder_utilisation_ratio",
    "gpu_cpu_clock_offset_ns",
    "gpu_cpu_drift_ppm",
]


@pytest.mark.parametrize("metric_id", FAMILY_FREE_IDS)
def test_every_metric_of_the_contract_has_a_row(metric_id: str) -> None:
    assert metric(metric_id).id == metric_id


def test_every_loss_class_has_a_row_a_colour_and_a_marker_of_its_own() -> None:
    looks = {(metric(f"loss.{fate.label}").colour, metric(f"loss.{fate.label}").marker) for fate in LOSS_CLASSES}
    markers = {metric(f"loss.{fate.label}").marker for fate in LOSS_CLASSES}
    assert len(looks) == len(markers) == len(LOSS_CLASSES)


def test_every_governor_that_leaves_frames_out_has_a_count_of_its_own() -> None:
    assert all(metric(f"decimated.{governor.label}").group is MetricGroup.LOSS for governor in Governor if governor)


def test_no_two_stages_look_alike() -> None:
    assert len(STAGES) == 9
    assert len({(metric(stage).colour, metric(stage).line_style) for stage in STAGES}) == len(STAGES)


def test_waiting_is_hatched_and_working_is_not() -> None:
    waits = {stage for stage in STAGES if metric(stage).line_style == "dashed"}
    assert waits == {stage for stage in STAGES if stage.endswith("_wait")}


def test_every_group_is_used_and_every_line_style_is_known() -> None:
    assert {row.group for row in METRICS.values()} == set(MetricGroup)
    assert {row.line_style for row in METRICS.values()} <= set(LINE_STYLES)


def test_sampled_metrics_offer_no_single_value() -> None:
    assert all(("value" in row.statistics) != (row.statistics == SAMPLED) for row in METRICS.values())


def test_an_unknown_id_is_named_in_the_error() -> None:
    with pytest.raises(KeyError, match="nonsense_ms"):
        metric("nonsense_ms")


def test_a_member_of_an_open_family_is_described_by_its_family() -> None:
    assert metric("host_cpu_ratio.3") is metric("host_cpu_ratio")
    with pytest.raises(KeyError, match=r"power_w\.3"):
        metric("power_w.3")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (16.6667, "16.67"),
        (0.03125, "0.0312"),
        (0.0, "0"),
        (1234.56, "1235"),
        (100.0, "100"),
        (-2.5, "-2.500"),
        (3.0, "3"),
        (-0.00001, "0.0000"),
        (-0.0, "0"),
        (math.inf, "inf"),
        (math.nan, "—"),
    ],
)
def test_a_number_has_digits_that_mean_something(value: float, text: str) -> None:
    assert number_text(value) == text


@pytest.mark.parametrize(
    ("metric_id", "value", "text"),
    [
        ("loss_ratio", 0.0123, "1.230 %"),
        ("upload_bandwidth_bytes_per_s", 995_328_000.0, "995.3 MB/s"),
        ("display_interval_ms", 16.6667, "16.67 ms"),
        ("display_refreshes", 2.0, "2"),
        ("gpu_temperature_c", math.nan, "—"),
    ],
)
def test_a_value_is_shown_in_its_unit(metric_id: str, value: float, text: str) -> None:
    assert value_text(metric_id, value) == text
