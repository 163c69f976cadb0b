"""The tables of a report as text: every number with its unit, N, definition and source."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from app.analysis.littles_law import check_littles_law
from app.analysis.loss import decimated_by_governor, made_up_pictures
from app.analysis.run_data import RunData, SegmentSpan
from app.analysis.run_sources import RunSource, source_count
from app.analysis.self_cost import call_costs, telemetry_cost_ratio
from app.analysis.summary import Measured, Missing, Summary, Value
from app.config.options import OPTIONS, option
from app.core.clock import NS_PER_S
from app.core.metrics import METRICS, STAGES, MetricGroup, metric, number_text, value_text
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.export.reproduction import differences_from_default, setting_text

STATISTICS: Final = ("mean", "sd", "p50", "p95", "p99", "p999", "max")

_HEADLINES: Final = (
    ("source_to_display_ms", "p50", "median"),
    ("source_to_display_ms", "p99", "99th percentile"),
    ("frames_behind", "p50", "median"),
    ("display_interval_ms", "p50", "median"),
    ("display_interval_ms", "p99", "99th percentile"),
    ("jitter_sd_ms", "value", ""),
    ("fps_average", "value", ""),
    ("fps_low_1pct_mean", "value", ""),
    ("stutter_time_ratio", "value", ""),
    ("loss_ratio", "value", ""),
)
_TABLED_GROUPS: Final = tuple(
    group for group in MetricGroup if group not in (MetricGroup.STAGE, MetricGroup.LOSS, MetricGroup.ENCODE)
)
_DEAREST_CALLS: Final = 8


@dataclass(frozen=True, slots=True)
class Headline:
    """One number at the top. `text` is "—" with `reason` when it is missing."""

    title: str
    statistic: str
    text: str
    n: str
    source: str
    definition: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric in a table. Empty `cells` are missing, for `reason`."""

    id: str
    title: str
    unit: str
    definition: str
    n: str
    cells: tuple[str, ...]
    source: str
    colour: str
    hatched: bool
    simulated: bool
    reason: str = ""


