"""What a session shows of itself: frozen snapshots, replaced whole, safe to read from any thread."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from app.analysis.run_data import SegmentSpan
from app.config.veoconfig import VeoConfig
from app.ipc.messages import EncoderState, EngineEvent, EngineStatus, GovernorDecision, SinkInfo, SourceInfo
from app.ipc.stream_messages import LOOPBACK


class Phase(StrEnum):
    """Where a session is in the life of its engine."""

    IDLE = "idle"
    STARTING = "starting"
    RUNNING = "running"
    PAUSED = "paused"
    STOPPING = "stopping"
    FINISHED = "finished"
    """Ended as asked or at the end of the source; the recording is finalised."""
    FAILED = "failed"
    """Could not start or broke off, `SessionState.failure` says why; the recording is finalised as far as it got."""

    @property
    def is_live(self) -> bool:
        """Tell whether an engine process belongs to this phase."""
        return self in _LIVE


_LIVE = frozenset({Phase.STARTING, Phase.RUNNING, Phase.PAUSED, Phase.STOPPING})


@dataclass(frozen=True, slots=True)
class StreamRequest:
    """Where a run's preview stream is served, while `enable_preview` says so.

    Attributes:
        host: address to listen on; loopback unless asked otherwise.
        port: TCP port, 0 for a free one.
        token: bearer token of every client; "" makes one.
    """

    host: str = LOOPBACK
    port: int = 0
    token: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """What to run. Texts are those of the command line; sources are kept out of `repr`, as they may hold a password.

    Attributes:
        source: the first source. sink: what it is shown on. config: what to begin with.
        recording_dir: where to record; None records nothing. A restart takes a new folder beside it.
        gpu: which GPU telemetry reads: `auto`, `none`, `simulated` or a UUID.
        validation: load the Vulkan validation layer; its messages arrive as events.
        device: part of a Vulkan device name to prefer, "" for the best.
        warmup_s: first seconds that statistics leave out.
        more_sources: sources shown beside the first in a grid, up to nine in all.
        encode_to: file that the encode branch writes; "" to count its packets only.
        stream: where the preview stream is served.
        window_pid: the process that shows the run in a window, whose cost is read too; None without one.
    """

    source: str = field(repr=False)
    sink: str
    config: VeoConfig = field(default_factory=VeoConfig)
    recording_dir: Path | None = None
    gpu: str = "auto"
    validation: bool = False
    device: str = ""
    warmup_s: float = 1.0
    more_sources: tuple[str, ...] = field(default=(), repr=False)
    encode_to: str = ""
    stream: StreamRequest = StreamRequest()
    window_pid: int | None = None


@dataclass(frozen=True, slots=True)
class SessionState:
    """One moment of a session. Times are CLOCK_MONOTONIC ns.

    Attributes:
        source: None until the engine is ready, or when it never was. sink: what was granted last.
        config: the configuration last asked for; config_serial: its serial, rising by one with every change.
        applied_serial: the newest configuration that the engine has put into force.
        segments: in order. events: the newest of them, the session's own included.
        status: the engine's last report of its cost.
        more_sources: those beside the first, in order. encoder: what the encode branch is; None without one.
        decisions: what governors decided, the newest of them.
        failure: why the phase is FAILED, a whole sentence; "" otherwise.
        started_ns: when the engine was started; ready_ns: when its first frame was under way; ended_ns: the end.
        engine_pid: None while no engine lives.
        recording_dir: where this run is recorded; None when it is not.
        recording_failure: why recording stopped early; "" while it goes well.
        lapped_records: frame records that the recorder lost because it was too slow.
    """

    phase: Phase
    config: VeoConfig
    config_serial: int = 1
    applied_serial: int = 0
    source: SourceInfo | None = None
    sink: SinkInfo | None = None
    segments: tuple[SegmentSpan, ...] = ()
    events: tuple[EngineEvent, ...] = ()
    status: EngineStatus | None = None
    more_sources: tuple[SourceInfo, ...] = ()
    encoder: EncoderState | None = None
    decisions: tuple[GovernorDecision, ...] = ()
    failure: str = ""
    started_ns: int | None = None
    ready_ns: int | None = None
    ended_ns: int | None = None
    engine_pid: int | None = None
    recording_dir: Path | None = None
    recording_failure: str = ""
    lapped_records: int = 0


@dataclass(frozen=True, slots=True)
class SessionChange:
    """Told to the listener when phase, failure or recording changed."""

    state: SessionState
