"""The VeoConfig model: every knob declared once, with type, default, bounds, unit, effect and meaning.

This is the option table in its typed form; its sections lie in `app.config.governors` and `app.config.sections`.
`app.config.options` reads it into `OPTIONS` and checks it at load; the JSON Schema, the saved file, controls, flags and
sweep axes follow from there. Adding a knob means one field here and the stage that obeys it.

Fields stand in file order.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, Self

from pydantic import ConfigDict, Field, JsonValue, model_validator

from app.config.config_object import ConfigObject, broken_rule
from app.config.governors import (
    FRAME_RATE_MAXIMUM_FPS,
    BandwidthGuard,
    FrameCompensation,
    IframeGuard,
    Recapture,
    ThermalGuard,
)
from app.config.knob import Effect, Group, Knob, Section
from app.config.sections import Alerts, Device, Encoder, MemoryTimings, Realtime
from app.core.vocabulary import LatencyMode, OverflowPolicy, PresentMode

SyncMode = Literal["Immediate", "WaitForNextFrame"]
PreviewLatency = Literal["fixed", "auto"]
CommandBuffers = Literal["reuse", "record"]
PreviewResolution = Literal["320x180", "640x360", "960x540"]

ClockRange = tuple[int, int]
"""Lowest and highest clock in MHz."""

SLOWEST_PREVIEW_FPS: Final = 0.001
"""Least preview_fps that is no "source's own rate": smaller ones make periods that no clock holds."""


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
    ] = Field(default_factory=dict)

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
        ),
    ] = 33.3
    latency_mode: Annotated[
        LatencyMode,
        Knob(
            group=Group.LATENCY,
            effect=Effect.LIVE,
            meaning="LOW_JITTER keeps motion even at render_latency_ms, BALANCED at the least delay up to it that "
            "suffices, LOW_LATENCY shows the newest frame at once.",
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
            meaning="auto adds up to 50 ms to render_latency_ms while frames come late and takes it back afterwards.",
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
        ),
    ] = 0.0

    present_mode: Annotated[
        PresentMode,
        Knob(
            group=Group.SWAPCHAIN,
            effect=Effect.SWAPCHAIN,
            meaning="Present mode asked of the surface: FIFO is even, MAILBOX fresher, IMMEDIATE may tear.",
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
        ),
    ] = 3
    command_buffers: Annotated[
        CommandBuffers,
        Knob(
            group=Group.SWAPCHAIN,
            effect=Effect.LIVE,
            meaning="reuse records the GPU's commands once an image and submits them again; record makes them anew for "
            "each frame, which costs more CPU time a submit.",
        ),
    ] = "reuse"

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
        Recapture, Section(Group.GOVERNORS, Effect.LIVE, "Anomaly rule over the GPU times of the command buffers.")
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
    def _check_preview_fps(self) -> Self:
        if 0 < self.preview_fps < SLOWEST_PREVIEW_FPS:
            raise broken_rule(
                "preview_fps",
                f"is above 0, the source's own rate, yet below {SLOWEST_PREVIEW_FPS:g} fps",
                f"use 0, or {SLOWEST_PREVIEW_FPS:g} fps or more",
            )
        return self

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
