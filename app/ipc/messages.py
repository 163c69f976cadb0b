"""Messages of the control channel between a session and its engine process.

Each is a frozen dataclass; its wire form is that of `app.ipc.message_codec`. Both ends are the same version of this
package (the parent spawns the child), so there is no negotiation. All `*_ns` are CLOCK_MONOTONIC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, get_args

from app.ipc.message_codec import MessageCodec

# --- session → engine ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartRun:
    """First message: what to run.

    Attributes:
        config: a VeoConfig as its JSON object.
        config_serial: serial stamped into records made under this configuration.
        sources: 1–9 source texts as the user gave them (`synthetic:1280x720@60`, a path), a tile of the window each;
            kept out of `repr`, as an address may hold a password.
        sink: sink text (`virtual:60`, `headless`, `x11:WINDOW_ID`, `wayland:1280x720`).
        validation: load the Vulkan validation layer and report its messages.
        device: part of a Vulkan device name to prefer, or "" for the best.
        encode_to: file that the encode branch writes; "" to count its packets only.
    """

    config: dict[str, Any]
    config_serial: int
    sources: list[str] = field(repr=False)
    sink: str
    validation: bool = False
    device: str = ""
    encode_to: str = ""


@dataclass(frozen=True, slots=True)
class SetConfig:
    """Replace the configuration; the engine finds out what changed and answers `ConfigApplied`."""

    config: dict[str, Any]
    config_serial: int


@dataclass(frozen=True, slots=True)
class SetPaused:
    """Pause (ends the segment; the last frame stays on the screen) or go on (begins one)."""

    paused: bool


@dataclass(frozen=True, slots=True)
class SetOccluded:
    """The window is hidden or minimised: nothing is presented and the segment ends until it is seen again."""

    occluded: bool


@dataclass(frozen=True, slots=True)
class SetScreen:
    """The window is on another screen, or its refresh has changed: the segment ends, the refresh is learnt anew.

    Attributes:
        name: what the window system calls it. nominal_hz: its refresh by name; None when unknown.
    """

    name: str
    nominal_hz: float | None


@dataclass(frozen=True, slots=True)
class Resize:
    """The window's size in device pixels; 0 in either direction pauses presentation."""

    width: int
    height: int


@dataclass(frozen=True, slots=True)
class CaptureFrame:
    """Write the frame on the screen as PNG to `path`; answered by `FrameCaptured` or `EngineEvent`."""

    path: str


@dataclass(frozen=True, slots=True)
class GovernorReadings:
    """What the session measures for the governors; None is a reading that is missing.

    Attributes:
        gpu_temperature_c: core temperature. gpu_clock_mhz, memory_clock_mhz: clocks as they are now.
        link_ratio: use of the busiest measured link or memory as a part of its limit; link_name: which it is.
    """

    at_ns: int
    gpu_temperature_c: float | None
    gpu_clock_mhz: float | None
    memory_clock_mhz: float | None
    link_ratio: float | None
    link_name: str


@dataclass(frozen=True, slots=True)
class StopRun:
    """End the run: the engine settles what it can, answers `RunFinished` and exits."""


