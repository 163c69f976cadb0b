"""The VeoConfig model: every knob declared once, with type, default, bounds, unit, effect and meaning.

This is the option table in its typed form. `app.config.options` reads it into `OPTIONS` and checks it at load; the
JSON Schema, the saved file, controls, flags and sweep axes follow from there. Adding a knob means one field here and
the stage that obeys it.

Fields stand in file order. `acts` says what this version's engine obeys; the rest is kept and saved untouched.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator
from pydantic_core import PydanticCustomError

from app.config.knob import Effect, Group, Knob, Section
from app.core.vocabulary import LatencyMode, OverflowPolicy, PresentMode

EXTENSION_PREFIX: Final = "x_"
"""Keys that begin with this belong to the user: they are kept and saved untouched."""

RULE_BROKEN: Final = "veoconfig_rule"
"""Type of the validation error of a rule that spans more than one value; its context holds key, expected and hint."""

SyncMode = Literal["Immediate", "WaitForNextFrame"]
PreviewLatency = Literal["fixed", "auto"]
PreviewResolution = Literal["320x180", "640x360", "960x540"]
Interpolation = Literal["none", "blend", "motion"]
EncoderCodec = Literal["auto", "h264_nvenc", "hevc_nvenc", "av1_nvenc", "libx264"]
EncoderPreset = Literal["p1", "p2", "p3", "p4", "p5", "p6", "p7"]
EncoderTune = Literal["hq", "ll", "ull"]
RateControl = Literal["cbr", "vbr", "constqp"]
Multipass = Literal["disabled", "qres", "fullres"]
RealtimePolicy = Literal["other", "fifo", "rr"]


class ConfigObject(BaseModel):
    """An object of the file: frozen, unknown keys refused, `x_` keys kept in `extensions`."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
        field_title_generator=lambda name, field: field.alias or name,
        json_schema_extra={"additionalProperties": False, "patternProperties": {f"^{EXTENSION_PREFIX}": {}}},
    )

    # init=False speaks to type checkers only: the keys are no parameter of the constructor.
    __pydantic_extra__: dict[str, JsonValue] = Field(init=False)

    @property
    def extensions(self) -> dict[str, JsonValue]:
        """Return the user's own `x_` keys."""
        return self.__pydantic_extra__

    @model_validator(mode="after")
    def _refuse_unknown_keys(self) -> Self:
        for key in self.__pydantic_extra__:
            if not key.startswith(EXTENSION_PREFIX):
                raise broken_rule(key, "is not an option", "remove it, or begin its name with x_ to keep it")
        return self


def broken_rule(key: str, expected: str, hint: str) -> PydanticCustomError:
    """Return the error of a rule between values: `key` (within its object) `expected` (verb phrase); `hint`."""
    return PydanticCustomError(
        RULE_BROKEN, "{key} {expected}; {hint}", {"key": key, "expected": expected, "hint": hint}
    )


class MemoryTimings(ConfigObject):
    """DRAM timings in clock cycles, exported for a vendor's own tool."""

    tCL: Annotated[  # noqa: N815 - the name on every data sheet and in the file
        int, Knob(meaning="Column address strobe latency.", unit="cycles", minimum=1, maximum=255, step=1)
    ]
    tRCD: Annotated[  # noqa: N815
        int, Knob(meaning="Row address to column address delay.", unit="cycles", minimum=1, maximum=255, step=1)
    ]
    tRP: Annotated[  # noqa: N815
        int, Knob(meaning="Row precharge time.", unit="cycles", minimum=1, maximum=255, step=1)
    ]
    tRAS: Annotated[  # noqa: N815
        int, Knob(meaning="Row active time.", unit="cycles", minimum=1, maximum=255, step=1)
    ]


class ThermalGuard(ConfigObject):
    """Frame-rate ceiling that falls with the GPU temperature."""

    enabled: Annotated[bool, Knob(meaning="Lowers the frame rate evenly while the GPU is hot.")] = False
    start_c: Annotated[
        float,
        Knob(meaning="Temperature at which the ceiling begins to fall.", unit="°C", minimum=20, maximum=120, step=1),
    ] = 75.0
    span_c: Annotated[
        float,
        Knob(
            meaning="Degrees over which the ceiling would fall to nothing; a smaller span brakes harder.",
            unit="°C",
            minimum=1,
            maximum=100,
            step=1,
        ),
    ] = 25.0
    floor_ratio: Annotated[
        float, Knob(meaning="Part of the full rate that always remains.", minimum=0.05, maximum=1, step=0.05)
    ] = 0.6
    hysteresis_c: Annotated[
        float,
        Knob(
            meaning="Cooling needed before the ceiling rises again; more of it moves the rate less often.",
            unit="°C",
            minimum=0,
            maximum=30,
            step=0.5,
        ),
    ] = 3.0
    dwell_s: Annotated[
        float, Knob(meaning="Least time between two moves of the ceiling.", unit="s", minimum=0, maximum=60, step=0.5)
    ] = 2.0


