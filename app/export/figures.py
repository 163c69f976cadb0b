"""The figures of a report. Each is drawn from a `RunData`, or says in words why there is nothing to draw."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from matplotlib.axes import Axes

from app.analysis.array_types import FloatArray, Int64Array
from app.analysis.bandwidth import upload_bandwidth
from app.analysis.encoding import encode_ms
from app.analysis.frame_intervals import IntervalSeries, display_intervals, displayed_rows
from app.analysis.jitter import rolling_sd_ms
from app.analysis.latency import source_to_display_ms, stage_ms
from app.analysis.loss import cadence
from app.analysis.run_data import RunData, TelemetryTable
from app.analysis.run_sources import RunSource, run_source
from app.analysis.run_statistics import of_one_device
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.encode_records import EncodeFate
from app.core.metric import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILLION
from app.core.metrics import METRICS, metric
from app.core.records import FrameArray
from app.core.vocabulary import LOSS_CLASSES
from app.export.decimation import decimate_parts, thin_marks
from app.export.metric_sources import SIMULATED_PROVIDER
from app.export.svg import FAINT, INK, PAPER, make_figure, style, svg_text

COLUMNS: Final = 600
"""Columns a curve is decimated to: about one a pixel and a half at the report's width."""

BANDS: Final = 240
"""Most columns of the stage bands; each shows the mean of its frames, so that the bands add up to the mean latency."""

_FRAMES_A_BAND: Final = 5
"""Frames that a column should hold: with fewer, a column between two frames would look like a gap."""

_LINE_STYLES: Final[dict[str, Any]] = {"solid": "-", "dashed": (0, (5, 2)), "dotted": (0, (1.5, 1.5)), "dash_dot": "-."}
_MARKERS: Final = {
    "circle": "o",
    "square": "s",
    "diamond": "D",
    "triangle_up": "^",
    "triangle_down": "v",
    "cross": "x",
    "plus": "+",
}
_LEGEND_COLUMNS: Final = 4
_JITTER_WINDOW_NS: Final = NS_PER_S
_MOST_CHANGES_NAMED: Final = 8

_GOVERNOR_LOOKS: Final = {
    "thermal": (VERMILLION, "^"),
    "compensation": (BLUE, "v"),
    "bandwidth": (ORANGE, "s"),
    "iframe": (PURPLE, "D"),
    "recapture": (GREEN, "X"),
    "latency": (GREY, "P"),
}
"""Colour and mark of each governor's decisions; another one's are grey circles."""


@dataclass(frozen=True, slots=True)
class ReportFigure:
    """One figure. `svg` is "" when there is nothing to draw, and `missing` says why then."""

    name: str
    title: str
    caption: str
    svg: str = ""
    missing: str = ""


def report_figures(data: RunData) -> tuple[ReportFigure, ...]:
    """Return every figure of the report in its order."""
    source = run_source(data)
    with style():
        return (
            interval_figure(data, source),
            histogram_figure(source),
            latency_figure(data, source),
            jitter_figure(data, source),
            bandwidth_figure(data),
            thermal_figure(data),
            cadence_figure(source),
        )


def source_figures(data: RunData, source: RunSource) -> tuple[ReportFigure, ...]:
    """Return the figures of one of several sources, the first of which has those of `report_figures`."""
    if source.index == 0:
        return ()
    with style():
        return (interval_figure(data, source), latency_figure(data, source))


