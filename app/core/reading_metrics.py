"""Rows of the metric table that telemetry, the encode branch and the tool itself give."""

from __future__ import annotations

from typing import Final

from app.core.metric import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SAMPLED,
    SINGLE,
    SKY_BLUE,
    VERMILLION,
    Metric,
    MetricGroup,
)

_NO_SENSOR: Final = "no sensor on this machine reports it"
_NO_GPU: Final = "no GPU driver on this machine reports it"


def _rate(name: str, title: str, definition: str, missing: str, colour: str, style: str = "solid") -> Metric:
    return Metric(name, title, "MB/s", definition, SAMPLED, missing, MetricGroup.BANDWIDTH, colour, style, scale=1e-6)


_BANDWIDTH: Final = (
    _rate(
        "upload_bandwidth_bytes_per_s",
        "Upload bandwidth",
        "Bytes that the engine copied to the device ÷ time, in windows of 500 ms by the end of each upload "
        "(1 MB = 10⁶ bytes).",
        "the sink processes nothing (process=none), or less than one window of frames",
        BLUE,
    ),
    _rate(
        "pcie_tx_bytes_per_s",
        "PCIe transmit",
        "Bytes the GPU sent over PCIe ÷ time, from byte counters where the driver has them, else its 20 ms sample.",
        _NO_GPU,
        ORANGE,
        "dashed",
    ),
    _rate(
        "pcie_rx_bytes_per_s",
        "PCIe receive",
        "Bytes the GPU received over PCIe ÷ time, from byte counters where the driver has them, else its 20 ms sample.",
        _NO_GPU,
        GREEN,
        "dashed",
    ),
    _rate(
        "pcie_limit_bytes_per_s",
        "PCIe link limit",
        "Generation × width of the link as it is now: 0.25, 0.5, 0.985, 1.969, 3.938, 7.56 GB/s a lane and direction.",
        _NO_GPU,
        GREY,
        "dotted",
    ),
    Metric(
        "dram_bandwidth_ratio",
        "DRAM bandwidth",
        "%",
        "Share of the peak DRAM bandwidth in use, from performance counters (GPM, Hopper and later) only.",
        SAMPLED,
        "no performance counters; memory utilisation is time busy, not bandwidth, and is shown under its own name",
        MetricGroup.BANDWIDTH,
        PURPLE,
        "dash_dot",
        scale=100.0,
    ),
)


def _reading(
    name: str,
    title: str,
    unit: str,
    definition: str,
    group: MetricGroup,
    colour: str,
    style: str = "solid",
    scale: float = 1.0,
) -> Metric:
    missing = _NO_SENSOR if name.startswith("host_") else _NO_GPU
    return Metric(name, title, unit, definition, SAMPLED, missing, group, colour, style, scale=scale)


