"""What is known about a run so far: a fold over the entries of its journal, live and on opening a recording."""

from __future__ import annotations

import base64
from collections import deque
from dataclasses import replace
from typing import Final

import numpy as np

from app.analysis.run_data import SegmentSpan, SinkAt
from app.core.encode_records import ENCODE_DTYPE, EncodeArray, empty_encode_records
from app.core.vocabulary import LOSS_CLASSES
from app.ipc.frame_ring import FrameCounters
from app.ipc.messages import (
    ConfigApplied,
    EncodeRecords,
    EncoderState,
    EngineEvent,
    EngineReady,
    EngineStatus,
    GovernorDecision,
    SegmentEnded,
    SegmentStarted,
    SinkChanged,
    SinkInfo,
    SourceInfo,
)
from app.session.journal import ConfigRequested, Entry, RecordedCounters, RunEnded

MAX_EVENTS: Final = 1000
MAX_CHANGES: Final = 10_000
"""Segments, sink rebuilds and configuration changes kept in memory; the journal on disk keeps all of them."""
MAX_STATUSES: Final = 7200
"""One hour at two a second."""

NO_COUNTERS: Final = FrameCounters(0, 0, dict.fromkeys(LOSS_CLASSES, 0), None, 0, 0)
"""Totals of a run that has not counted anything yet."""


class RunHistory:
    """The accumulated facts of one run; `apply` one entry after the other, from one thread at a time.

    Attributes:
        source: None until the engine was ready; more_sources: those beside it.
        encoder: what the encode branch said of itself last; None without one.
        ready_ns: when the engine was ready; None before.
        failure: why the run broke off, "" when it did not.
        requested: the last configuration sent, as a JSON object, or None.
    """

    def __init__(self) -> None:
        self.source: SourceInfo | None = None
        self.ready_ns: int | None = None
        self.ended_ns: int | None = None
        self.failure = ""
        self.last_ns: int | None = None
        self.requested: ConfigRequested | None = None
        self.status: EngineStatus | None = None
        self.counters = NO_COUNTERS
        self.lapped = 0
        self.more_sources: tuple[SourceInfo, ...] = ()
        self.encoder: EncoderState | None = None
        self.events: deque[EngineEvent] = deque(maxlen=MAX_EVENTS)
        self.decisions: deque[GovernorDecision] = deque(maxlen=MAX_EVENTS)
        self._encodes: deque[EncodeArray] = deque(maxlen=MAX_STATUSES)
        self.statuses: deque[EngineStatus] = deque(maxlen=MAX_STATUSES)
        self.sinks: deque[SinkAt] = deque(maxlen=MAX_CHANGES)
        self.segments: deque[SegmentSpan] = deque(maxlen=MAX_CHANGES)
        self.configs: deque[ConfigApplied] = deque(maxlen=MAX_CHANGES)

    @property
    def encodes(self) -> EncodeArray:
        """The encode records kept, in order of writing."""
        return np.concatenate([empty_encode_records(0), *self._encodes])

    @property
    def sink(self) -> SinkInfo | None:
        """What the sink last granted."""
        return self.sinks[-1].sink if self.sinks else None

    def apply(self, received_ns: int, entry: Entry) -> None:
        """Take one entry in."""
        self.last_ns = received_ns
        match entry:
            case EngineReady(source=source, sink=sink, more_sources=more):
                self.source, self.more_sources, self.ready_ns = source, tuple(more), received_ns
                self.sinks.append(SinkAt(received_ns, sink))
            case SinkChanged(sink=sink):
                self.sinks.append(SinkAt(received_ns, sink))
            case SegmentStarted() | SegmentEnded():
                self._apply_segment(received_ns, entry)
            case EngineStatus():
                self.status = entry
                self.statuses.append(entry)
            case EngineEvent():
                self.events.append(entry)
            case GovernorDecision():
                self.decisions.append(entry)
            case EncoderState():
                self.encoder = entry
            case EncodeRecords(data=data):
                self._encodes.append(np.frombuffer(base64.b64decode(data), ENCODE_DTYPE))
            case _:
                self._apply_session(entry)

    def _apply_session(self, entry: Entry) -> None:
        match entry:
            case ConfigApplied():
                self.configs.append(entry)
            case ConfigRequested():
                self.requested = entry
            case RecordedCounters(counters=counters, lapped=lapped):
                self.counters, self.lapped = counters, lapped
            case RunEnded(ended_ns=ended_ns, failure=failure):
                self.ended_ns, self.failure = ended_ns, failure
            case _:  # FrameCaptured, RunFinished, RunFailed: for whoever waits for them, no part of the history
                pass

    def _apply_segment(self, received_ns: int, entry: SegmentStarted | SegmentEnded) -> None:
        if isinstance(entry, SegmentStarted):
            self.segments.append(
                SegmentSpan(
                    entry.segment, received_ns, None, entry.t0_ns, entry.reason, source_index=entry.source_index
                )
            )
            return
        for index, span in enumerate(self.segments):
            if span.segment == entry.segment:
                self.segments[index] = replace(span, ended_ns=entry.ended_ns, reason_ended=entry.reason)