DelayTable = tuple[tuple[float, float], ...]
"""Rows of (p95 source delay in ms, frame rate in fps)."""

FRAME_RATE_MAXIMUM_FPS: Final = 500.0


class FrameCompensation(ConfigObject):
    """Dynamic frame compensation: a lower, even rate while source I/O is slow."""

    enabled: Annotated[bool, Knob(meaning="Lowers the frame rate evenly while the source delivers late.")] = False
    window: Annotated[
        int,
        Knob(
            meaning="Frames over which the p95 delay is taken; a longer window reacts later and calmer.",
            unit="frames",
            minimum=16,
            maximum=4096,
            step=16,
        ),
    ] = 256
    table: Annotated[
        DelayTable,
        Knob(
            meaning="Rows [p95 delay in ms, rate in fps], interpolated between rows; delay rises, rate never does.",
            unit="ms, fps",
            minimum=0,
            maximum=10_000,
        ),
    ] = ((40.0, 60.0), (80.0, 45.0), (200.0, 30.0))
    hysteresis_ms: Annotated[
        float,
        Knob(
            meaning="Fall of the p95 delay needed before the rate rises again.",
            unit="ms",
            minimum=0,
            maximum=500,
            step=1,
        ),
    ] = 5.0
    interpolation: Annotated[
        Interpolation, Knob(meaning="How missing frames are made up: none repeats, blend mixes, motion estimates.")
    ] = "none"

    @model_validator(mode="after")
    def _check_table(self) -> Self:
        fault = delay_table_fault(self.table)
        if fault:
            raise broken_rule("table", *fault)
        return self


def delay_table_fault(table: DelayTable) -> tuple[str, str] | None:
    """Return what is wrong with a compensation table and the cure, or None when it is in order."""
    if not 1 <= len(table) <= 32:
        return f"has {len(table)} rows, not 1–32", "give one row [delay in ms, rate in fps] for each step"
    rates = [fps for _, fps in table]
    if not all(1 <= fps <= FRAME_RATE_MAXIMUM_FPS for fps in rates):
        return "has a rate outside 1–500 fps", "write each row as [delay in ms, rate in fps]"
    for (delay, fps), (next_delay, next_fps) in pairwise(table):
        if next_delay <= delay:
            return f"goes from {delay:g} ms to {next_delay:g} ms", "sort the rows by rising delay, each delay once"
        if next_fps > fps:
            return f"rises from {fps:g} fps to {next_fps:g} fps", "let the rate fall or stay as the delay rises"
    return None


class BandwidthGuard(ConfigObject):
    """A lower rate while a measured link or memory bandwidth is nearly used up."""

    enabled: Annotated[bool, Knob(meaning="Lowers the frame rate while a link or memory is saturated.")] = False
    threshold_ratio: Annotated[
        float,
        Knob(
            meaning="Part of the limit above which the rate is lowered; less acts earlier.",
            minimum=0.1,
            maximum=1,
            step=0.01,
        ),
    ] = 0.9
    max_fps: Annotated[
        float, Knob(meaning="Rate while below the threshold.", unit="fps", minimum=1, maximum=500, step=1)
    ] = 120.0
    reduced_fps: Annotated[
        float, Knob(meaning="Rate while above the threshold.", unit="fps", minimum=1, maximum=500, step=1)
    ] = 96.0

    @model_validator(mode="after")
    def _check_rates(self) -> Self:
        if self.reduced_fps > self.max_fps:
            raise broken_rule(
                "reduced_fps", f"is above max_fps ({self.max_fps:g} fps)", f"use {self.max_fps:g} fps or less"
            )
        return self


