"""Every key that acts: a measurement that moves when it changes, and one that does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from app.config.options import OPTIONS
from tests.keys.experiments import (
    FREE,
    Experiment,
    anomalous,
    bursting,
    changed,
    compensated,
    device_opened,
    devices,
    encoded,
    governed,
    heat,
    losing,
    mild_heat,
    preview,
    scheduled,
    streamed,
    traffic,
)
from tests.support.disturbance import again_if_disturbed

LEAST_MOVE_RATIO = 0.15
"""A measurement has moved when it differs by more than this, and has not when by less."""


class Row(NamedTuple):
    """One key: two values, the experiment, which of its measurements moves and which stays."""

    key: str
    values: tuple[Any, Any]
    experiment: Experiment
    moves: str
    stays: str
    base: Mapping[str, Any] = MappingProxyType({})


KEPT_FULL = preview(FREE)
IMMEDIATE = preview()
NO_ROOM = preview(FREE, "virtual:60,images=4,process=none")
SLOW_DELIVERY = preview("synthetic:64x64@60,stall=0.03:250,seed=2", frames=420)
DRAWN = preview("synthetic:320x180@60", "virtual:60")
HOT, WARM = governed(heat), governed(mild_heat)
BUSY, BUSY_144 = governed(traffic), governed(traffic, source_hz=144.0)

GUARDED = {"thermal_guard.enabled": True}
COMPENSATED = {"frame_compensation.enabled": True}
BRAKED = {"bandwidth_guard.enabled": True, "bandwidth_guard.reduced_fps": 30, "bandwidth_guard.max_fps": 60}
BURSTING = {"iframe_guard.enabled": True}
CODED = {"encoder.enabled": True, "encoder.codec": "libx264", "encoder.preset": "p1", "nvenc_queue_depth": 8}
SERVED = {"enable_preview": True, "preview_interval_ms": 200}

TABLE = (
    Row("nvdec_queue_depth", (1, 8), KEPT_FULL, "decode_queue", "rate_hz"),
    Row("frame_queue_depth", (2, 8), KEPT_FULL, "queue_wait", "rate_hz"),
    Row("nvenc_queue_depth", (4, 16), encoded, "nvenc_depth", "largest", CODED),
    Row("overflow_policy", ("block", "drop_oldest"), KEPT_FULL, "overflowed", "rate_hz"),
    Row("render_latency_ms", (40, 90), preview(), "latency", "rate_hz", {"frame_queue_depth": 8}),
    Row("latency_mode", ("LOW_JITTER", "LOW_LATENCY"), preview(), "latency", "rate_hz",
        {"render_latency_ms": 100, "frame_queue_depth": 8}),
    Row("batch_window_us", (0, 10_000), IMMEDIATE, "behind_grid_ms", "rate_hz",
        {"present_mode": "IMMEDIATE", "render_latency_ms": 45}),
    Row("sync_mode", ("Immediate", "WaitForNextFrame"), NO_ROOM, "in_display", "rate_hz"),
    Row("preview_latency", ("fixed", "auto"), anomalous, "extra_latency_ms", "rate_hz", {"frame_queue_depth": 16}),
    Row("preview_fps", (0, 20), preview(), "rate_hz", "behind_due", {"render_latency_ms": 60, "frame_queue_depth": 8}),
    Row("present_mode", ("FIFO", "IMMEDIATE"), preview(), "mode", "rate_hz"),
    Row("min_image_count", (2, 5), KEPT_FULL, "images", "rate_hz"),
    Row("command_buffers", ("reuse", "record"), DRAWN, "submit_cpu_us", "rate_hz", {"render_latency_ms": 60}),
    Row("enable_preview", (False, True), streamed, "served", "source", {"preview_interval_ms": 200}),
    Row("preview_interval_ms", (200, 400), streamed, "interval_ms", "width", {"enable_preview": True}),
    Row("preview_resolution", ("320x180", "640x360"), streamed, "width", "interval_ms", SERVED),
    Row("thermal_guard.enabled", (False, True), HOT, "brakes", "highest_hz"),
    Row("thermal_guard.start_c", (75, 65), HOT, "first_braked_s", "lowest_hz", GUARDED),
    Row("thermal_guard.span_c", (25, 100), WARM, "lowest_hz", "first_braked_s", GUARDED),
    Row("thermal_guard.floor_ratio", (0.6, 0.3), HOT, "lowest_hz", "first_braked_s", GUARDED),
    Row("thermal_guard.hysteresis_c", (0, 10), WARM, "moves", "lowest_hz", GUARDED),
    Row("thermal_guard.dwell_s", (1, 8), HOT, "moves", "lowest_hz", GUARDED),
    Row("frame_compensation.enabled", (False, True), compensated, "brakes", "highest_hz"),
    Row("frame_compensation.window", (64, 1024), compensated, "moves", "highest_hz", COMPENSATED),
    Row("frame_compensation.table", ([[40, 60], [80, 45], [200, 30]], [[40, 60], [80, 20], [200, 10]]), compensated,
        "lowest_hz", "first_braked_s", COMPENSATED),
    Row("frame_compensation.hysteresis_ms", (0, 60), compensated, "moves", "first_braked_s", COMPENSATED),
    Row("frame_compensation.interpolation", ("none", "blend"), SLOW_DELIVERY, "made_up", "decimated",
        {**COMPENSATED, "render_latency_ms": 60, "frame_queue_depth": 12}),
    Row("bandwidth_guard.enabled", (False, True), BUSY, "brakes", "highest_hz",
        {"bandwidth_guard.reduced_fps": 30, "bandwidth_guard.max_fps": 60}),
    Row("bandwidth_guard.threshold_ratio", (0.9, 0.5), BUSY, "first_braked_s", "lowest_hz", BRAKED),
    Row("bandwidth_guard.max_fps", (60, 120), BUSY_144, "highest_hz", "lowest_hz", BRAKED),
    Row("bandwidth_guard.reduced_fps", (48, 20), BUSY, "lowest_hz", "first_braked_s", BRAKED),
    Row("iframe_guard.enabled", (False, True), bursting, "lowest", "full_at_start"),
    Row("iframe_guard.high_water", (0.8, 0.4), bursting, "first_lowered_s", "full_at_start", BURSTING),
    Row("iframe_guard.decrease", (0.7, 0.9), bursting, "first_ratio", "first_lowered_s", BURSTING),
    Row("iframe_guard.floor_ratio", (0.4, 0.8), bursting, "lowest", "first_lowered_s", BURSTING),
    Row("iframe_guard.recover_step", (0.01, 0.3), bursting, "last_lowered_s", "first_lowered_s",
        {**BURSTING, "iframe_guard.floor_ratio": 0.2}),
    Row("recapture.ratio", (1.3, 1.9), anomalous, "first_at_s", "rate_hz"),
    Row("recapture.sigma", (2, 9), anomalous, "first_at_s", "rate_hz"),
    Row("recapture.window", (64, 512), anomalous, "anomalies", "rate_hz",
        {"recapture.ratio": 1.05, "recapture.sigma": 1}),
    Row("recapture.weights.sm", (0.35, 0.9), anomalous, "evidence", "anomalies"),
    Row("recapture.weights.memory", (0.4, 0.9), anomalous, "evidence", "anomalies"),
    Row("recapture.weights.copy", (0.25, 0.9), anomalous, "evidence", "anomalies"),
    Row("encoder.enabled", (False, True), preview(), "encoded", "rate_hz"),
    Row("encoder.codec", ("libx264", "av1_nvenc"), encoded, "codec", "nvenc_depth", CODED),
    Row("encoder.preset", ("p1", "p7"), encoded, "bytes", "offered",
        {**CODED, "encoder.rc": "vbr", "encoder.cq": 30}),
    Row("encoder.tune", ("ull", "hq"), encoded, "held", "offered", CODED),
    Row("encoder.rc", ("vbr", "constqp"), encoded, "bytes", "offered", {**CODED, "encoder.bitrate_kbps": 400}),
    Row("encoder.bitrate_kbps", (400, 4000), encoded, "bytes", "offered", {**CODED, "encoder.rc": "cbr"}),
    Row("encoder.max_rate_kbps", (400, 40_000), encoded, "bytes", "offered",
        {**CODED, "encoder.rc": "vbr", "encoder.bitrate_kbps": None}),
    Row("encoder.cq", (15, 40), encoded, "bytes", "offered", {**CODED, "encoder.rc": "vbr"}),
    Row("encoder.gop_frames", (120, 10), encoded, "key_frames", "offered", CODED),
    Row("encoder.b_frames", (0, 2), encoded, "held", "offered", {**CODED, "encoder.tune": "ll"}),
    Row("encoder.lookahead", (0, 6), encoded, "held", "offered", {**CODED, "nvenc_queue_depth": 32}),
    Row("encoder.multipass", ("disabled", "fullres"), encoded, "nvenc", "largest", CODED),
    Row("alerts.drop_warn_per_s", (0.5, 2), losing, "warned_s", "critical_s"),
    Row("alerts.drop_window_s", (2, 20), losing, "warned_s", "low_band"),
    Row("alerts.drop_critical_in_1s", (2, 10), losing, "critical_s", "low_band"),
    Row("alerts.band_low_us", (500, 1500), losing, "low_band", "high_band"),
    Row("alerts.band_high_us", (2000, 4000), losing, "high_band", "low_band"),
    Row("realtime.policy", ("other", "fifo"), scheduled, "policy", "cpus"),
    Row("realtime.priority", (3, 50), scheduled, "priority", "cpus", {"realtime.policy": "rr"}),
    Row("realtime.cpus", ([], [0]), scheduled, "cpus", "nice"),
    Row("realtime.nice", (0, 7), scheduled, "nice", "cpus"),
    Row("device.gpu_uuid", (None, "GPU-12345678"), devices, "cuda", "vulkan"),
    Row("device.mig_uuid", (None, "MIG-12345678"), devices, "cuda", "vulkan"),
    Row("device.vulkan_device", (None, "no such device"), device_opened, "failure", "source"),
)  # fmt: skip


def test_every_key_that_acts_has_a_row() -> None:
    assert [row.key for row in TABLE] == [option.key for option in OPTIONS if option.acts]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.key)
def test_a_key_moves_what_it_is_for_and_nothing_else(row: Row) -> None:
    check(row)


@again_if_disturbed
def check(row: Row) -> None:
    first, second = (row.experiment(changed(row.base, row.key, value)) for value in row.values)
    assert differ(first[row.moves], second[row.moves]), f"{row.moves}: {first[row.moves]} and {second[row.moves]}"
    assert not differ(first[row.stays], second[row.stays]), f"{row.stays}: {first[row.stays]} and {second[row.stays]}"


def differ(first: Any, second: Any) -> bool:
    """Tell whether two measurements differ: numbers by a ratio, all else at all."""
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in (first, second))
    if not numbers or math.inf in (first, second):
        return bool(first != second)
    return bool(abs(first - second) > LEAST_MOVE_RATIO * max(abs(first), abs(second)))