# --- engine → session ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """What a source turned out to be.

    Attributes:
        description: one line for a person (`h264 High, 1280×720, 60 fps, software decoder`).
        width, height: coded picture size in pixels, before rotation.
        rate_hz: nominal frame rate; None when free-running or unknown.
        free_running: has no due times.
        live: paced in real time by arrival.
        pixel_format: FFmpeg's name (`yuv420p`).
        matrix: `bt601`, `bt709`, `bt2020`; colour_range: `limited` or `full`.
        rotation_degrees: clockwise display rotation, one of 0, 90, 180, 270.
        decoder: `software` or the hardware device's name.
        duration_s: None when endless or unknown.
    """

    description: str
    width: int
    height: int
    rate_hz: float | None
    free_running: bool
    live: bool
    pixel_format: str
    matrix: str
    colour_range: str
    rotation_degrees: int
    decoder: str
    duration_s: float | None


@dataclass(frozen=True, slots=True)
class SinkInfo:
    """What the sink granted; sent anew after every rebuild.

    Attributes:
        kind: `virtual`, `headless`, `x11` or `wayland`.
        refresh_hz: None when the sink has no known refresh.
        present_mode_requested, present_mode_granted: names of `PresentMode`.
        grant_reason: why the granted mode is another one; "" when it is the one requested.
        available_modes: modes this surface offers.
        image_count: images that really exist.
        display_time_source: label of `DisplayTimeSource`.
        paces_fifo: False when FIFO was granted and found not to pace; None when it was not probed.
        device: Vulkan device name, "" without one.
        device_is_software: the device is a CPU implementation.
        device_uuid: hexadecimal, "" without one. pci_bus_id: "" when unknown.
        width, height: size of the images in pixels.
        rebuild_ms: what the last rebuild cost; None before the first. rebuilds: how many there were.
        refresh_source: where `refresh_hz` comes from (`nominal`, `measured from 240 display times`), "" without one.
        display_time_quality: `exact`, `display` or `bound`, see `DisplayTimeSource.quality`.
        live_modes: present modes that the swapchain changes to without a rebuild.
        settings: driver limits worth showing, name → text.
    """

    kind: str
    refresh_hz: float | None
    present_mode_requested: str
    present_mode_granted: str
    grant_reason: str
    available_modes: list[str]
    image_count: int
    display_time_source: str
    paces_fifo: bool | None
    device: str
    device_is_software: bool
    device_uuid: str
    pci_bus_id: str
    width: int
    height: int
    rebuild_ms: float | None = None
    rebuilds: int = 0
    refresh_source: str = ""
    display_time_quality: str = ""
    live_modes: list[str] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EngineReady:
    """The pipeline stands and the first frame is under way. `more_sources` are those beside the first, in order."""

    source: SourceInfo
    sink: SinkInfo
    more_sources: list[SourceInfo] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SinkChanged:
    """The sink was rebuilt (present mode, image count, size, out-of-date) or better known; `reason` says why."""

    sink: SinkInfo
    reason: str


@dataclass(frozen=True, slots=True)
class SegmentStarted:
    """A new segment of one source; statistics begin anew. `t0_ns` is the arrival of its first frame.

    Attributes:
        segment: its serial, unique over all sources of a run. source_index: whose it is, from 0.
        reason: why it begins (`start`, `resumed`), for a person.
    """

    segment: int
    t0_ns: int
    reason: str
    source_index: int = 0


@dataclass(frozen=True, slots=True)
class SegmentEnded:
    """A segment was over at `ended_ns`; `reason`: end of source, stall, pause, occlusion, another resolution, fault."""

    segment: int
    ended_ns: int
    reason: str
    source_index: int = 0


@dataclass(frozen=True, slots=True)
class ConfigApplied:
    """A configuration is in force.

    Attributes:
        config_serial: as `SetConfig` named it. applied_ns: when it came into force.
        changes: key path → [old, new] of every key that changed.
        effects: key path → when it acts (`next frame`, `swapchain rebuilt in 3.1 ms`).
    """

    config_serial: int
    applied_ns: int
    changes: dict[str, list[Any]]
    effects: dict[str, str]


@dataclass(frozen=True, slots=True)
class EngineEvent:
    """Something a person should know. `severity`: `info`, `warning` or `error`; `kind` is a stable word."""

    severity: str
    kind: str
    text: str
    at_ns: int


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """Twice a second: what the engine costs and how full its queues are.

    Attributes:
        cpu_ratio: CPU time of the engine process per wall time since the last status (1.0 = one core).
        present_thread_cpu_ratio: the present loop's share of it.
        resident_bytes: resident memory of the engine process.
        decode_queue_length, frame_queue_length: frames waiting at that moment, all sources together.
        uploaded_bytes: bytes copied to the device since the run began.
        record_cost_us: mean cost of writing one frame record since the last status; None when none was written.
        gpu_clock_offset_ns, gpu_clock_drift_ppm, gpu_clock_residual_ns: the calibrated fit of GPU ticks to
            CLOCK_MONOTONIC: offset against the first fit, rate against the nominal period, and the median distance of
            the pairs from the line; None without calibration.
    """

    at_ns: int
    cpu_ratio: float
    present_thread_cpu_ratio: float
    resident_bytes: int
    decode_queue_length: int
    frame_queue_length: int
    uploaded_bytes: int
    record_cost_us: float | None
    gpu_clock_offset_ns: float | None = None
    gpu_clock_drift_ppm: float | None = None
    gpu_clock_residual_ns: float | None = None


@dataclass(frozen=True, slots=True)
class GovernorDecision:
    """A governor changed something.

    Attributes:
        governor: `thermal`, `compensation`, `bandwidth`, `iframe`, `recapture`, `latency`.
        action: what was done, in a few words (`ceiling 43.2 fps`).
        rate_hz: rate at which frames are presented from now on; None where the rate is not concerned or not limited.
        reason: a sentence with the measurements that led to it.
    """

    governor: str
    at_ns: int
    action: str
    rate_hz: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class EncoderState:
    """What the encode branch turned out to be; sent anew when it changes.

    Attributes:
        codec: encoder in use (`libx264`). description: one line for a person.
        holds_frames: frames that the encoder keeps before it gives one out, as measured; None until known.
        destination: file, or "" when packets are only counted.
        notice: why it is another codec than the first choice, or why it ended; "" otherwise.
    """

    codec: str
    description: str
    holds_frames: int | None
    destination: str
    notice: str


@dataclass(frozen=True, slots=True)
class EncodeRecords:
    """Rows of `encode_records.ENCODE_DTYPE` since the last message, as Base64 of their bytes."""

    data: str


@dataclass(frozen=True, slots=True)
class FrameCaptured:
    """The picture on the screen was written to `path`. `frame_id` is the frame it shows; its size is in pixels."""

    path: str
    frame_id: int
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class RunFinished:
    """The last message of an orderly end.

    Attributes:
        reason: `stopped`, `end of source`, …
        in_flight_by_place: frames that met no fate before the end, by where they were left (`frame_queue`, `sink`).
    """

    reason: str
    in_flight_by_place: dict[str, int]


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The last message of a run that could not go on.

    Attributes:
        kind: class of the error (`SourceError`), or `crash`. text: a whole sentence, with a cure where there is one.
    """

    kind: str
    text: str


ToEngine = (
    StartRun | SetConfig | SetPaused | SetOccluded | SetScreen | Resize | CaptureFrame | GovernorReadings | StopRun
)
FromEngine = (
    EngineReady
    | SinkChanged
    | SegmentStarted
    | SegmentEnded
    | ConfigApplied
    | EngineEvent
    | EngineStatus
    | GovernorDecision
    | EncoderState
    | EncodeRecords
    | FrameCaptured
    | RunFinished
    | RunFailed
)
Message = ToEngine | FromEngine

ENGINE_MESSAGES: Final = MessageCodec[Message](
    get_args(Message), parts={"source": SourceInfo, "more_sources": SourceInfo, "sink": SinkInfo}
)