class IframeGuard(ConfigObject):
    """Bitrate down on key-frame bursts, additive recovery."""

    enabled: Annotated[bool, Knob(meaning="Lowers the bitrate when key frames fill the encoder's output.")] = False
    high_water: Annotated[
        float,
        Knob(
            meaning="Fill of the output buffer that counts as a burst; less acts earlier.",
            minimum=0.1,
            maximum=1,
            step=0.05,
        ),
    ] = 0.8
    decrease: Annotated[
        float,
        Knob(meaning="Factor on the bitrate at a burst; less cuts deeper.", minimum=0.1, maximum=0.99, step=0.05),
    ] = 0.7
    floor_ratio: Annotated[
        float, Knob(meaning="Part of the full bitrate that always remains.", minimum=0.05, maximum=1, step=0.05)
    ] = 0.4
    recover_step: Annotated[
        float,
        Knob(
            meaning="Part of the full bitrate regained a second; more recovers faster and may burst again.",
            minimum=0.001,
            maximum=1,
            step=0.01,
        ),
    ] = 0.05


class RecaptureWeights(ConfigObject):
    """How much each kind of evidence counts in an anomaly."""

    sm: Annotated[float, Knob(meaning="Weight of a slower shader clock.", minimum=0, maximum=1, step=0.05)] = 0.35
    memory: Annotated[float, Knob(meaning="Weight of a slower memory.", minimum=0, maximum=1, step=0.05)] = 0.40
    # `copy` is a method of every pydantic model, so the attribute has an underscore; the key in the file does not.
    copy_: Annotated[
        float, Field(alias="copy"), Knob(meaning="Weight of a slower copy engine.", minimum=0, maximum=1, step=0.05)
    ] = 0.25


class Recapture(ConfigObject):
    """Anomaly rule over the recorded command buffers."""

    ratio: Annotated[
        float,
        Knob(meaning="A time above this multiple of its baseline may be an anomaly.", minimum=1, maximum=10, step=0.1),
    ] = 1.3
    sigma: Annotated[
        float,
        Knob(
            meaning="Standard deviations from the mean that make it one; more marks fewer.",
            minimum=0.5,
            maximum=10,
            step=0.1,
        ),
    ] = 2.0
    window: Annotated[
        int, Knob(meaning="Frames of the baseline.", unit="frames", minimum=16, maximum=4096, step=16)
    ] = 64
    weights: Annotated[
        RecaptureWeights, Section(Group.GOVERNORS, Effect.LIVE, "How much each kind of evidence counts.")
    ] = RecaptureWeights()


class Encoder(ConfigObject):
    """The encode branch."""

    enabled: Annotated[bool, Knob(meaning="Runs the encode branch beside the preview.")] = False
    codec: Annotated[EncoderCodec, Knob(meaning="Encoder; auto takes NVENC after a trial open, else libx264.")] = "auto"
    preset: Annotated[EncoderPreset, Knob(meaning="p1 is fastest, p7 best; a higher one costs encode time.")] = "p4"
    tune: Annotated[EncoderTune, Knob(meaning="hq looks ahead, ll and ull give each frame out at once.")] = "ull"
    rc: Annotated[RateControl, Knob(meaning="Rate control: constant or variable bitrate, or constant quantiser.")] = (
        "cbr"
    )
    bitrate_kbps: Annotated[
        int | None,
        Knob(
            meaning="Target bitrate; null leaves it to the encoder. Excludes cq.",
            unit="kbit/s",
            minimum=100,
            maximum=400_000,
            step=100,
        ),
    ] = None
    max_rate_kbps: Annotated[
        int | None,
        Knob(
            meaning="Ceiling of a variable bitrate; null for none.",
            unit="kbit/s",
            minimum=100,
            maximum=800_000,
            step=100,
        ),
    ] = None
    cq: Annotated[
        int | None,
        Knob(
            meaning="Constant quality, lower is better and larger; null for none. Excludes bitrate_kbps.",
            minimum=0,
            maximum=51,
            step=1,
        ),
    ] = None
    gop_frames: Annotated[
        int,
        Knob(
            meaning="Frames from key frame to key frame; fewer recover faster and cost bitrate.",
            unit="frames",
            minimum=1,
            maximum=6000,
            step=1,
        ),
    ] = 120
    b_frames: Annotated[
        int,
        Knob(
            meaning="Consecutive B-frames; each adds a frame interval of delay.",
            unit="frames",
            minimum=0,
            maximum=4,
            step=1,
        ),
    ] = 0
    lookahead: Annotated[
        int,
        Knob(
            meaning="Frames the rate control looks ahead; each adds a frame interval of delay.",
            unit="frames",
            minimum=0,
            maximum=64,
            step=1,
        ),
    ] = 0
    multipass: Annotated[
        Multipass, Knob(meaning="Second pass at quarter or full resolution; better rates for encode time.")
    ] = "disabled"

    @model_validator(mode="after")
    def _check_rates(self) -> Self:
        if self.bitrate_kbps is not None and self.cq is not None:
            raise broken_rule(
                "cq",
                f"excludes bitrate_kbps ({self.bitrate_kbps} kbit/s)",
                "set one of the two to null, or leave one out",
            )
        if self.bitrate_kbps is not None and (self.max_rate_kbps or self.bitrate_kbps) < self.bitrate_kbps:
            raise broken_rule(
                "max_rate_kbps",
                f"is below bitrate_kbps ({self.bitrate_kbps} kbit/s)",
                f"use {self.bitrate_kbps} kbit/s or more, or null for no ceiling",
            )
        return self


