"""The metric table: id, unit, definition and look of every number that VeoTuner shows, records or exports.

Plot axes, tiles, report rows, CSV headers and telemetry readings all come from here; nothing is listed twice. A value
is stored in the unit that its id names (`_ms`, `_bytes_per_s`, `_ratio`); only `value_text` turns it into what a
person reads.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.core.vocabulary import LOSS_CLASSES


class MetricGroup(StrEnum):
    """What a metric is about; the heading under which reports and menus list it."""

    INTERVAL = "Frame interval"
    JITTER = "Jitter"
    LATENCY = "Latency"
    STAGE = "Latency by stage"
    RATE = "Frame rate"
    LOSS = "Loss"
    BANDWIDTH = "Bandwidth"
    THERMAL = "Temperature"
    CLOCK = "Clocks and power"
    LOAD = "Load"
    ENCODE = "Encode"
    SELF = "Own cost"


SAMPLED: Final = ("n", "mean", "sd", "p50", "p95", "p99", "p999", "max")
"""Statistics of a metric that has one sample a frame or reading."""

SINGLE: Final = ("value",)
"""A metric that is one number for a whole window or run."""

FEWEST_SAMPLES: Final = {"mean": 2, "sd": 2, "p50": 2, "p95": 2, "p99": 100, "p999": 1000, "max": 2}
"""Samples below which a statistic is missing instead of a guess: a p99 of 60 samples is only their maximum."""

LINE_STYLES: Final = ("solid", "dashed", "dotted", "dash_dot")
"""Second cue beside colour for curves; a stage band drawn `dashed` is hatched: time spent waiting, not working."""

MARKERS: Final = ("circle", "square", "diamond", "triangle_up", "triangle_down", "cross", "plus")
"""Second cue beside colour for marks; each loss class has its own."""

BLUE: Final = "#0072B2"
SKY_BLUE: Final = "#56B4E9"
GREEN: Final = "#009E73"
YELLOW: Final = "#F0E442"
ORANGE: Final = "#E69F00"
VERMILLION: Final = "#D55E00"
PURPLE: Final = "#CC79A7"
GREY: Final = "#999999"
OKABE_ITO: Final = (BLUE, SKY_BLUE, GREEN, YELLOW, ORANGE, VERMILLION, PURPLE, GREY)
"""Okabe and Ito's colours for the colour-blind, with grey in place of black, which a dark background swallows."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One row of the table.

    Attributes:
        id: stable name in JSON, CSV and code; ends in the unit that values are stored in.
        title: name shown to a person.
        unit: unit shown to a person; "" for a pure count.
        definition: what exactly is computed, and where the formula comes from.
        statistics: statistics that make sense, `SAMPLED` or `SINGLE`.
        missing: when there is no value, in words.
        group: heading.
        colour: `#RRGGBB` of the Okabe–Ito set, the same in every graph and report.
        line_style: one of `LINE_STYLES`. marker: one of `MARKERS`, "" where it is never drawn as a mark.
        scale: shown value = stored value × scale (bytes → MB: 1e-6; ratio → %: 100).
    """

    id: str
    title: str
    unit: str
    definition: str
    statistics: tuple[str, ...]
    missing: str
    group: MetricGroup
    colour: str
    line_style: str = "solid"
    marker: str = ""
    scale: float = 1.0

    def shown(self, value: float) -> float:
        """Return a stored value in the unit that is shown."""
        return value * self.scale


_NOT_DISPLAYED: Final = "the frame was not displayed or the stamp was not taken"
_NO_SENSOR: Final = "no sensor on this machine reports it"
_NO_GPU: Final = "no GPU driver on this machine reports it"
_TOO_FEW: Final = "fewer than two intervals in the window"

_INTERVALS: Final = (
    Metric(
        "present_interval_ms",
        "Present interval",
        "ms",
        "Difference of successive present calls within one segment.",
        SAMPLED,
        "first frame of a segment, or the frame was never presented",
        MetricGroup.INTERVAL,
        SKY_BLUE,
        "dashed",
    ),
    Metric(
        "display_interval_ms",
        "Display interval",
        "ms",
        "Difference of the display times of successive displayed frames of one segment, where both come from the same "
        "display-time source.",
        SAMPLED,
        "first displayed frame of a segment, or the display-time source changed in between",
        MetricGroup.INTERVAL,
        BLUE,
    ),
    Metric(
        "display_refreshes",
        "Refreshes shown",
        "",
        "Refreshes that each frame stayed on the screen; the histogram is the cadence.",
        SAMPLED,
        "the sink knows no refresh, or the frame was the last of its segment",
        MetricGroup.INTERVAL,
        GREEN,
    ),
)

_JITTER: Final = (
    Metric(
        "jitter_sd_ms",
        "Jitter (standard deviation)",
        "ms",
        "Standard deviation (N−1) of display_interval_ms in the window.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.JITTER,
        BLUE,
    ),
    Metric(
        "jitter_rms_ratio",
        "Jitter against nominal",
        "%",
        "RMS(interval − V) ÷ V, V the nominal interval; mpv's vsync-jitter.",
        SINGLE,
        "no nominal interval: the source runs free and the sink knows no refresh",
        MetricGroup.JITTER,
        ORANGE,
        "dashed",
        scale=100.0,
    ),
    Metric(
        "adaptive_sd_ms",
        "Adaptive deviation",
        "ms",
        "Root of the mean square of each display interval minus the mean of the intervals of the 500 ms before and "
        "including it: unevenness without slow drift (after CapFrameX's adaptive deviation, windowed by time).",
        SINGLE,
        _TOO_FEW,
        MetricGroup.JITTER,
        GREEN,
        "dotted",
    ),
    Metric(
        "arrival_jitter_ms",
        "Arrival jitter",
        "ms",
        "RFC 3550 section 6.4.1 over source arrivals: J += (|D| − J) ÷ 16, D the change of arrival − pts between "
        "successive frames; the last value of the latest segment.",
        SINGLE,
        "fewer than two frames with an arrival and a pts",
        MetricGroup.JITTER,
        PURPLE,
        "dash_dot",
    ),
)

_LATENCY: Final = (
    Metric(
        "source_to_display_ms",
        "Source to display",
        "ms",
        "Display time − arrival of the frame's data: the headline latency. What the named display-time source cannot "
        "see (compositor, panel) is not included.",
        SAMPLED,
        _NOT_DISPLAYED,
        MetricGroup.LATENCY,
        BLUE,
    ),
    Metric(
        "pacing_error_ms",
        "Pacing error",
        "ms",
        "Display time − due time; positive is late.",
        SAMPLED,
        "the frame was not displayed, or a free-running source gives no due times",
        MetricGroup.LATENCY,
        VERMILLION,
        "dashed",
    ),
    Metric(
        "frames_behind",
        "Frames behind",
        "frames",
        "source_to_display_ms ÷ nominal interval of the source.",
        SAMPLED,
        "the frame was not displayed, or the source has no nominal interval",
        MetricGroup.LATENCY,
        PURPLE,
        "dotted",
    ),
    Metric(
        "animation_error_ms",
        "Animation error",
        "ms",
        "(pts − pts of the previous displayed frame) − (display time − its display time): motion that the eye sees as "
        "uneven; PresentMon's MsAnimationError with the source's pts as simulation time.",
        SAMPLED,
        "first displayed frame of a segment, a frame without pts, or a change of display-time source; never 0",
        MetricGroup.LATENCY,
        ORANGE,
        "dash_dot",
    ),
)

_STAGE_ROWS: Final = (
    ("decode", "Decode", "from the start of decoding to the decoded picture", BLUE, "solid"),
    (
        "decode_wait",
        "Decode wait",
        "waiting for the decoder (arrival to its start: a full decode queue pushes back) and in the decode queue after",
        BLUE,
        "dashed",
    ),
    ("process", "Process", "conversion set-up and upload into staging memory", GREEN, "solid"),
    (
        "queue_wait",
        "Queue wait",
        "in the frame queue, incl. the intended wait for the due time",
        YELLOW,
        "dashed",
    ),
    ("acquire_wait", "Acquire wait", "waiting for a free swapchain image", ORANGE, "dashed"),
    (
        "submit",
        "Submit",
        "from the image acquired to the start of the GPU's work (recording, submission)",
        PURPLE,
        "solid",
    ),
    ("gpu", "GPU", "GPU work, from its first to its last timestamp", VERMILLION, "solid"),
    (
        "present",
        "Present",
        "from the end of the GPU's work to the return of the present call; 0 where the call had returned before",
        GREY,
        "solid",
    ),
    ("display_wait", "Display wait", "from there to the display time", SKY_BLUE, "dashed"),
)

STAGES: Final[tuple[str, ...]] = tuple(f"stage_ms.{row[0]}" for row in _STAGE_ROWS)
"""Stage metrics in pipeline order; in whole ns they add up to source_to_display_ms exactly."""

_STAGES: Final = tuple(
    Metric(
        f"stage_ms.{name}",
        title,
        "ms",
        f"Share of source_to_display_ms: {what}.",
        SAMPLED,
        "a stamp at its end is missing; its time is then part of the next stage",
        MetricGroup.STAGE,
        colour,
        style,
    )
    for name, title, what, colour, style in _STAGE_ROWS
)

_RATES: Final = (
    Metric(
        "fps_average",
        "Average frame rate",
        "fps",
        "Number of display intervals ÷ their sum; never a mean of rates.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        BLUE,
    ),
    Metric(
        "fps_p1",
        "P1 frame rate",
        "fps",
        "1000 ÷ P99 of the display intervals in ms (linear percentile; PresentMon's 1st percentile).",
        SINGLE,
        "fewer than 100 intervals",
        MetricGroup.RATE,
        GREEN,
        "dashed",
    ),
    Metric(
        "fps_low_1pct_mean",
        "Low 1 % (mean)",
        "fps",
        "1000 ÷ mean of the slowest ceil(0.01·N) display intervals in ms; exactly that many, ties do not widen it.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        ORANGE,
        "dotted",
    ),
    Metric(
        "fps_low_1pct_time",
        "Low 1 % (time)",
        "fps",
        "Display intervals sorted downwards and added until 1 % of the total time is reached; 1000 ÷ the interval "
        "reached (Afterburner's integral variant).",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        VERMILLION,
        "dash_dot",
    ),
    Metric(
        "stutter_time_ratio",
        "Stutter time",
        "%",
        "Time in display intervals above 2.5 × the trailing mean ÷ total time. The mean covers the 500 ms before the "
        "interval, spikes left out, so that a spike raises neither its own threshold nor the next one's.",
        SINGLE,
        _TOO_FEW,
        MetricGroup.RATE,
        PURPLE,
        scale=100.0,
    ),
)

_LOSS_LOOK: Final = {
    "source_late": ("Source late", "their data came too late to be of use", BLUE, "triangle_down"),
    "decode_overflow": ("Decode overflow", "the decode queue was full", SKY_BLUE, "square"),
    "queue_overflow": (
        "Queue overflow",
        "the frame queue was full and the overflow policy dropped them",
        ORANGE,
        "diamond",
    ),
    "deadline_missed": (
        "Deadline missed",
        "they were late beyond half a refresh and a newer one was ready",
        VERMILLION,
        "cross",
    ),
    "superseded": (
        "Superseded",
        "a newer frame replaced them before display (mailbox, low latency)",
        GREEN,
        "triangle_up",
    ),
    "decimated": ("Decimated", "a governor or preview_fps left them out on purpose", GREY, "circle"),
    "compositor_discarded": ("Compositor discarded", "the compositor never showed them", PURPLE, "plus"),
}

_LOSS: Final = (
    *(
        Metric(
            f"loss.{fate.label}",
            f"Lost: {_LOSS_LOOK[fate.label][0].lower()}",
            "frames",
            f"Frames that were not displayed because {_LOSS_LOOK[fate.label][1]}.",
            SINGLE,
            "the engine published no counters",
            MetricGroup.LOSS,
            _LOSS_LOOK[fate.label][2],
            marker=_LOSS_LOOK[fate.label][3],
        )
        for fate in LOSS_CLASSES
    ),
    Metric(
        "loss_ratio",
        "Lost",
        "%",
        "Lost frames of all classes ÷ produced frames.",
        SINGLE,
        "nothing was produced",
        MetricGroup.LOSS,
        VERMILLION,
        scale=100.0,
    ),
)


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

_ENCODE: Final = (
    Metric(
        "encode_ms",
        "Encode time",
        "ms",
        "From a frame entering the encoder to its packet.",
        SAMPLED,
        "the run has no encode branch",
        MetricGroup.ENCODE,
        BLUE,
    ),
    Metric(
        "encode_fps",
        "Encode rate",
        "fps",
        "Packets of the encoder ÷ time.",
        SINGLE,
        "the run has no encode branch",
        MetricGroup.ENCODE,
        GREEN,
    ),
)

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
        "Offset of GPU ticks to CLOCK_MONOTONIC from the fit over calibrated pairs.",
        SINGLE,
        "the device has no calibrated timestamps",
        MetricGroup.SELF,
        SKY_BLUE,
    ),
    Metric(
        "gpu_cpu_drift_ppm",
        "GPU clock drift",
        "ppm",
        "Rate of GPU ticks against CLOCK_MONOTONIC from the same fit.",
        SINGLE,
        "the device has no calibrated timestamps",
        MetricGroup.SELF,
        VERMILLION,
        "dashed",
    ),
)


def _checked(rows: tuple[Metric, ...]) -> dict[str, Metric]:
    table = {row.id: row for row in rows}
    if len(table) != len(rows):
        raise ValueError("the metric table names an id twice")
    for row in rows:
        if row.statistics not in (SAMPLED, SINGLE):
            raise ValueError(f"{row.id}: unknown statistics {row.statistics}")
        if row.colour not in OKABE_ITO or row.line_style not in LINE_STYLES or row.marker not in ("", *MARKERS):
            raise ValueError(f"{row.id}: colour, line style or marker outside the fixed sets")
        if not (row.title and row.definition and row.missing and row.scale > 0):
            raise ValueError(f"{row.id}: title, definition, missing and scale are needed")
    return table


METRICS: Final[dict[str, Metric]] = _checked(
    (
        *_INTERVALS,
        *_JITTER,
        *_LATENCY,
        *_STAGES,
        *_RATES,
        *_LOSS,
        *_BANDWIDTH,
        *_READINGS,
        *_ENCODE,
        *_SELF,
    )
)
"""Every metric by id, in the order in which reports list them."""


OPEN_FAMILIES: Final = ("host_cpu_ratio", "host_cpu_frequency_mhz", "probe_cost_us")
"""Metrics whose members (`host_cpu_ratio.3`) are only known on a machine; a member is described by its family's row."""