@dataclass(frozen=True, slots=True)
class MetricTable:
    """The metrics of one group: those measured, and (titles, reason) of those missing, gathered by reason."""

    rows: list[MetricRow]
    missing: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class LossRow:
    """Frames of one fate: how many, and their share of those produced. `is_part`: contained in the row above."""

    title: str
    count: str
    share: str
    definition: str
    colour: str = ""
    is_part: bool = False


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option of the configuration."""

    key: str
    value: str
    default: str
    unit: str
    meaning: str


def headlines(measured: Mapping[str, Measured], sources: Mapping[str, str]) -> list[Headline]:
    """Return the numbers that a reader looks for first."""
    return [
        _headline(metric_id, statistic, words, measured[metric_id], sources[metric_id])
        for metric_id, statistic, words in _HEADLINES
    ]


def metric_rows(
    ids: Iterable[str], measured: Mapping[str, Measured], sources: Mapping[str, str], simulated: frozenset[str]
) -> MetricTable:
    """Return the table of these metrics: those measured as rows, the others gathered by reason."""
    rows = [_metric_row(metric_id, measured[metric_id], sources, simulated) for metric_id in ids]
    return MetricTable([row for row in rows if not row.reason], _gathered_by_reason(rows))


def metric_tables(
    measured: Mapping[str, Measured], sources: Mapping[str, str], simulated: frozenset[str]
) -> dict[str, MetricTable]:
    """Return group → table for every group but those with sections of their own: stages, losses, encoder."""
    return {group.value: metric_rows(ids_of(group), measured, sources, simulated) for group in _TABLED_GROUPS}


def ids_of(group: MetricGroup) -> list[str]:
    """Return the metrics of a group."""
    return [row.id for row in METRICS.values() if row.group is group]


def stage_table(measured: Mapping[str, Measured], sources: Mapping[str, str]) -> list[MetricRow]:
    """Return the stages in pipeline order and, last, what they add up to."""
    ids = (*STAGES, "source_to_display_ms")
    return [_metric_row(metric_id, measured[metric_id], sources, frozenset()) for metric_id in ids]


def loss_table(data: RunData) -> list[LossRow]:
    """Return what became of the produced frames; the rows add up."""
    counters = data.counters

    def share(count: int) -> str:
        return f"{count / counters.produced:.2%}" if counters.produced else "—"

    lost = [(fate, counters.lost.get(fate, 0)) for fate in LOSS_CLASSES]
    rows = [
        LossRow("Displayed", str(counters.displayed), share(counters.displayed), "Frames that reached the display.")
    ]
    for fate, count in lost:
        row = metric(f"loss.{fate.label}")
        rows.append(LossRow(row.title, str(count), share(count), row.definition, row.colour))
        if fate is Fate.DECIMATED:
            parts = _parts_of_decimated(data)
            rows += [replace(part, share=share(int(part.count))) for part in parts]
    rows.append(
        LossRow("In flight", str(counters.in_flight), share(counters.in_flight), "Fate open when the run ended.")
    )
    total = counters.displayed + counters.in_flight + sum(count for _, count in lost)
    rows.append(LossRow("Produced", str(counters.produced), share(total), "Frames that the source delivered or owed."))
    return rows


def _parts_of_decimated(data: RunData) -> Iterator[LossRow]:
    """Yield what the decimated frames are made of, by record; nothing where there are none."""
    counts = decimated_by_governor(data.frames)
    if not sum(counts.values()):
        return
    parts = {f"decimated.{governor.label}": count for governor, count in counts.items() if governor}
    for metric_id, count in {**parts, "made_up_pictures": made_up_pictures(data.frames)}.items():
        row = metric(metric_id)
        yield LossRow(row.title, str(count), "", row.definition, is_part=True)


def loss_sentence(lost: Measured) -> str:
    """Return the share lost in words, with its definition."""
    row = metric("loss_ratio")
    text = value_text(row.id, lost.value) if isinstance(lost, Value) else f"— ({row.missing})"
    return f"{row.title}: {text}. {row.definition}"


def option_differences(data: RunData) -> list[OptionRow]:
    """Return the options that differ from their defaults."""
    rows = differences_from_default(data.config).items()
    return [_option_row(key, value, default) for key, (default, value) in rows]


def option_count() -> int:
    """Return how many options there are."""
    return len(OPTIONS)


def change_lines(data: RunData) -> list[tuple[str, str]]:
    """Return (time, what changed) of every configuration change during the run."""
    return [
        (
            time_text(data, change.applied_ns),
            "; ".join(
                f"{key}: {setting_text(old)} → {setting_text(new)} ({change.effects.get(key, 'effect unknown')})"
                for key, (old, new) in change.changes.items()
            ),
        )
        for change in data.config_history
        if change.changes
    ]


def event_lines(data: RunData) -> list[tuple[str, str, str]]:
    """Return (time, severity, text) of the engine's events and of the ends of segments, in order of time."""
    lines = [(event.at_ns, event.severity, event.text) for event in data.events]
    several = source_count(data) > 1
    lines += [
        (span.ended_ns, "info", _segment_end(span, several)) for span in data.segments if span.ended_ns is not None
    ]
    return [(time_text(data, at_ns), severity, text) for at_ns, severity, text in sorted(lines)]


def _segment_end(span: SegmentSpan, several: bool) -> str:
    whose = f" of source {span.source_index + 1}" if several else ""
    return f"segment {span.segment}{whose} ended: {span.reason_ended or 'no reason recorded'}"


def source_facts_of(source: RunSource) -> dict[str, str]:
    """Return what a source was."""
    facts = {"as requested": source.text or "unknown"}
    return facts | (_facts(asdict(source.info)) if source.info else {"opened": "no"})


def sink_facts(data: RunData, display_time: str) -> dict[str, str]:
    """Return what the sink granted last."""
    facts = {"as requested": data.sink_text or "unknown", "display times observed": display_time}
    return facts | (_facts(asdict(data.sink)) if data.sink else {"opened": "no"})


def machine_facts(data: RunData) -> dict[str, str]:
    """Return the machine as the recording describes it."""
    return _facts(data.machine)