class Alerts(ConfigObject):
    """When the tool speaks up."""

    drop_warn_per_s: Annotated[
        float,
        Knob(
            meaning="Lost frames a second, over drop_window_s, that warn.", unit="1/s", minimum=0, maximum=500, step=0.5
        ),
    ] = 3.0
    drop_window_s: Annotated[
        float,
        Knob(
            meaning="Window over which losses are counted; a longer one warns later and calmer.",
            unit="s",
            minimum=0.5,
            maximum=60,
            step=0.5,
        ),
    ] = 5.0
    drop_critical_in_1s: Annotated[
        int,
        Knob(meaning="Lost frames within one second that are critical.", unit="frames", minimum=1, maximum=500, step=1),
    ] = 15
    band_low_us: Annotated[
        int,
        Knob(
            meaning="Deviation from the nominal interval where the middle band begins.",
            unit="µs",
            minimum=0,
            maximum=1_000_000,
            step=100,
        ),
    ] = 500
    band_high_us: Annotated[
        int,
        Knob(
            meaning="Deviation from the nominal interval where the upper band begins.",
            unit="µs",
            minimum=0,
            maximum=1_000_000,
            step=100,
        ),
    ] = 2000

    @model_validator(mode="after")
    def _check_bands(self) -> Self:
        if self.band_high_us < self.band_low_us:
            raise broken_rule(
                "band_high_us", f"is below band_low_us ({self.band_low_us} µs)", f"use {self.band_low_us} µs or more"
            )
        return self


class Realtime(ConfigObject):
    """How the engine's threads are scheduled."""

    policy: Annotated[
        RealtimePolicy, Knob(meaning="Scheduling class; fifo and rr need a right and can starve the machine.")
    ] = "other"
    priority: Annotated[
        int, Knob(meaning="Priority under fifo and rr; higher runs first.", minimum=1, maximum=99, step=1)
    ] = 10
    cpus: Annotated[
        tuple[int, ...],
        Knob(meaning="Logical CPUs the engine may use; empty means all.", minimum=0, maximum=4095),
    ] = ()
    nice: Annotated[
        int,
        Knob(
            meaning="Niceness under other; lower runs sooner, below 0 needs a right.", minimum=-20, maximum=19, step=1
        ),
    ] = 0

    @model_validator(mode="after")
    def _check_cpus(self) -> Self:
        if len(set(self.cpus)) != len(self.cpus):
            raise broken_rule("cpus", "names a CPU twice", "name each CPU once")
        return self


class Device(ConfigObject):
    """Which device to use; an unknown one is asked about, never replaced silently."""

    gpu_uuid: Annotated[str | None, Knob(meaning="NVML UUID of the GPU to watch; null asks for none.")] = None
    mig_uuid: Annotated[str | None, Knob(meaning="UUID of the MIG slice to watch; null for none.")] = None
    vulkan_device: Annotated[
        str | None, Knob(meaning="Name of the Vulkan device to render on; null takes the best.")
    ] = None


ClockRange = tuple[int, int]
"""Lowest and highest clock in MHz."""


