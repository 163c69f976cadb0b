"""Everything known about one run, as plain arrays and frozen values: what analysis and export work on.

A live session and an opened run directory both produce a `RunData`, so a report cannot tell them apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from app.config.veoconfig import VeoConfig
from app.core.clock import NS_PER_S
from app.core.encode_records import EncodeArray, empty_encode_records
from app.core.records import FrameArray
from app.ipc.frame_ring import FrameCounters
from app.ipc.messages import (
    ConfigApplied,
    EncoderState,
    EngineEvent,
    EngineStatus,
    GovernorDecision,
    SinkInfo,
    SourceInfo,
)

TextArray = npt.NDArray[np.object_]
"""1-D array of Python str."""


@dataclass(frozen=True, slots=True, eq=False)
class TelemetryTable:
    """Telemetry readings in order of time, one row a reading; all columns have the same length.

    Attributes:
        at_ns: int64, CLOCK_MONOTONIC.
        provider, device: who read it, of which device.
        metric: id of the metric table.
        value: float64 in the unit of the metric's id; NaN when missing.
        reason: why it is missing, "" when it is not.
        cost_us: float64, wall time of the call that brought it; NaN when it shared another row's call.
    """

    at_ns: npt.NDArray[np.int64]
    provider: TextArray
    device: TextArray
    metric: TextArray
    value: npt.NDArray[np.float64]
    reason: TextArray
    cost_us: npt.NDArray[np.float64]

    def __post_init__(self) -> None:
        """Refuse columns of different length.

        Raises:
            ValueError: they differ.
        """
        lengths = {len(getattr(self, name)) for name in self.__slots__}
        if len(lengths) != 1:
            raise ValueError(f"telemetry columns differ in length: {sorted(lengths)}")

    @classmethod
    def empty(cls) -> Self:
        """Return a table without rows."""
        text = np.empty(0, np.object_)
        number = np.empty(0, np.float64)
        return cls(np.empty(0, np.int64), text, text, text, number, text, number)

    def __len__(self) -> int:
        return len(self.at_ns)

    def where(self, mask: npt.NDArray[np.bool_]) -> Self:
        """Return the rows of a mask."""
        return type(self)(*(getattr(self, name)[mask] for name in self.__slots__))

    def of_metric(self, metric_id: str) -> Self:
        """Return the readings of one metric, all providers and devices, missing ones included."""
        return self.where(self.metric == metric_id)


@dataclass(frozen=True, slots=True)
class SegmentSpan:
    """One segment of a run: no statistic spans two.

    Attributes:
        segment: its serial, as in the frame records.
        started_ns: CLOCK_MONOTONIC. ended_ns: None while it runs, or when the run was cut off.
        t0_ns: arrival of its first frame.
        reason_started, reason_ended: words of the engine; "" when unknown.
        source_index: the source whose segment it is.
    """

    segment: int
    started_ns: int
    ended_ns: int | None
    t0_ns: int
    reason_started: str = ""
    reason_ended: str = ""
    source_index: int = 0


class SinkAt(NamedTuple):
    """What the sink granted from a time on (CLOCK_MONOTONIC ns)."""

    at_ns: int
    sink: SinkInfo


@dataclass(frozen=True, slots=True, eq=False)
class RunData:
    """One run. Times are CLOCK_MONOTONIC ns unless a name says otherwise.

    Attributes:
        frames: every frame record kept, in order of writing.
        telemetry: every reading kept.
        segments: in order.
        sink_history: first grant and every rebuild, in order; empty when the engine never got ready.
        config: the configuration in force at the end; config_history: every change that took effect during the run.
        source: None when the engine never got ready.
        counters: the engine's totals at the end, which also count frames whose records were lost.
        events: what the engine thought a person should know. statuses: its cost, twice a second.
        started_ns, ended_ns: begin and end of the run.
        warmup_s: frames of so many first seconds are left out of statistics, not of counts.
        machine: name → text: processor, memory, system, kernel, GPU, driver, display.
        tool_version: of the program that ran it.
        source_text, more_source_texts, sink_text, encode_to: what the user asked for, as on the command line, without
            passwords and tokens; "" when unknown.
        started_at: wall-clock time of the start, ISO 8601 with zone; "" when unknown.
        notices: what happened to the recording (`recovered after a crash, the last 0.4 s may be missing`).
        lapped_records: frame records that the recorder lost to the ring's writer.
        more_sources: those beside the first, in order of their index.
        decisions: what the governors decided, in order.
        encoder: what the encode branch said of itself last; None without one.
        encodes: every encode record kept.
    """

    frames: FrameArray
    telemetry: TelemetryTable
    segments: tuple[SegmentSpan, ...]
    config: VeoConfig
    source: SourceInfo | None
    sink_history: tuple[SinkAt, ...]
    counters: FrameCounters
    events: tuple[EngineEvent, ...]
    statuses: tuple[EngineStatus, ...]
    config_history: tuple[ConfigApplied, ...]
    started_ns: int
    ended_ns: int
    warmup_s: float
    machine: Mapping[str, Any]
    tool_version: str
    source_text: str = ""
    more_source_texts: tuple[str, ...] = ()
    encode_to: str = ""
    sink_text: str = ""
    started_at: str = ""
    notices: tuple[str, ...] = ()
    lapped_records: int = 0
    more_sources: tuple[SourceInfo, ...] = ()
    decisions: tuple[GovernorDecision, ...] = ()
    encoder: EncoderState | None = None
    encodes: EncodeArray = field(default_factory=lambda: empty_encode_records(0))

    @property
    def duration_s(self) -> float:
        """Seconds from start to end."""
        return (self.ended_ns - self.started_ns) / NS_PER_S

    @property
    def sink(self) -> SinkInfo | None:
        """What the sink last granted; None when the engine never got ready."""
        return self.sink_history[-1].sink if self.sink_history else None
