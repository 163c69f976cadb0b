"""What a reader has to know before believing a run's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from app.analysis.encoding import fate_count
from app.analysis.littles_law import LittleCheck, check_littles_law
from app.analysis.loss import decimated_by_governor, made_up_pictures, unaccounted
from app.analysis.run_data import RunData
from app.analysis.run_sources import RunSource, run_sources
from app.config.advice import Advice, config_advice
from app.config.sections import Encoder
from app.core.encode_records import EncodeFate
from app.core.vocabulary import Governor
from app.export.display_truth import MEANING, observed_sources
from app.export.metric_sources import simulated_metrics
from app.ipc.messages import SinkInfo

_GOVERNOR_WORDS: Final = {
    Governor.PREVIEW_FPS: "preview_fps",
    Governor.THERMAL: "the thermal guard (thermal_guard)",
    Governor.COMPENSATION: "frame compensation (frame_compensation)",
    Governor.BANDWIDTH: "the bandwidth guard (bandwidth_guard)",
    Governor.NONE: "nobody named",
}
"""Who left frames out, with the option by which a user knows it."""


def run_warnings(data: RunData) -> tuple[str, ...]:
    """Return every reservation about this run, each a sentence or two; the gravest first."""
    return (
        *_about_counts(data),
        *_about_display_times(data),
        *_about_sink(data.sink),
        *_about_decimation(data),
        *_about_encoder(data),
        *_about_telemetry(data),
    )


def run_advice(data: RunData) -> tuple[Advice, ...]:
    """Return what the configuration should perhaps not be, given this source and sink, with the arithmetic."""
    sink, source = data.sink, data.source
    return config_advice(
        data.config,
        source_rate_hz=source.rate_hz if source else None,
        refresh_hz=sink.refresh_hz if sink else None,
        available_modes=sink.available_modes if sink else None,
        image_count=sink.image_count if sink else None,
    )


def _about_counts(data: RunData) -> Iterator[str]:
    yield from data.notices
    missing = unaccounted(data.counters)
    if missing:
        yield f"The engine's counters do not add up: {missing} frames are neither displayed, lost nor in flight."
    if data.lapped_records:
        yield (
            f"{data.lapped_records} frame records were overwritten before they could be kept; counts include these "
            "frames, statistics do not."
        )
    sources = run_sources(data)
    for source in sources:
        yield from _about_source(data, source, f"Source {source.index + 1}: " if len(sources) > 1 else "")


def _about_source(data: RunData, source: RunSource, whose: str) -> Iterator[str]:
    if len(source.frames) and not len(source.measured):
        yield (
            f"{whose}The run ended within its warm-up of {data.warmup_s:g} s, so no frame is left to measure; run "
            "longer or shorten the warm-up."
        )
    law = check_littles_law(source.measured)
    if isinstance(law, LittleCheck) and not law.holds:
        yield (
            f"{whose}Little's law does not hold: {law.frames_in_system:.2f} frames were in the system, but "
            f"{law.rate_per_s:.2f} per s × {law.time_in_system_s * 1e3:.2f} ms = {law.product:.2f}. Rate and latency "
            "contradict each other; do not rely on either."
        )


def _about_display_times(data: RunData) -> Iterator[str]:
    observed = observed_sources(data)
    for source, pictures in observed:
        if not source.is_display_truth:
            of_pictures = f" of {pictures} pictures" if len(observed) > 1 else ""
            yield f"Display times{of_pictures} come from {source.label}, which is only a bound: {MEANING['bound']}."
    if len(observed) > 1:
        yield "The display-time source changed during the run; no interval spans the change."


def _about_sink(sink: SinkInfo | None) -> Iterator[str]:
    if sink is None:
        yield "The engine never got ready: there is no sink and nothing was displayed."
        return
    if sink.paces_fifo is False:
        yield (
            f"{sink.device or 'The driver'} claims FIFO and does not pace it: frames were not held to the refresh. "
            "Read intervals as those of IMMEDIATE."
        )
    if sink.present_mode_granted != sink.present_mode_requested:
        reason = f": {sink.grant_reason}" if sink.grant_reason else ""
        yield f"{sink.present_mode_requested} was requested and {sink.present_mode_granted} granted{reason}."
    if sink.device_is_software:
        yield f"{sink.device} is software Vulkan: GPU times are CPU times and compete with the pipeline for cores."
    if sink.kind == "virtual":
        yield "The display is virtual: its display times are exact, but no picture was shown on a screen."


def _about_decimation(data: RunData) -> Iterator[str]:
    counts = {governor: count for governor, count in decimated_by_governor(data.frames).items() if count}
    if not counts:
        return
    by = ", ".join(f"{count} by {_GOVERNOR_WORDS[governor]}" for governor, count in counts.items())
    made_up = made_up_pictures(data.frames)
    yield f"{sum(counts.values())} frames were left out on purpose: {by}; they are counted as lost (decimated)." + (
        f" In the place of {made_up} of them a picture made up from its neighbours was shown: it counts in intervals, "
        "rates and jitter, and in no latency."
        if made_up
        else ""
    )


def _about_encoder(data: RunData) -> Iterator[str]:
    state, rows = data.encoder, data.encodes
    if state is not None and state.notice:
        yield f"Encoder {state.codec or 'off'}: {state.notice}".removesuffix(".") + "."
    if state is not None and (state.holds_frames or 0) > 1:
        yield f"The encoder holds {_held_text(state.holds_frames or 0, data)}; {_cure(data.config.encoder)}."
    skipped, lost = fate_count(rows, EncodeFate.SKIPPED), fate_count(rows, EncodeFate.LOST)
    if skipped:
        yield (
            f"{skipped} of {len(rows)} frames were skipped by the encoder, which was full; they are missing from the "
            "encoded video, and the preview showed them all the same."
        )
    if lost:
        yield f"{lost} of {len(rows)} frames were lost in the encoder, which failed or hung."


def _held_text(holds: int, data: RunData) -> str:
    rate_hz = data.source.rate_hz if data.source else None
    added = f", {(holds - 1) * 1e3 / rate_hz:.1f} ms" if rate_hz else ""
    return f"{holds} frames before it gives one out ({holds - 1} × the frame interval of delay{added})"


def _cure(encoder: Encoder) -> str:
    """Return the settings that remove the delay: each of these holds frames back by itself."""
    settings = (
        ("encoder.tune=ull", encoder.tune == "hq"),
        ("encoder.b_frames=0", encoder.b_frames > 0),
        ("encoder.lookahead=0", encoder.lookahead > 0),
    )
    wanted = [text for text, holds in settings if holds]
    if not wanted:
        return "no setting asks for it, so it is this encoder's own"
    return f"{' with '.join(wanted)} {'removes' if len(wanted) == 1 else 'remove'} it"


def _about_telemetry(data: RunData) -> Iterator[str]:
    simulated = simulated_metrics(data)
    if simulated:
        yield (
            f"SIMULATED: {len(simulated)} GPU metrics (temperature, clocks, power and others) come from the simulated "
            "GPU and say nothing about this machine."
        )