class VeoConfig(ConfigObject):
    """One configuration, as VeoConfig.json holds it. Frozen: an edit makes another one (`app.config.editing`).

    `VeoConfig()` is the default. The constructor takes fields by name and raises pydantic's `ValidationError`; input
    of a user goes through `config_from_object` or `load_config`, which raise `InvalidInputError` with a cure.
    """

    model_config = ConfigDict(title="VeoConfig.json")

    name: Annotated[str, Knob(group=Group.IDENTITY, effect=Effect.RECORD, meaning="Name of the preset.")] = ""
    description: Annotated[str, Knob(group=Group.IDENTITY, effect=Effect.RECORD, meaning="What the preset is for.")] = (
        ""
    )
    provenance: Annotated[
        dict[str, JsonValue],
        Knob(
            group=Group.IDENTITY,
            effect=Effect.RECORD,
            meaning="Tool version, GPU, driver, display, date, measured results; written on save, never read.",
        ),
    ] = {}

    nvdec_queue_depth: Annotated[
        int,
        Knob(
            group=Group.QUEUES,
            effect=Effect.PIPELINE,
            meaning="Decoded frames that may wait for processing; more rides out slow processing and uses memory.",
            unit="frames",
            minimum=1,
            maximum=32,
            step=1,
            acts=True,
        ),
    ] = 4
    frame_queue_depth: Annotated[
        int,
        Knob(
            group=Group.QUEUES,
            effect=Effect.LIVE,
            meaning="Processed frames that may wait for presentation; more rides out bursts; kept full it adds delay.",
            unit="frames",
            minimum=1,
            maximum=64,
            step=1,
            acts=True,
        ),
    ] = 4
    nvenc_queue_depth: Annotated[
        int,
        Knob(
            group=Group.QUEUES,
            effect=Effect.PIPELINE,
            meaning="Frames that may wait for or be inside the encoder; more keeps it busy and adds delay.",
            unit="frames",
            minimum=1,
            maximum=32,
            step=1,
        ),
    ] = 4
    overflow_policy: Annotated[
        OverflowPolicy,
        Knob(
            group=Group.QUEUES,
            effect=Effect.LIVE,
            meaning="What a full frame queue does: block holds the source back, drop_oldest favours fresh frames, "
            "drop_newest favours those that wait.",
            acts=True,
        ),
    ] = OverflowPolicy.BLOCK

    render_latency_ms: Annotated[
        float,
        Knob(
            group=Group.LATENCY,
            effect=Effect.LIVE,
            meaning="Playout delay from a frame's arrival to its due time; more absorbs jitter, less is fresher.",
            unit="ms",
            minimum=0,
            maximum=500,
            step=0.1,
            acts=True,
        ),
    ] = 33.3
    latency_mode: Annotated[
        LatencyMode,
        Knob(
            group=Group.LATENCY,
            effect=Effect.LIVE,
            meaning="LOW_JITTER keeps motion even, LOW_LATENCY shows the newest frame at once, BALANCED lies between.",
            choices_built=("LOW_JITTER", "LOW_LATENCY"),
            acts=True,
        ),
    ] = LatencyMode.LOW_JITTER
    batch_window_us: Annotated[
        int,
        Knob(
            group=Group.LATENCY,
            effect=Effect.LIVE,
            meaning="Submissions are aligned to a grid of this period; longer batches more and adds delay, 0 is none.",
            unit="µs",
            minimum=0,
            maximum=100_000,
            step=100,
        ),
    ] = 0
    sync_mode: Annotated[
        SyncMode,
        Knob(
            group=Group.LATENCY,
            effect=Effect.LIVE,
            meaning="WaitForNextFrame starts a frame only when the previous one is displayed; no queueing, lower rate.",
        ),
    ] = "Immediate"
    preview_latency: Annotated[
        PreviewLatency,
        Knob(
            group=Group.LATENCY,
            effect=Effect.LIVE,
            meaning="auto lets the anomaly controller adjust render_latency_ms within its bounds.",
        ),
    ] = "fixed"
    preview_fps: Annotated[
        float,
        Knob(
            group=Group.LATENCY,
            effect=Effect.LIVE,
            meaning="Rate at which frames are shown, lowered by even decimation; 0 is the source's own rate.",
            unit="fps",
            minimum=0,
            maximum=FRAME_RATE_MAXIMUM_FPS,
            step=1,
            acts=True,
        ),
    ] = 0.0

    present_mode: Annotated[
        PresentMode,
        Knob(
            group=Group.SWAPCHAIN,
            effect=Effect.SWAPCHAIN,
            meaning="Present mode asked of the surface: FIFO is even, MAILBOX fresher, IMMEDIATE may tear.",
            acts=True,
        ),
    ] = PresentMode.FIFO
    min_image_count: Annotated[
        int,
        Knob(
            group=Group.SWAPCHAIN,
            effect=Effect.SWAPCHAIN,
            meaning="Swapchain images asked for; each more rides out stalls and delays a full FIFO a refresh.",
            unit="images",
            minimum=2,
            maximum=8,
            step=1,
            acts=True,
        ),
    ] = 3

    enable_preview: Annotated[
        bool,
        Knob(group=Group.PREVIEW_STREAM, effect=Effect.PIPELINE, meaning="Serves the thumbnail stream to clients."),
    ] = False
    preview_interval_ms: Annotated[
        int,
        Knob(
            group=Group.PREVIEW_STREAM,
            effect=Effect.LIVE,
            meaning="Time between two thumbnails; less is livelier and costs more.",
            unit="ms",
            minimum=200,
            maximum=2000,
            step=50,
        ),
    ] = 1000
    preview_resolution: Annotated[
        PreviewResolution,
        Knob(group=Group.PREVIEW_STREAM, effect=Effect.LIVE, meaning="Size of a thumbnail in pixels.", unit="px"),
    ] = "320x180"

    gpu_clock_lock_mhz: Annotated[
        ClockRange | None,
        Knob(
            group=Group.CLOCKS,
            effect=Effect.PRIVILEGED,
            meaning="Lowest and highest graphics clock; a lock steadies frame times and costs power. null is no lock.",
            unit="MHz",
            minimum=1,
            maximum=10_000,
            step=15,
        ),
    ] = None
    memory_clock_lock_mhz: Annotated[
        ClockRange | None,
        Knob(
            group=Group.CLOCKS,
            effect=Effect.PRIVILEGED,
            meaning="Lowest and highest memory clock; a lock has been seen to cost 16 % of the rate. null is no lock.",
            unit="MHz",
            minimum=1,
            maximum=30_000,
            step=1,
        ),
    ] = None
    memory_clock_offset_mhz: Annotated[
        int | None,
        Knob(
            group=Group.CLOCKS,
            effect=Effect.PRIVILEGED,
            meaning="Offset on the memory clock of each performance state, where the driver has it. null is none.",
            unit="MHz",
            minimum=-2000,
            maximum=2000,
            step=1,
        ),
    ] = None
    memory_timings: Annotated[
        MemoryTimings | None,
        Knob(
            group=Group.CLOCKS,
            effect=Effect.RECORD,
            meaning="DRAM timings for a vendor's own tool; no supported interface of any GPU sets them. null is none.",
            unit="cycles",
            minimum=1,
            maximum=255,
            step=1,
        ),
    ] = None

    thermal_guard: Annotated[
        ThermalGuard, Section(Group.GOVERNORS, Effect.LIVE, "Frame-rate ceiling from the GPU temperature.")
    ] = ThermalGuard()
    frame_compensation: Annotated[
        FrameCompensation, Section(Group.GOVERNORS, Effect.LIVE, "Lower, even rate while source I/O is slow.")
    ] = FrameCompensation()
    bandwidth_guard: Annotated[
        BandwidthGuard, Section(Group.GOVERNORS, Effect.LIVE, "Lower rate while a link or memory is saturated.")
    ] = BandwidthGuard()
    iframe_guard: Annotated[
        IframeGuard, Section(Group.GOVERNORS, Effect.LIVE, "Lower bitrate on key-frame bursts.")
    ] = IframeGuard()
    recapture: Annotated[
        Recapture, Section(Group.GOVERNORS, Effect.LIVE, "Anomaly rule over the recorded command buffers.")
    ] = Recapture()

    encoder: Annotated[Encoder, Section(Group.ENCODER, Effect.PIPELINE, "The encode branch.")] = Encoder()
    alerts: Annotated[Alerts, Section(Group.ALERTS, Effect.LIVE, "When the tool speaks up.")] = Alerts()
    realtime: Annotated[
        Realtime, Section(Group.SCHEDULING, Effect.PIPELINE, "How the engine's threads are scheduled.")
    ] = Realtime()
    device: Annotated[Device, Section(Group.SCHEDULING, Effect.PIPELINE, "Which device is used and watched.")] = (
        Device()
    )

    @model_validator(mode="after")
    def _check_clock_ranges(self) -> Self:
        for key, lock in (
            ("gpu_clock_lock_mhz", self.gpu_clock_lock_mhz),
            ("memory_clock_lock_mhz", self.memory_clock_lock_mhz),
        ):
            if lock is not None and lock[0] > lock[1]:
                raise broken_rule(
                    key,
                    f"has its minimum above its maximum ({lock[0]} > {lock[1]} MHz)",
                    f"write [{lock[1]}, {lock[0]}]",
                )
        return self