_READINGS: Final = (
    _reading("gpu_temperature_c", "GPU temperature", "°C", "GPU core temperature.", MetricGroup.THERMAL, VERMILLION),
    _reading(
        "memory_temperature_c",
        "Memory temperature",
        "°C",
        "GPU memory temperature.",
        MetricGroup.THERMAL,
        ORANGE,
        "dashed",
    ),
    _reading(
        "thermal_margin_c",
        "Thermal margin",
        "°C",
        "Degrees left to the nearest throttling threshold, as the driver gives it.",
        MetricGroup.THERMAL,
        GREEN,
        "dotted",
    ),
    _reading(
        "host_temperature_c",
        "Host temperature",
        "°C",
        "Hottest processor sensor of the host (thermal zone or hwmon).",
        MetricGroup.THERMAL,
        PURPLE,
        "dash_dot",
    ),
    _reading("gpu_clock_mhz", "GPU clock", "MHz", "Graphics clock as the driver reports it.", MetricGroup.CLOCK, BLUE),
    _reading(
        "memory_clock_mhz",
        "Memory clock",
        "MHz",
        "GPU memory clock as the driver reports it.",
        MetricGroup.CLOCK,
        SKY_BLUE,
        "dashed",
    ),
    _reading(
        "gpu_clock_max_mhz",
        "GPU clock limit",
        "MHz",
        "Highest graphics clock of the device.",
        MetricGroup.CLOCK,
        BLUE,
        "dotted",
    ),
    _reading(
        "memory_clock_max_mhz",
        "Memory clock limit",
        "MHz",
        "Highest memory clock of the device.",
        MetricGroup.CLOCK,
        SKY_BLUE,
        "dotted",
    ),
    _reading(
        "host_cpu_frequency_mhz",
        "Host CPU frequency",
        "MHz",
        "Clock of the host's cores: their mean, or one core's under host_cpu_frequency_mhz.CORE.",
        MetricGroup.CLOCK,
        GREY,
        "dash_dot",
    ),
    _reading("power_w", "Power", "W", "Power drawn by the board.", MetricGroup.CLOCK, ORANGE, "dotted"),
    _reading("power_limit_w", "Power limit", "W", "Power limit in force.", MetricGroup.CLOCK, GREY, "dotted"),
    *(
        _reading(
            f"throttle_ns.{reason}",
            f"Throttled: {words}",
            "ms",
            f"Time throttled by {words} since the reading before: difference of the driver's ns counter.",
            MetricGroup.CLOCK,
            colour,
            style,
            scale=1e-6,
        )
        for reason, words, colour, style in (
            ("power", "the power limit", ORANGE, "solid"),
            ("thermal", "temperature", VERMILLION, "solid"),
            ("sync", "sync boost", GREEN, "dashed"),
            ("sw_thermal", "software thermal slowdown", VERMILLION, "dashed"),
            ("hw_thermal", "hardware thermal slowdown", VERMILLION, "dotted"),
            ("brake", "the power brake", PURPLE, "dash_dot"),
        )
    ),
    _reading(
        "gpu_utilisation_ratio",
        "GPU busy",
        "%",
        "Share of time in which at least one kernel ran, as the driver samples it.",
        MetricGroup.LOAD,
        BLUE,
        scale=100.0,
    ),
    _reading(
        "memory_utilisation_ratio",
        "GPU memory busy",
        "%",
        "Share of time in which GPU memory was read or written: time busy, not bandwidth.",
        MetricGroup.LOAD,
        SKY_BLUE,
        "dashed",
        scale=100.0,
    ),
    _reading(
        "encoder_utilisation_ratio",
        "Encoder busy",
        "%",
        "Share of time in which the encoder was busy.",
        MetricGroup.LOAD,
        ORANGE,
        "dotted",
        100.0,
    ),
    _reading(
        "decoder_utilisation_ratio",
        "Decoder busy",
        "%",
        "Share of time in which the decoder was busy.",
        MetricGroup.LOAD,
        GREEN,
        "dotted",
        100.0,
    ),
    _reading(
        "gpu_memory_used_bytes",
        "GPU memory used",
        "MB",
        "GPU memory in use (1 MB = 10⁶ bytes).",
        MetricGroup.LOAD,
        PURPLE,
        "dash_dot",
        1e-6,
    ),
    _reading(
        "gpu_memory_total_bytes",
        "GPU memory",
        "MB",
        "Memory of the GPU (1 MB = 10⁶ bytes).",
        MetricGroup.LOAD,
        PURPLE,
        "dotted",
        1e-6,
    ),
    _reading(
        "host_cpu_ratio",
        "Host CPU",
        "%",
        "CPU time of the host ÷ wall time ÷ number of logical CPUs; one of them under host_cpu_ratio.CORE.",
        MetricGroup.LOAD,
        GREY,
        scale=100.0,
    ),
    _reading(
        "host_memory_total_bytes",
        "Host memory",
        "MB",
        "Memory of the host (1 MB = 10⁶ bytes).",
        MetricGroup.LOAD,
        GREY,
        "dotted",
        1e-6,
    ),
    _reading(
        "host_swap_used_bytes",
        "Host swap used",
        "MB",
        "Swap space in use on the host (1 MB = 10⁶ bytes).",
        MetricGroup.LOAD,
        GREY,
        "dash_dot",
        1e-6,
    ),
    _reading(
        "host_memory_used_bytes",
        "Host memory used",
        "MB",
        "Memory of the host that is not available to new programs (1 MB = 10⁶ bytes).",
        MetricGroup.LOAD,
        GREY,
        "dashed",
        1e-6,
    ),
)

_NO_BRANCH: Final = "the run has no encode branch"
_NO_PACKET: Final = f"{_NO_BRANCH}, or no packet came out of it"

