"""Sections of the VeoConfig model that govern rate, bitrate and command buffers (see `app.config.model`)."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Final, Literal, Self

from pydantic import Field, model_validator

from app.config.config_object import ConfigObject, broken_rule
from app.config.knob import Effect, Group, Knob, Section

Interpolation = Literal["none", "blend", "motion"]


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
        Interpolation,
        Knob(
            meaning="How frames that compensation leaves out are made up: none repeats, blend mixes, motion estimates; "
            "made-up frames add a source interval or more of delay."
        ),
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
    memory: Annotated[float, Knob(meaning="Weight of a slower or busy memory.", minimum=0, maximum=1, step=0.05)] = 0.40
    # `copy` is a method of every pydantic model, so the attribute has an underscore; the key in the file does not.
    copy_: Annotated[
        float,
        Field(alias="copy"),
        Knob(meaning="Weight of a slower upload of pictures.", minimum=0, maximum=1, step=0.05),
    ] = 0.25


class Recapture(ConfigObject):
    """Anomaly rule over the GPU times of the command buffers."""

    ratio: Annotated[
        float,
        Knob(
            meaning="A GPU time above this multiple of its baseline may be an anomaly.", minimum=1, maximum=10, step=0.1
        ),
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
        int,
        Knob(
            meaning="Frames of the warm-up, of the baseline, and of the mean that a frame is held against.",
            unit="frames",
            minimum=16,
            maximum=4096,
            step=16,
        ),
    ] = 64
    weights: Annotated[
        RecaptureWeights, Section(Group.GOVERNORS, Effect.LIVE, "How much each kind of evidence counts.")
    ] = RecaptureWeights()