def own_cost(data: RunData) -> list[tuple[str, str]]:
    """Return (what, cost) of telemetry calls, dearest first; the processes' cost is in the metric table."""
    ratio = telemetry_cost_ratio(data.telemetry, data.duration_s)
    lines = [
        (
            f"{cost.provider}: {cost.metric}",
            f"{cost.n} calls, mean {number_text(cost.mean_us)} µs, greatest {number_text(cost.max_us)} µs",
        )
        for cost in call_costs(data.telemetry)[:_DEAREST_CALLS]
    ]
    if not math.isnan(ratio):
        lines.insert(0, ("all telemetry calls together", f"{ratio:.3%} of the run's time"))
    resident = max((status.resident_bytes for status in data.statuses), default=0)
    return [("engine, greatest resident memory", f"{resident / 1e6:.0f} MB"), *lines] if resident else lines


def law_sentence(source: RunSource) -> str:
    """Return what Little's law says of a source's own numbers."""
    law = check_littles_law(source.measured)
    if isinstance(law, Missing):
        return f"Little's law was not checked: {law.reason}."
    verdict = "holds" if law.holds else "does not hold"
    return (
        f"Little's law {verdict}: {law.frames_in_system:.3f} frames in the system on average, rate × time = "
        f"{law.rate_per_s:.3f} per s × {law.time_in_system_s * 1e3:.3f} ms = {law.product:.3f} "
        f"({law.difference_ratio:+.2%}, {law.n} frames)."
    )


def _headline(metric_id: str, statistic: str, words: str, measured: Measured, source: str) -> Headline:
    row = metric(metric_id)
    if isinstance(measured, Missing):
        return Headline(row.title, words, "—", "", source, row.definition, measured.reason)
    if isinstance(measured, Value):
        n = "" if measured.n is None else str(measured.n)
        return Headline(row.title, words, value_text(metric_id, measured.value), n, source, row.definition)
    reason = measured.missing_statistics().get(statistic, "")
    text = value_text(metric_id, float(getattr(measured, statistic)))
    return Headline(row.title, words, text, str(measured.n), source, row.definition, reason)


def _metric_row(metric_id: str, measured: Measured, sources: Mapping[str, str], simulated: frozenset[str]) -> MetricRow:
    row = metric(metric_id)
    cells, n, reason = _cells(metric_id, measured)
    return MetricRow(
        id=metric_id,
        title=row.title,
        unit=row.unit,
        definition=row.definition,
        n=n,
        cells=cells,
        source="" if reason else sources[metric_id],
        colour=row.colour,
        hatched=row.line_style == "dashed",
        simulated=metric_id in simulated,
        reason=reason,
    )


def _cells(metric_id: str, measured: Measured) -> tuple[tuple[str, ...], str, str]:
    row = metric(metric_id)
    if isinstance(measured, Missing):
        return (), "", measured.reason
    if isinstance(measured, Summary):
        cells = tuple(number_text(row.shown(float(getattr(measured, name)))) for name in STATISTICS)
        return cells, str(measured.n), ""
    return (number_text(row.shown(measured.value)),), "" if measured.n is None else str(measured.n), ""


def _gathered_by_reason(rows: list[MetricRow]) -> list[tuple[str, str]]:
    titles: dict[str, list[str]] = {}
    for row in rows:
        if row.reason:
            titles.setdefault(row.reason, []).append(row.title)
    return [(", ".join(names), reason) for reason, names in titles.items()]


def _option_row(key: str, value: Any, default: Any) -> OptionRow:
    row = option(key)
    return OptionRow(key, setting_text(value), setting_text(default), row.unit, row.meaning)


def _facts(values: Mapping[str, Any]) -> dict[str, str]:
    return dict(_fact_lines(values))


def _fact_lines(values: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for key, value in values.items():
        if value is None or value in ("", [], {}):
            continue
        if key.endswith("_bytes") and isinstance(value, int | float):
            yield key.removesuffix("_bytes").replace("_", " "), f"{value / 1e9:.2f} GB"
        elif isinstance(value, Mapping):
            yield key.replace("_", " "), ", ".join(f"{name} {item}" for name, item in value.items())
        elif isinstance(value, list | tuple):
            yield key.replace("_", " "), ", ".join(str(item) for item in value)
        elif isinstance(value, bool):
            yield key.replace("_", " "), "yes" if value else "no"
        else:
            yield key.replace("_", " "), str(value)


def time_text(data: RunData, at_ns: int) -> str:
    """Return a time as seconds since the start."""
    return f"{(at_ns - data.started_ns) / NS_PER_S:.2f} s"