_ENCODE: Final = (
    Metric(
        "encode_ms",
        "Encode time",
        "ms",
        "From a frame's offer to the encode branch to its packet: the wait, the coding, and what the encoder holds "
        "back. Frames are found again by their number.",
        SAMPLED,
        _NO_PACKET,
        MetricGroup.ENCODE,
        BLUE,
    ),
    Metric(
        "encode_wait_ms",
        "Encode wait",
        "ms",
        "Part of encode_ms before the encoder takes the frame in.",
        SAMPLED,
        f"{_NO_BRANCH}, or no frame reached the encoder",
        MetricGroup.ENCODE,
        BLUE,
        "dashed",
    ),
    Metric(
        "encode_delay_frames",
        "Encoder delay",
        "frames",
        "Frames that the encoder had taken in after this one when its packet came out; 0 when each is given out at "
        "once. An encoder that holds 3 frames has a delay of 2.",
        SAMPLED,
        _NO_PACKET,
        MetricGroup.ENCODE,
        PURPLE,
        "dotted",
    ),
    Metric(
        "encode_fps",
        "Encode rate",
        "fps",
        "Number of intervals between successive packets of a segment ÷ their sum.",
        SINGLE,
        f"{_NO_BRANCH}, or fewer than three packets came out of it",
        MetricGroup.ENCODE,
        GREEN,
    ),
    Metric(
        "encode_bitrate_bits_per_s",
        "Encode bitrate",
        "Mbit/s",
        "Bits of the packets ÷ the time between them, over the same intervals as encode_fps (1 Mbit = 10⁶ bits); a "
        "segment's first packet stands for no time and is left out.",
        SINGLE,
        f"{_NO_BRANCH}, or fewer than two packets came out of it",
        MetricGroup.ENCODE,
        SKY_BLUE,
        "dash_dot",
        scale=1e-6,
    ),
    Metric(
        "encoder_skipped",
        "Skipped by the encoder",
        "frames",
        "Frames offered while the encode branch was full: they are not in the encoded video. The preview shows them "
        "all the same.",
        SINGLE,
        _NO_BRANCH,
        MetricGroup.ENCODE,
        ORANGE,
        marker="triangle_down",
    ),
    Metric(
        "encoder_skipped_ratio",
        "Share skipped by the encoder",
        "%",
        "Frames skipped ÷ frames offered to the encode branch.",
        SINGLE,
        f"{_NO_BRANCH}, or nothing was offered to it",
        MetricGroup.ENCODE,
        ORANGE,
        "dashed",
        scale=100.0,
    ),
    Metric(
        "encoder_lost",
        "Lost in the encoder",
        "frames",
        "Frames taken in whose packet never came out, because the encoder failed or hung.",
        SINGLE,
        _NO_BRANCH,
        MetricGroup.ENCODE,
        VERMILLION,
        marker="cross",
    ),
)

_NO_FIT: Final = "the engine reported no fit of the clocks: no GPU is used, or it cannot calibrate its timestamps"

_SELF: Final = (
    *(
        Metric(
            f"self_cpu_ratio.{who}",
            f"CPU of the {words}",
            "% of a core",
            f"CPU time of the {words} ÷ wall time; 100 % is one core.",
            SAMPLED,
            missing,
            MetricGroup.SELF,
            colour,
            style,
            scale=100.0,
        )
        for who, words, missing, colour, style in (
            ("engine", "engine process", "the engine sent no status", BLUE, "solid"),
            ("gui", "window's process", "the run had no window", ORANGE, "dashed"),
            ("sampler", "telemetry sampler", "no telemetry was sampled", GREEN, "dotted"),
        )
    ),
    Metric(
        "probe_cost_us",
        "Cost of a telemetry call",
        "µs",
        "Wall time of one driver or sensor call; by call under probe_cost_us.CALL.",
        SAMPLED,
        "no telemetry was sampled",
        MetricGroup.SELF,
        PURPLE,
        "dash_dot",
    ),
    Metric(
        "record_cost_us",
        "Cost of a frame record",
        "µs",
        "Mean wall time of writing one frame record in the present loop, as the engine's status gives it.",
        SAMPLED,
        "the engine sent no status with records written",
        MetricGroup.SELF,
        GREY,
    ),
    Metric(
        "gpu_cpu_clock_offset_ns",
        "GPU clock offset",
        "ns",
        "How far the line through the calibrated pairs of GPU ticks and CLOCK_MONOTONIC has moved from the run's first "
        "one, at its nominal rate; the last fit of the run.",
        SINGLE,
        _NO_FIT,
        MetricGroup.SELF,
        SKY_BLUE,
    ),
    Metric(
        "gpu_cpu_drift_ppm",
        "GPU clock drift",
        "ppm",
        "Rate of GPU ticks against their nominal period by the same fit; positive where the GPU's clock is slow.",
        SINGLE,
        _NO_FIT,
        MetricGroup.SELF,
        VERMILLION,
        "dashed",
    ),
    Metric(
        "gpu_cpu_residual_ns",
        "GPU clock residual",
        "ns",
        "Median distance of the calibrated pairs from the same fit: how well GPU stamps are placed on CLOCK_MONOTONIC.",
        SINGLE,
        _NO_FIT,
        MetricGroup.SELF,
        GREEN,
        "dotted",
    ),
)

READING_METRICS: Final[tuple[Metric, ...]] = (*_BANDWIDTH, *_READINGS, *_ENCODE, *_SELF)
"""In the order in which reports list them."""
