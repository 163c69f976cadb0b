"""Puts the parts of a run together as `RunData`: the same for a live session and for an opened recording."""

from __future__ import annotations

from app.analysis.run_data import RunData, TelemetryTable
from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS
from app.core.records import STAMP_FIELDS, FrameArray
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
        counters=counters,
        events=tuple(history.events),
        statuses=tuple(history.statuses),
        config_history=tuple(history.configs),
        started_ns=history.ready_ns or manifest.started_ns,
        ended_ns=history.ended_ns or _last_known_ns(manifest, history, frames),
        warmup_s=manifest.warmup_s,
        machine=manifest.machine,
        tool_version=manifest.tool_version,
        source_text=manifest.source_text,
        sink_text=manifest.sink_text,
        started_at=manifest.started_at,
        notices=tuple(notice for notice in (*manifest.notices, manifest.recording_failure) if notice),
        lapped_records=history.lapped,
    )


def _last_known_ns(manifest: Manifest, history: RunHistory, frames: FrameArray) -> int:
    observed = [name for name in STAMP_FIELDS if name != "due_ns"]  # a due time may lie in the future
    stamps = [int(frames[name].max(initial=NO_STAMP_NS)) for name in observed]
    return max(*stamps, history.last_ns or manifest.started_ns)