def metric(metric_id: str) -> Metric:
    """Return the row that describes a metric or a member of an open family.

    Raises:
        KeyError: no such metric; the text names the id.
    """
    family = metric_id.partition(".")[0]
    try:
        return METRICS[family if family in OPEN_FAMILIES else metric_id]
    except KeyError:
        raise KeyError(f"no metric {metric_id!r} in the table") from None


def number_text(value: float) -> str:
    """Return a number with about four digits that mean something (`16.67`, `0.0312`, `1234`), "—" for NaN."""
    if math.isnan(value):
        return "—"
    size = abs(value)
    if size == 0 or not math.isfinite(size):
        return "0" if size == 0 else f"{value}"
    decimals = max(0, min(4, 3 - math.floor(math.log10(size))))
    text = f"{value:.{decimals}f}"
    if float(text) == 0:  # what rounds to nothing has no sign
        text = text.removeprefix("-")
    return text.rstrip("0").rstrip(".") if value == round(value) and "." in text else text


def value_text(metric_id: str, value: float) -> str:
    """Return a stored value as a person reads it, with its unit: `value_text("loss_ratio", 0.0123)` is `1.230 %`."""
    row = metric(metric_id)
    number = number_text(row.shown(value))
    return number if number == "—" or not row.unit else f"{number} {row.unit}"
