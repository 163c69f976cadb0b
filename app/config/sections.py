"""Sections of the VeoConfig model: memory timings, encoder, alerts, scheduling, device (see `app.config.model`)."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import model_validator

from app.config.config_object import ConfigObject, broken_rule
from app.config.knob import Knob

EncoderCodec = Literal["auto", "h264_nvenc", "hevc_nvenc", "av1_nvenc", "libx264"]
EncoderPreset = Literal["p1", "p2", "p3", "p4", "p5", "p6", "p7"]
EncoderTune = Literal["hq", "ll", "ull"]
RateControl = Literal["cbr", "vbr", "constqp"]
Multipass = Literal["disabled", "qres", "fullres"]
RealtimePolicy = Literal["other", "fifo", "rr"]


class MemoryTimings(ConfigObject):
    """DRAM timings in clock cycles, exported for a vendor's own tool."""

    tCL: Annotated[  # noqa: N815 - the name on every data sheet and in the file
        int, Knob(meaning="Column address strobe latency.", unit="cycles", minimum=1, maximum=255, step=1)
    ]
    tRCD: Annotated[  # noqa: N815 - the name on every data sheet and in the file
        int, Knob(meaning="Row address to column address delay.", unit="cycles", minimum=1, maximum=255, step=1)
    ]
    tRP: Annotated[  # noqa: N815 - the name on every data sheet and in the file
        int, Knob(meaning="Row precharge time.", unit="cycles", minimum=1, maximum=255, step=1)
    ]
    tRAS: Annotated[  # noqa: N815 - the name on every data sheet and in the file
        int, Knob(meaning="Row active time.", unit="cycles", minimum=1, maximum=255, step=1)
    ]


class Encoder(ConfigObject):
    """The encode branch."""

    enabled: Annotated[bool, Knob(meaning="Runs the encode branch beside the preview.")] = False
    codec: Annotated[EncoderCodec, Knob(meaning="Encoder; auto takes NVENC after a trial open, else libx264.")] = "auto"
    preset: Annotated[EncoderPreset, Knob(meaning="p1 is fastest, p7 best; a higher one costs encode time.")] = "p4"
    tune: Annotated[
        EncoderTune, Knob(meaning="hq may keep frames back for a better picture; ll and ull give each out at once.")
    ] = "ull"
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
        Multipass, Knob(meaning="NVENC's second pass at quarter or full resolution; steadier rates for encode time.")
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
        RealtimePolicy,
        Knob(meaning="Scheduling class of the present thread; fifo and rr need a right, and run before all else."),
    ] = "other"
    priority: Annotated[
        int,
        Knob(
            meaning="Priority of the present thread under fifo and rr; higher runs first.",
            minimum=1,
            maximum=99,
            step=1,
        ),
    ] = 10
    cpus: Annotated[
        tuple[int, ...],
        Knob(meaning="Logical CPUs that the engine's threads may use; empty means all.", minimum=0, maximum=4095),
    ] = ()
    nice: Annotated[
        int,
        Knob(
            meaning="Niceness of the engine's threads under other; lower runs sooner, below 0 needs a right.",
            minimum=-20,
            maximum=19,
            step=1,
        ),
    ] = 0

    @model_validator(mode="after")
    def _check_cpus(self) -> Self:
        if len(set(self.cpus)) != len(self.cpus):
            raise broken_rule("cpus", "names a CPU twice", "name each CPU once")
        return self


class Device(ConfigObject):
    """Which device to use; an unknown one is asked about, never replaced silently."""

    gpu_uuid: Annotated[
        str | None,
        Knob(meaning="UUID of the GPU whose sensors are read and which decodes and encodes; null asks for none."),
    ] = None
    mig_uuid: Annotated[str | None, Knob(meaning="UUID of the MIG slice that decodes and encodes; null for none.")] = (
        None
    )
    vulkan_device: Annotated[
        str | None,
        Knob(meaning="Part of the name, or the UUID, of the Vulkan device to render on; null takes the best."),
    ] = None
