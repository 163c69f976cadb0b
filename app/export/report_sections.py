"""Sections of a report beside its tables of metrics: each source, display truth, governors, encoder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from app.analysis.encoding import fate_count
from app.analysis.loss import cadence, decimated_by_governor, fate_counts, made_up_pictures
from app.analysis.run_data import RunData
from app.analysis.run_sources import (
    MAIN_METRICS,
    RunSource,
    run_sources,
    source_loss_statistics,
    source_statistics,
)
from app.analysis.summary import Measured
from app.core.encode_records import EncodeFate
from app.core.metrics import METRICS, MetricGroup, number_text
from app.core.vocabulary import LOSS_CLASSES, DisplayTimeSource, Fate, Governor
from app.export.display_truth import MEANING, display_quality, observed_sources, refresh_text
from app.export.figures import ReportFigure, encoder_figures, source_figures
from app.export.metric_sources import metric_origins
from app.export.report_tables import MetricTable, ids_of, law_sentence, metric_rows, source_facts_of, time_text

_FATE_TITLES = {
    EncodeFate.ENCODED: "Encoded",
    EncodeFate.SKIPPED: METRICS["encoder_skipped"].title,
    EncodeFate.LOST: METRICS["encoder_lost"].title,
}


@dataclass(frozen=True, slots=True)
class SourceSection:
    """One of several sources: what it was, its main numbers, what became of its frames, and its figures."""

    title: str
    facts: dict[str, str]
    table: MetricTable
    frames: str
    law: str
    figures: tuple[ReportFigure, ...]


@dataclass(frozen=True, slots=True)
class DisplaySection:
    """What the display times are worth. `observed`: (source, quality, pictures) as text."""

    quality: str
    meaning: str
    observed: list[tuple[str, str, str]]
    facts: dict[str, str]


@dataclass(frozen=True, slots=True)
class DecisionRow:
    """One decision of a governor, as text."""

    at: str
    governor: str
    action: str
    rate: str
    reason: str


@dataclass(frozen=True, slots=True)
class GovernorSection:
    """What the governors decided, and what it did to the frames."""

    decisions: list[DecisionRow]
    sentence: str


@dataclass(frozen=True, slots=True)
class EncoderSection:
    """The encode branch: what it was, counts of frames, its metrics and figures."""

    facts: dict[str, str]
    counts: list[tuple[str, int]]
    table: MetricTable
    figures: tuple[ReportFigure, ...]


def source_sections(data: RunData) -> list[SourceSection]:
    """Return a section for each of several sources; none of a run with one, which the whole report is about."""
    sources = run_sources(data)
    return [_source_section(data, source) for source in sources] if len(sources) > 1 else []


def display_section(data: RunData) -> DisplaySection:
    """Return where display times come from and what they are worth."""
    quality, sink = display_quality(data), data.sink
    pacing = {None: "not known", True: "yes", False: "no: frames were not held to the refresh"}
    return DisplaySection(
        quality,
        MEANING[quality],
        [(source.label, source.quality, str(pictures)) for source, pictures in observed_sources(data)],
        {
            "refresh": refresh_text(data),
            "driver paces FIFO": pacing[sink.paces_fifo if sink else None],
            "at the end": sink.display_time_source if sink else DisplayTimeSource.NONE.label,
        },
    )


def governor_section(data: RunData) -> GovernorSection:
    """Return what the governors decided, in order of time."""
    rows = [
        DecisionRow(
            time_text(data, decision.at_ns),
            decision.governor,
            decision.action,
            "—" if decision.rate_hz is None else f"{number_text(decision.rate_hz)} fps",
            decision.reason,
        )
        for decision in data.decisions
    ]
    return GovernorSection(rows, _decimation_sentence(data))


def encoder_section(
    data: RunData, measured: Mapping[str, Measured], sources: Mapping[str, str]
) -> EncoderSection | None:
    """Return the encode branch, None of a run without one."""
    rows, state = data.encodes, data.encoder
    if state is None and not len(rows):
        return None
    facts = {} if state is None else {
        "codec": state.codec or "off",
        "encoder": state.description,
        "frames held": "not measured" if state.holds_frames is None else str(state.holds_frames),
        "destination": state.destination or "nowhere: packets are counted only",
        "notice": state.notice,
    }  # fmt: skip
    counts = [("Offered", len(rows)), *((_FATE_TITLES[fate], fate_count(rows, fate)) for fate in EncodeFate)]
    table = metric_rows(ids_of(MetricGroup.ENCODE), measured, sources, frozenset())
    return EncoderSection({key: text for key, text in facts.items() if text}, counts, table, encoder_figures(data))


def _source_section(data: RunData, source: RunSource) -> SourceSection:
    measured = source_statistics(data, source) | source_loss_statistics(source)
    text = source.text or "unknown"
    return SourceSection(
        f"Source {source.index + 1}: {text}",
        source_facts_of(source),
        metric_rows(MAIN_METRICS, measured, {**metric_origins(data), "loss_ratio": "frame records"}, frozenset()),
        _frames_sentence(source),
        law_sentence(source),
        source_figures(data, source),
    )


def _frames_sentence(source: RunSource) -> str:
    counts = fate_counts(source.frames)
    lost = [f"{counts[fate]} {fate.label.replace('_', ' ')}" for fate in LOSS_CLASSES if counts[fate]]
    shown = ", ".join(f"{refreshes} × {count}" for refreshes, count in cadence(source.measured).items())
    made_up = made_up_pictures(source.frames)
    return (
        f"{sum(counts.values())} frames whose fate is known: {counts[Fate.DISPLAYED]} displayed, "
        f"{', '.join(lost) or 'none lost'}."
        + (f" {made_up} made-up pictures were shown in the place of decimated frames." if made_up else "")
        + (f" Cadence, refreshes × pictures: {shown}." if shown else "")
    )


def _decimation_sentence(data: RunData) -> str:
    counts = decimated_by_governor(data.frames)
    parts = [f"{count} by {governor.label}" for governor, count in counts.items() if governor and count]
    unnamed = counts[Governor.NONE]
    if unnamed:
        parts.append(f"{unnamed} by nobody named")
    if not parts:
        return "No frame was left out on purpose."
    made_up = made_up_pictures(data.frames)
    return f"Frames left out on purpose: {', '.join(parts)}." + (
        f" {made_up} made-up pictures were shown in their place." if made_up else ""
    )