def interval_figure(data: RunData, source: RunSource) -> ReportFigure:
    """Frame interval over time, with the nominal line, losses by class, changes and decisions, warm-up and gaps."""
    shown = display_intervals(source.frames)
    losses, decisions = _losses(data, source.frames), _decisions(data)
    caption = (
        "Display interval of every picture, least and greatest of each pixel column; gaps are segment borders."
        + (" Marks at the top are decisions of governors." if decisions else "")
        + (" Lost frames are marked below by class, at their arrival." if losses else "")
    )
    blank = ReportFigure(_name("interval", source), "Frame interval", caption)
    if not len(shown.rows) and not losses:
        return _missing(blank, "no two frames were displayed one after the other, and none was lost")
    heights_in = (2.2, 0.1 + 0.22 * len(losses)) if losses else (2.2,)
    figure, axes = make_figure(heights_in, legend_rows=_legend_rows(len(decisions) + 2))
    _curve(axes[0], data, shown, shown.interval_ms, "display_interval_ms")
    _from_zero(axes[0])
    _mark_decisions(axes[0], decisions)
    _nominal_line(axes[0], source)
    if losses:
        _loss_rows(axes[1], losses)
    for each in axes:
        _shade_warmup(each, data, source)
        _mark_changes(each, data, named=each is axes[0], top=0.88 if decisions else 0.97)
    _finish_time(axes, data, "ms")
    return _drawn(blank, svg_text(figure, blank.name, f"{caption} {_interval_words(shown)}"))


def histogram_figure(source: RunSource) -> ReportFigure:
    """How often each interval occurred, on a logarithmic scale, so that a single spike is visible."""
    interval_ms = display_intervals(source.measured).interval_ms
    blank = ReportFigure(
        "histogram",
        "Interval histogram",
        "Number of display intervals after the warm-up, on a logarithmic scale.",
    )
    if len(interval_ms) < 2:
        return _missing(blank, f"needs two display intervals after the warm-up, there are {len(interval_ms)}")
    greatest_ms, top_ms = float(interval_ms.max()), 5 * float(np.median(interval_ms))
    above = int(np.count_nonzero(interval_ms > top_ms))
    caption = f"{blank.caption} The last bar holds {above} of up to {greatest_ms:.1f} ms." if above else blank.caption
    top_ms = top_ms if above else greatest_ms * 1.02
    figure, (axes,) = make_figure((1.5,))
    clipped = np.minimum(interval_ms, top_ms)
    axes.hist(clipped, bins=np.linspace(0, top_ms, 121).tolist(), color=metric("display_interval_ms").colour)
    axes.set_yscale("log")
    axes.set_ylim(bottom=0.7)
    axes.minorticks_off()
    axes.set_xlim(0, top_ms)
    _nominal_line(axes, source, vertical=True)
    axes.set(xlabel="display interval, ms", ylabel="intervals")
    return ReportFigure("histogram", blank.title, caption, svg_text(figure, "histogram", caption))


def latency_figure(data: RunData, source: RunSource) -> ReportFigure:
    """Latency by stage as bands over time, with the greatest source-to-display time of each column as a line."""
    frames = source.frames[displayed_rows(source.frames)]
    frames = frames[frames["arrive_ns"] != NO_STAMP_NS]
    blank = ReportFigure(
        _name("latency", source),
        "Latency by stage",
        "Mean of each stage per column, stacked: their height is the mean source-to-display time. Hatched bands are "
        "waiting, plain ones working. The line is the greatest latency of the column.",
    )
    if len(frames) < 2:
        return _missing(blank, f"needs two displayed frames with an arrival, there are {len(frames)}")
    figure, (axes,) = make_figure((2.8,), legend_rows=2)
    _stage_bands(axes, data, frames)
    _shade_warmup(axes, data, source)
    _mark_changes(axes, data, named=False)
    _finish_time([axes], data, "ms")
    _from_zero(axes)
    _legend(axes, columns=5)
    return _drawn(blank, svg_text(figure, blank.name, blank.caption))


