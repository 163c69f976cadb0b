"""What a reader has to know before believing a run's numbers."""

from __future__ import annotations

from collections.abc import Iterator

from app.analysis.littles_law import LittleCheck, check_littles_law
from app.analysis.loss import unaccounted
from app.analysis.run_data import RunData
from app.analysis.run_statistics import measured_frames
from app.config.advice import Advice, config_advice
from app.export.metric_sources import display_time_sources, simulated_metrics
from app.ipc.messages import SinkInfo


def run_warnings(data: RunData) -> tuple[str, ...]:
    """Return every reservation about this run, each a sentence or two; the gravest first."""
    return (*_about_counts(data), *_about_display_times(data), *_about_sink(data.sink), *_about_telemetry(data))


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
    if len(data.frames) and not len(measured_frames(data)):
        yield (
            f"The run ended within its warm-up of {data.warmup_s:g} s, so no frame is left to measure; run longer or "
            "shorten the warm-up."
        )
    law = check_littles_law(measured_frames(data))
    if isinstance(law, LittleCheck) and not law.holds:
        yield (
            f"Little's law does not hold: {law.frames_in_system:.2f} frames were in the system, but "
            f"{law.rate_per_s:.2f} per s × {law.time_in_system_s * 1e3:.2f} ms = {law.product:.2f}. Rate and latency "
            "contradict each other; do not rely on either."
        )


def _about_display_times(data: RunData) -> Iterator[str]:
    sources = display_time_sources(data)
    for source in sources:
        if not source.is_display_truth:
            yield (
                f"Display times come from {source.label}, taken before the picture reached the screen: latencies are "
                "lower bounds, and the interval on the screen may differ."
            )
    if len(sources) > 1:
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


def _about_telemetry(data: RunData) -> Iterator[str]:
    simulated = simulated_metrics(data)
    if simulated:
        yield (
            f"SIMULATED: {len(simulated)} GPU metrics (temperature, clocks, power and others) come from the simulated "
            "GPU and say nothing about this machine."
        )
