"""Messages of the engine as rows of the event list."""

from __future__ import annotations

from typing import Any, NamedTuple

from app.config.options import is_option, option
from app.core.clock import NS_PER_S
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.ipc.messages import (
    ConfigApplied,
    EncodeRecords,
    EncoderState,
    EngineEvent,
    EngineReady,
    EngineStatus,
    FrameCaptured,
    FromEngine,
    GovernorDecision,
    RunFailed,
    RunFinished,
    SegmentEnded,
    SegmentStarted,
    SinkChanged,
    SinkInfo,
)
from widgets.option_text import option_value_text


class EventRow(NamedTuple):
    """One entry: when (CLOCK_MONOTONIC ns; None: now), how serious, what kind, and a sentence."""

    at_ns: int | None
    severity: str
    kind: str
    text: str


def event_rows(message: FromEngine) -> list[EventRow]:
    """Return the entries that a message is worth; none for a status or encode records."""
    match message:
        case ConfigApplied():
            return [EventRow(message.applied_ns, "info", "config", text) for text in change_texts(message)]
        case EngineStatus() | EncodeRecords():
            return []
        case _:
            return [_single_row(message)]


def _single_row(message: FromEngine) -> EventRow:
    match message:
        case SegmentStarted():
            return EventRow(message.t0_ns, "info", "segment", f"{_segment(message)} begins: {message.reason}")
        case SegmentEnded():
            return EventRow(message.ended_ns, "info", "segment", f"{_segment(message)} ends: {message.reason}")
        case EngineEvent():
            return EventRow(message.at_ns, message.severity, message.kind, message.text)
        case GovernorDecision():
            return EventRow(message.at_ns, "info", "governor", decision_text(message))
        case _:
            return _row_of_now(message)


def _row_of_now(message: FromEngine) -> EventRow:
    match message:
        case EngineReady():
            sources = " | ".join(source.description for source in (message.source, *message.more_sources))
            row = EventRow(None, "info", "ready", f"{sources}; {sink_text(message.sink)}")
        case SinkChanged():
            row = EventRow(None, "info", "sink", f"{message.reason}: {sink_text(message.sink)}")
        case EncoderState():
            row = EventRow(None, "warning" if message.notice else "info", "encoder", encoder_text(message))
        case FrameCaptured():
            size = f"{message.width}×{message.height}"
            row = EventRow(None, "info", "capture", f"frame {message.frame_id} ({size}) written to {message.path}")
        case RunFinished():
            row = EventRow(None, "info", "end", f"the run ended: {message.reason}")
        case RunFailed():
            row = EventRow(None, "error", message.kind, message.text)
        case _:
            raise ValueError(f"{type(message).__name__} is worth no single row")
    return row


def _segment(message: SegmentStarted | SegmentEnded) -> str:
    source = f" of source {message.source_index + 1}" if message.source_index else ""
    return f"segment {message.segment}{source}"


def change_texts(applied: ConfigApplied) -> list[str]:
    """Return one line for each option that changed: key, both values, and when it acts."""
    lines = []
    for key, (old, new) in applied.changes.items():
        effect = applied.effects.get(key, "")
        lines.append(f"{key} {_value(key, old)} → {_value(key, new)}" + (f" ({effect})" if effect else ""))
    return lines


def change_label(applied: ConfigApplied) -> str:
    """Return the short text of a configuration change beside its line in the graphs.

    Keys that say only whose preset it is are left out, unless nothing else changed; the event list has them all.
    """
    shown = {key: pair for key, pair in applied.changes.items() if is_option(key) and option(key).acts}
    return ", ".join(
        f"{key} {_value(key, old)} → {_value(key, new)}" for key, (old, new) in (shown or applied.changes).items()
    )


def decision_text(decision: GovernorDecision) -> str:
    """Return what a governor did, the rate that holds from then on, and why."""
    rate = "" if decision.rate_hz is None else f", {decision.rate_hz:.4g} fps from now on"
    return f"{decision.governor}: {decision.action}{rate} – {decision.reason}"


def decision_label(decision: GovernorDecision) -> str:
    """Return the short text of a decision beside its line in the graphs."""
    return f"{decision.governor}: {decision.action}"


def encoder_text(encoder: EncoderState) -> str:
    """Return what the encode branch is, where it writes, and what there is to know."""
    where = f" to {encoder.destination}" if encoder.destination else ""
    notice = f" – {encoder.notice}" if encoder.notice else ""
    return f"{encoder.description}{where}{notice}"


def sink_text(sink: SinkInfo) -> str:
    """Return what a sink granted, in one line."""
    refresh = f"{sink.refresh_hz:.2f} Hz" if sink.refresh_hz else "refresh unknown"
    device = f" on {sink.device}" if sink.device else ""
    return (
        f"{sink.kind} {sink.width}×{sink.height}, {refresh}, {sink.present_mode_granted}, {sink.image_count} images"
        f"{device}"
    )


def loss_text(before: dict[Fate, int], now: dict[Fate, int]) -> str:
    """Return what was lost between two counts, by class; "" when nothing was."""
    grown = {fate: now[fate] - before.get(fate, 0) for fate in LOSS_CLASSES}
    return ", ".join(f"{count} {fate.label}" for fate, count in grown.items() if count > 0)


def run_time_text(at_ns: int, origin_ns: int) -> str:
    """Return a stamp as seconds since the run began."""
    return f"{round((at_ns - origin_ns) / NS_PER_S, 2) + 0.0:.2f} s"


def _value(key: str, value: Any) -> str:
    return option_value_text(option(key), value) if is_option(key) else str(value)