def jitter_figure(data: RunData, source: RunSource) -> ReportFigure:
    """Standard deviation of the display interval over the second before."""
    shown = display_intervals(source.frames)
    blank = ReportFigure(
        "jitter", "Jitter", "Standard deviation (N−1) of the display intervals of the second before each frame."
    )
    deviation_ms = rolling_sd_ms(shown, _JITTER_WINDOW_NS)
    if not np.any(~np.isnan(deviation_ms)):
        return _missing(blank, "needs two display intervals within a second")
    figure, (axes,) = make_figure((1.3,), legend_rows=0)
    _curve(axes, data, shown, deviation_ms, "jitter_sd_ms")
    _shade_warmup(axes, data, source)
    _mark_changes(axes, data, named=False)
    _from_zero(axes, least_top=0.1)  # below that the curve would show nothing but the rounding of the stamps
    _finish_time([axes], data, "ms")
    return _drawn(blank, svg_text(figure, "jitter", blank.caption))


def bandwidth_figure(data: RunData) -> ReportFigure:
    """Upload bandwidth of the engine, and the PCIe link where a driver counts it."""
    upload = upload_bandwidth(data.frames)
    links = _telemetry_series(data, ("pcie_rx_bytes_per_s", "pcie_tx_bytes_per_s"))
    blank = ReportFigure(
        "bandwidth", "Bandwidth", "Bytes copied to the device per second, in windows of 500 ms; PCIe where counted."
    )
    if not len(upload.at_ns) and not links:
        return _missing(blank, metric("upload_bandwidth_bytes_per_s").missing)
    figure, (axes,) = make_figure((1.3,))
    if len(upload.at_ns):
        _line(axes, _seconds(data, upload.at_ns), upload.bytes_per_s, "upload_bandwidth_bytes_per_s")
    for metric_id, rows in links.items():
        _telemetry_line(axes, data, metric_id, rows)
    _from_zero(axes)
    _finish_time([axes], data, "MB/s")
    _legend(axes)
    return _drawn(blank, svg_text(figure, "bandwidth", blank.caption))


def thermal_figure(data: RunData) -> ReportFigure:
    """Temperatures above, clocks below."""
    heat = _telemetry_series(data, ("gpu_temperature_c", "memory_temperature_c", "host_temperature_c"))
    clocks = _telemetry_series(data, ("gpu_clock_mhz", "memory_clock_mhz"))
    simulated = [rows for rows in (*heat.values(), *clocks.values()) if SIMULATED_PROVIDER in rows.provider]
    label = " — SIMULATED GPU" if simulated else ""
    blank = ReportFigure("thermal", f"Temperature and clocks{label}", "Readings of the telemetry sampler as they came.")
    if not heat and not clocks:
        return _missing(blank, _no_reading(data, "gpu_temperature_c"))
    parts = [(each, unit) for each, unit in ((heat, "°C"), (clocks, "MHz")) if each]
    figure, axes = make_figure((1.2,) * len(parts))
    for each, (series, unit) in zip(axes, parts, strict=True):
        for metric_id, rows in series.items():
            _telemetry_line(each, data, metric_id, rows)
        each.set_ylabel(unit)
        each.margins(y=0.2)
        _legend(each)
    _finish_time(axes, data)
    without = "" if clocks else f" No clocks: {_no_reading(data, 'gpu_clock_mhz')}."
    caption = blank.caption + without
    return ReportFigure("thermal", blank.title, caption, svg_text(figure, "thermal", caption))


def cadence_figure(source: RunSource) -> ReportFigure:
    """For how many refreshes the pictures stayed."""
    counts = cadence(source.measured)
    blank = ReportFigure(
        "cadence", "Cadence", "Pictures after the warm-up by the number of refreshes each stayed on the screen."
    )
    if not counts:
        return _missing(blank, metric("display_refreshes").missing)
    figure, (axes,) = make_figure((0.08 + 0.24 * min(len(counts), 12),), legend_rows=0)
    kept = dict(sorted(sorted(counts.items(), key=lambda item: -item[1])[:12]))
    labels = [f"{refreshes} refresh{'' if refreshes == 1 else 'es'}" for refreshes in kept]
    bars = axes.barh(labels, list(kept.values()), color=metric("display_refreshes").colour, height=0.7)
    total = sum(counts.values())
    axes.bar_label(bars, [f"{count} ({count / total:.1%})" for count in kept.values()], padding=4)
    axes.invert_yaxis()
    axes.set_xlim(0, max(kept.values()) * 1.18)
    axes.grid(False, axis="y")
    axes.set_xlabel("pictures")
    return _drawn(blank, svg_text(figure, "cadence", blank.caption))


