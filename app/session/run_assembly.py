"""Puts the parts of a run together as `RunData`: the same for a live session and for an opened recording."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.analysis.run_data import RunData, TelemetryTable
from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS
from app.core.records import STAMP_FIELDS, FrameArray
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.ipc.frame_ring import FrameCounters
from app.session.manifest import Manifest
from app.session.run_history import RunHistory


def assemble_run(
    manifest: Manifest,
    history: RunHistory,
    config: VeoConfig,
    frames: FrameArray,
    telemetry: TelemetryTable,
    counters: FrameCounters,
) -> RunData:
    """Return a run as one value. Its time begins when the engine was ready, and ends with the last thing known."""
    return RunData(
        frames=frames,
        telemetry=telemetry,
        segments=tuple(history.segments),
        config=config,
        source=history.source,
        sink_history=tuple(history.sinks),
        counters=agreeing_counters(counters, frames, history.lapped),
        events=tuple(history.events),
        statuses=tuple(history.statuses),
        config_history=tuple(history.configs),
        started_ns=history.ready_ns or manifest.started_ns,
        ended_ns=history.ended_ns or _last_known_ns(manifest, history, frames),
        warmup_s=manifest.warmup_s,
        machine=manifest.machine,
        tool_version=manifest.tool_version,
        source_text=manifest.source_text,
        more_source_texts=tuple(manifest.more_source_texts),
        encode_to=manifest.encode_to,
        sink_text=manifest.sink_text,
        started_at=manifest.started_at,
        notices=_notices(manifest, history),
        lapped_records=history.lapped,
        more_sources=history.more_sources,
        decisions=tuple(history.decisions),
        encoder=history.encoder,
        encodes=history.encodes,
    )


def agreeing_counters(counters: FrameCounters, frames: FrameArray, lapped: int) -> FrameCounters:
    """Return totals that are not older than the rows.

    The engine writes a record first and its totals a little later, so a run that was cut off, or is looked at while
    it runs, can have rows that its totals do not count yet. Every row's fate is known; whatever else was produced is
    in flight. Where rows are missing (lapped, or lost with the end of a stream) the totals know better and stay.
    """
    settled = counters.displayed + sum(counters.lost.values())
    if lapped or len(frames) <= settled:
        return counters
    fates = np.bincount(frames["fate"], minlength=max(Fate) + 1)
    produced = max(counters.produced, _delivered(frames))
    return replace(
        counters,
        produced=produced,
        displayed=int(fates[Fate.DISPLAYED]),
        lost={fate: int(fates[fate]) for fate in LOSS_CLASSES},
        in_flight=produced - len(frames),
    )


def _delivered(frames: FrameArray) -> int:
    """Return how many frames the sources have delivered at least, by the highest number of each."""
    return sum(
        int(frames["frame_id"][frames["source_index"] == index].max()) + 1
        for index in np.unique(frames["source_index"])
    )


def _notices(manifest: Manifest, history: RunHistory) -> tuple[str, ...]:
    broke_off = f"The run broke off: {history.failure}" if history.failure else ""
    return tuple(notice for notice in (broke_off, *manifest.notices, manifest.recording_failure) if notice)


def _last_known_ns(manifest: Manifest, history: RunHistory, frames: FrameArray) -> int:
    observed = [name for name in STAMP_FIELDS if name != "due_ns"]  # a due time may lie in the future
    stamps = [int(frames[name].max(initial=NO_STAMP_NS)) for name in observed]
    return max(*stamps, history.last_ns or manifest.started_ns)