def encoder_figures(data: RunData) -> tuple[ReportFigure, ...]:
    """Return the figures of the encode branch; none without one."""
    if not len(data.encodes):
        return ()
    with style():
        return (encode_figure(data),)


def encode_figure(data: RunData) -> ReportFigure:
    """Time of each frame in the encode branch, with the frames that it skipped or lost."""
    rows = data.encodes[np.argsort(data.encodes["encode_in_ns"], kind="stable")]
    took_ms = encode_ms(rows)
    known = ~np.isnan(took_ms)
    blank = ReportFigure(
        "encode",
        "Encode time",
        "From each frame's offer to its packet, at its offer; frames that were skipped or lost are marked at the top.",
    )
    if np.count_nonzero(known) < 2:
        return _missing(blank, f"needs two packets, there are {np.count_nonzero(known)}")
    figure, (axes,) = make_figure((1.5,))
    parts = rows["breaks_before"][known].astype(np.intp)
    curve = decimate_parts(_seconds(data, rows["encode_in_ns"][known]), took_ms[known], parts, COLUMNS)
    _line(axes, *curve, "encode_ms")
    _from_zero(axes)
    for fate, metric_id in ((EncodeFate.SKIPPED, "encoder_skipped"), (EncodeFate.LOST, "encoder_lost")):
        _mark_at_top(axes, _seconds(data, rows["encode_in_ns"][rows["fate"] == fate]), *_look(metric_id))
    _finish_time([axes], data, "ms")
    _legend(axes)
    return _drawn(blank, svg_text(figure, "encode", blank.caption))


def _name(kind: str, source: RunSource) -> str:
    """Return the name of a figure, unique in the page."""
    return f"{kind}-{source.index + 1}" if source.index else kind


def _drawn(blank: ReportFigure, svg: str) -> ReportFigure:
    return ReportFigure(blank.name, blank.title, blank.caption, svg)


def _missing(blank: ReportFigure, reason: str) -> ReportFigure:
    return ReportFigure(blank.name, blank.title, blank.caption, missing=reason)


def _seconds(data: RunData, at_ns: Int64Array) -> FloatArray:
    seconds: FloatArray = (at_ns - data.started_ns) / NS_PER_S
    return seconds


def _line(axes: Axes, x: FloatArray, y: FloatArray, metric_id: str) -> None:
    row = metric(metric_id)
    axes.plot(
        x, y * row.scale, color=row.colour, linestyle=_LINE_STYLES[row.line_style], linewidth=1.3, label=row.title
    )


def _curve(axes: Axes, data: RunData, series: IntervalSeries, values: FloatArray, metric_id: str) -> None:
    known = ~np.isnan(values)
    x = _seconds(data, series.at_ns[known])
    _line(axes, *decimate_parts(x, values[known], series.segment[known], COLUMNS), metric_id)


def _nominal_line(axes: Axes, source: RunSource, *, vertical: bool = False) -> None:
    nominal_ms = source.nominal_ms
    if not np.isnan(nominal_ms):
        draw = axes.axvline if vertical else axes.axhline
        draw(
            nominal_ms,
            color=INK,
            linewidth=0.9,
            linestyle=(0, (6, 3)),
            zorder=1.5,
            label=f"nominal {nominal_ms:.2f} ms",
        )
    _legend(axes)


def _legend(axes: Axes, columns: int = _LEGEND_COLUMNS) -> None:
    """Above the axes at the right, where no curve can hide it."""
    axes.legend(loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, borderaxespad=0.1)


def _legend_rows(entries: int) -> int:
    return -(-entries // _LEGEND_COLUMNS)


def _from_zero(axes: Axes, least_top: float = 1e-6) -> None:
    """Begin the scale at zero, so that heights are in proportion, with room above the highest point."""
    axes.set_ylim(0, max(float(axes.dataLim.y1) * 1.15, least_top))


def _decisions(data: RunData) -> dict[str, FloatArray]:
    """Return governor → times of its decisions in s since the start, for the governors that decided something."""
    names = dict.fromkeys(decision.governor for decision in data.decisions)
    at_ns = {name: [each.at_ns for each in data.decisions if each.governor == name] for name in names}
    return {name: np.sort(_seconds(data, np.array(times, np.int64))) for name, times in at_ns.items()}


def _mark_decisions(axes: Axes, decisions: dict[str, FloatArray]) -> None:
    for name, seconds in decisions.items():
        colour, mark = _GOVERNOR_LOOKS.get(name, (GREY, "o"))
        for at_s in thin_marks(seconds, COLUMNS // 4):
            axes.axvline(float(at_s), color=colour, linewidth=0.8, alpha=0.6, zorder=1.2)
        _mark_at_top(axes, seconds, f"{name} ({len(seconds)})", colour, mark)


def _mark_at_top(axes: Axes, seconds: FloatArray, label: str, colour: str, mark: str) -> None:
    """Draw marks along the upper edge, wherever the curve is; nothing where there are none."""
    if not len(seconds):
        return
    marks = thin_marks(seconds, COLUMNS // 2)
    heights = np.full(len(marks), 0.96)
    axes.plot(
        marks, heights, mark, color=colour, markersize=6, linestyle="", label=label, clip_on=False,
        transform=axes.get_xaxis_transform(),
    )  # fmt: skip


def _look(metric_id: str) -> tuple[str, str, str]:
    row = metric(metric_id)
    return row.title.lower(), row.colour, _MARKERS[row.marker]


def _losses(data: RunData, frames: FrameArray) -> dict[str, FloatArray]:
    """Return loss class → times of its frames in s since the start, for the classes that occurred."""
    at_ns = np.where(frames["arrive_ns"] != NO_STAMP_NS, frames["arrive_ns"], frames["due_ns"])
    found = {
        fate.label: np.sort(_seconds(data, at_ns[(frames["fate"] == fate) & (at_ns != NO_STAMP_NS)]))
        for fate in LOSS_CLASSES
    }
    return {label: seconds for label, seconds in found.items() if len(seconds)}


def _loss_rows(axes: Axes, losses: dict[str, FloatArray]) -> None:
    for height, (label, seconds) in enumerate(losses.items()):
        row = metric(f"loss.{label}")
        marks = thin_marks(seconds, COLUMNS // 2)
        axes.plot(
            marks, np.full(len(marks), height), _MARKERS[row.marker], color=row.colour, markersize=4.5, linestyle=""
        )
    labels = [f"{label.replace('_', ' ')} ({len(seconds)})" for label, seconds in losses.items()]
    axes.set_yticks(range(len(labels)), labels, fontsize=9)
    axes.set_ylim(len(labels) - 0.4, -0.6)
    axes.grid(False, axis="y")


def _shade_warmup(axes: Axes, data: RunData, source: RunSource) -> None:
    if data.warmup_s <= 0:
        return
    end_s = (source.warm_ns - data.started_ns) / NS_PER_S
    axes.axvspan(end_s - data.warmup_s, end_s, color=FAINT, alpha=0.35, linewidth=0, zorder=0)


def _mark_changes(axes: Axes, data: RunData, *, named: bool, top: float = 0.97) -> None:
    """Draw a line at every configuration change; the first few are named, below `top` (a part of the height)."""
    changes = [change for change in data.config_history if change.changes]
    for number, change in enumerate(changes):
        at_s = (change.applied_ns - data.started_ns) / NS_PER_S
        axes.axvline(at_s, color=INK, linewidth=0.8, linestyle=(0, (1, 2)))
        if named and number < _MOST_CHANGES_NAMED:
            key, (old, new) = next(iter(change.changes.items()))
            more = f" +{len(change.changes) - 1}" if len(change.changes) > 1 else ""
            axes.annotate(
                f"{key} {_short(old)} → {_short(new)}{more}",
                (at_s, top - 0.1 * (number % 4)),
                xycoords=("data", "axes fraction"),
                xytext=(4, 0),
                textcoords="offset points",
                va="top",
                fontsize=8.5,
                parse_math=False,
                bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.85, "pad": 1.0},
                ha="left" if at_s < 0.7 * data.duration_s else "right",
            )


def _short(value: object) -> str:
    """Return a value as a label: what is long, or beyond the figure's font, is left to the table of changes."""
    text = str(value)
    return text if len(text) <= 24 and text.isascii() and text.isprintable() else "…"


def _finish_time(axes: Iterable[Axes], data: RunData, unit: str = "") -> None:
    listed = list(axes)
    listed[-1].set_xlim(0, max(data.duration_s, 1e-3))
    listed[-1].set_xlabel("seconds since the start")
    if unit:
        listed[0].set_ylabel(unit)


def _stage_bands(axes: Axes, data: RunData, frames: FrameArray) -> None:
    columns = max(1, min(BANDS, len(frames) // _FRAMES_A_BAND))
    edges = np.linspace(0, max(data.duration_s, 1e-3), columns + 1)
    column = np.clip(np.searchsorted(edges, _seconds(data, frames["displayed_ns"])) - 1, 0, columns - 1)
    count = np.bincount(column, minlength=columns).astype(np.float64)
    empty = count == 0
    base = np.where(empty, np.nan, 0.0)
    for stage, values in stage_ms(frames).items():
        if np.isnan(values).all():
            continue
        total = np.bincount(column, weights=np.nan_to_num(values), minlength=columns)
        top = base + total / np.where(empty, 1.0, count)
        _band(axes, edges, base, top, stage)
        base = top
    greatest = np.full(columns, -np.inf)
    np.maximum.at(greatest, column, source_to_display_ms(frames))
    axes.stairs(np.where(empty, np.nan, greatest), edges, color=INK, linewidth=0.9, baseline=None, label="greatest")


def _band(axes: Axes, edges: FloatArray, base: FloatArray, top: FloatArray, stage: str) -> None:
    row = METRICS[stage]
    axes.stairs(
        top,
        edges,
        baseline=base,
        fill=True,
        facecolor=row.colour,
        edgecolor=PAPER,
        linewidth=0.0,
        hatch="////" if row.line_style == "dashed" else None,
        label=row.title,
    )


def _telemetry_series(data: RunData, ids: tuple[str, ...]) -> dict[str, TelemetryTable]:
    """Return the readings of one device for each metric that has any value."""
    preferred = data.sink.device_uuid if data.sink else ""
    found = {metric_id: of_one_device(data.telemetry.of_metric(metric_id), preferred) for metric_id in ids}
    return {metric_id: rows for metric_id, rows in found.items() if np.any(~np.isnan(rows.value))}


def _telemetry_line(axes: Axes, data: RunData, metric_id: str, rows: TelemetryTable) -> None:
    """Draw readings; a missing one is a gap."""
    known = ~np.isnan(rows.value)
    part = np.cumsum(~known)[known]
    x, y = decimate_parts(_seconds(data, rows.at_ns[known]), rows.value[known], part, COLUMNS)
    _line(axes, x, y, metric_id)


def _no_reading(data: RunData, metric_id: str) -> str:
    reasons = sorted({str(reason) for reason in data.telemetry.of_metric(metric_id).reason if reason})
    return "; ".join(reasons) or metric(metric_id).missing


def _interval_words(shown: IntervalSeries) -> str:
    if not len(shown.rows):
        return "No intervals."
    return f"Median {np.median(shown.interval_ms):.2f} ms, greatest {shown.interval_ms.max():.2f} ms."
