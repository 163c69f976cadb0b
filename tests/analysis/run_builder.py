"""Runs made of arithmetic, for tests of analysis and export: every stamp follows from a few numbers and a seed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.analysis.run_data import RunData, SegmentSpan, SinkAt, TelemetryTable
from app.config.veoconfig import VeoConfig
from app.core.clock import NS_PER_MS, NS_PER_S
from app.core.encode_records import EncodeArray, EncodeFate, empty_encode_records
from app.core.records import FLAG_INTERPOLATED, FrameArray, empty_frames
from app.core.vocabulary import LOSS_CLASSES, DisplayTimeSource, Fate, Governor, PresentMode
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

START_NS = 5_000 * NS_PER_S
PICTURE_BYTES = 1280 * 720 * 3 // 2


@dataclass(frozen=True)
class Made:
    """What to make: frames of a paced source on a display of `refresh_hz`, with some randomness.

    `lost_every` loses one frame in so many (0: none), classes in turn. `stall_after_s` puts a pause of two seconds and
    a new segment there (0: none). `decimate_every` has frame compensation leave out one frame in so many (0: none), in
    whose place a made-up picture is shown if `makes_up`.
    """

    seconds: float = 10.0
    rate_hz: float = 60.0
    refresh_hz: float = 60.0
    latency_refreshes: int = 3
    jitter_ms: float = 0.0
    lost_every: int = 0
    stall_after_s: float = 0.0
    decimate_every: int = 0
    makes_up: bool = False
    gpu: bool = True
    seed: int = 1


def displayed_frames(displayed_ns: list[int] | np.ndarray[Any, np.dtype[np.int64]], **columns: Any) -> FrameArray:
    """Return displayed frames with these display times, one source, one segment, and further columns as given."""
    frames = empty_frames(len(displayed_ns))
    frames["frame_id"] = np.arange(len(displayed_ns))
    frames["fate"] = Fate.DISPLAYED
    frames["display_time_source"] = DisplayTimeSource.VIRTUAL_DISPLAY
    frames["displayed_ns"] = displayed_ns
    for name, values in columns.items():
        frames[name] = values
    return frames


def frames_at_intervals(interval_ms: list[float] | np.ndarray[Any, np.dtype[np.float64]]) -> FrameArray:
    """Return displayed frames that are these intervals apart."""
    steps_ns = np.round(np.asarray(interval_ms) * NS_PER_MS).astype(np.int64)
    return displayed_frames(START_NS + np.concatenate(([0], np.cumsum(steps_ns))))


def made_frames(made: Made) -> FrameArray:
    """Return the records of a run: decode 3 ms, process 1 ms, due time, acquire, GPU 2 ms, display on the grid."""
    random = np.random.default_rng(made.seed)
    count = round(made.seconds * made.rate_hz)
    frames = empty_frames(count)
    interval_ns = round(NS_PER_S / made.rate_hz)
    refresh_ns = round(NS_PER_S / made.refresh_hz)
    pts_ns = np.arange(count) * interval_ns
    stalled = pts_ns >= made.stall_after_s * NS_PER_S if made.stall_after_s else np.zeros(count, np.bool_)
    schedule_ns = START_NS + pts_ns + np.where(stalled, 2 * NS_PER_S, 0)
    frames["frame_id"] = np.arange(count)
    frames["segment"] = stalled.astype(np.int64)
    frames["config_serial"] = 1
    frames["source_interval_ns"] = interval_ns
    frames["pts_ns"] = pts_ns
    frames["bytes_uploaded"] = PICTURE_BYTES
    frames["fate"] = Fate.DISPLAYED
    frames["display_time_source"] = DisplayTimeSource.VIRTUAL_DISPLAY
    frames["arrive_ns"] = schedule_ns + _milliseconds(np.abs(random.normal(0, made.jitter_ms, count)))
    late_ns = _milliseconds(np.abs(random.normal(0, made.jitter_ms, count)))
    frames["decode_start_ns"] = frames["arrive_ns"] + 100_000
    frames["decode_end_ns"] = frames["decode_start_ns"] + 3 * NS_PER_MS + late_ns
    frames["process_start_ns"] = frames["decode_end_ns"] + 200_000
    frames["process_end_ns"] = frames["process_start_ns"] + NS_PER_MS
    due_ns = schedule_ns + made.latency_refreshes * refresh_ns
    missed = (frames["process_end_ns"] + 4 * NS_PER_MS > due_ns).astype(np.int64)
    frames["due_ns"] = due_ns
    frames["displayed_ns"] = due_ns + missed * refresh_ns + random.integers(-5_000, 5_000, count)
    frames["acquire_start_ns"] = frames["displayed_ns"] - 12 * NS_PER_MS
    frames["acquire_end_ns"] = frames["acquire_start_ns"] + 500_000
    frames["submit_ns"] = frames["acquire_end_ns"] + 150_000
    if made.gpu:
        frames["gpu_start_ns"] = frames["submit_ns"] + 50_000
        frames["gpu_end_ns"] = frames["gpu_start_ns"] + 2 * NS_PER_MS + random.integers(0, 300_000, count)
    frames["present_call_ns"] = frames["submit_ns"] + 20_000
    frames["present_return_ns"] = frames["present_call_ns"] + 80_000
    frames["refreshes"] = round(made.refresh_hz / made.rate_hz) or 1
    frames["image_index"] = np.arange(count) % 3
    frames["submit_cpu_ns"] = 14_000 + random.integers(0, 3_000, count)
    if made.decimate_every:
        _decimate(frames, np.arange(made.decimate_every - 1, count, made.decimate_every), makes_up=made.makes_up)
    if made.lost_every:
        _lose(frames, np.arange(made.lost_every - 1, count, made.lost_every))
    return frames


def _decimate(frames: FrameArray, rows: np.ndarray[Any, np.dtype[np.intp]], *, makes_up: bool) -> None:
    if not makes_up:
        _lose(frames, rows)
    frames["fate"][rows] = Fate.DECIMATED
    frames["governor"][rows] = Governor.COMPENSATION
    if makes_up:
        frames["flags"][rows] |= FLAG_INTERPOLATED
        frames["interpolation_ns"][rows] = 700_000
        frames["bytes_uploaded"][rows] = 0


def _lose(frames: FrameArray, rows: np.ndarray[Any, np.dtype[np.intp]]) -> None:
    frames["fate"][rows] = np.array(LOSS_CLASSES)[np.arange(len(rows)) % len(LOSS_CLASSES)]
    frames["governor"][rows] = np.where(frames["fate"][rows] == Fate.DECIMATED, Governor.PREVIEW_FPS, Governor.NONE)
    frames["flags"][rows] = 0
    unknown = empty_frames(1)
    for name in ("submit_cpu_ns", "interpolation_ns"):
        frames[name][rows] = unknown[name][0]
    for name in ("displayed_ns", "acquire_start_ns", "acquire_end_ns", "submit_ns", "gpu_start_ns", "gpu_end_ns"):
        frames[name][rows] = unknown[name][0]
    for name in ("present_call_ns", "present_return_ns", "refreshes", "image_index"):
        frames[name][rows] = unknown[name][0]
    frames["display_time_source"][rows] = DisplayTimeSource.NONE


def _milliseconds(values: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.round(values * NS_PER_MS).astype(np.int64)


def made_telemetry(seconds: float, *, gpu: str = "") -> TelemetryTable:
    """Return readings twice a second: host CPU always; of a GPU, by provider name, temperature and clocks."""
    metrics = {"host_cpu_ratio": ("host", 0.31), "host_temperature_c": ("host", 52.0)}
    if gpu:
        metrics |= {
            "gpu_temperature_c": (gpu, 64.0),
            "gpu_clock_mhz": (gpu, 1800.0),
            "memory_clock_mhz": (gpu, 7000.0),
            "power_w": (gpu, 120.0),
        }
    times_ns = START_NS + (np.arange(round(seconds * 2)) * NS_PER_S) // 2
    rows = [
        (at_ns, provider, f"{provider}-0", metric_id, base + 3.0 * np.sin(index / 9.0 + base), "", 40.0)
        for index, at_ns in enumerate(times_ns.tolist())
        for metric_id, (provider, base) in metrics.items()
    ]
    return telemetry_table(rows)


def telemetry_table(rows: list[tuple[int, str, str, str, float, str, float]]) -> TelemetryTable:
    """Return a table of (at_ns, provider, device, metric, value, reason, cost_us) rows."""
    columns = list(zip(*rows, strict=True)) if rows else [()] * 7
    kinds = (np.int64, np.object_, np.object_, np.object_, np.float64, np.object_, np.float64)
    return TelemetryTable(*(np.array(column, kind) for column, kind in zip(columns, kinds, strict=True)))


def counters_of(frames: FrameArray, repeated: int | None = 0, in_flight: int = 0) -> FrameCounters:
    """Return the totals that the engine would publish for exactly these records."""
    lost = {fate: int(np.count_nonzero(frames["fate"] == fate)) for fate in LOSS_CLASSES}
    shown = int(np.count_nonzero(frames["fate"] == Fate.DISPLAYED))
    return FrameCounters(
        produced=len(frames) + in_flight,
        displayed=shown,
        lost=lost,
        repeated=repeated,
        in_flight=in_flight,
        updated_ns=START_NS,
    )


def made_source(rate_hz: float | None = 60.0) -> SourceInfo:
    return SourceInfo(
        description="synthetic pattern, 1280×720, 60 fps",
        width=1280,
        height=720,
        rate_hz=rate_hz,
        free_running=rate_hz is None,
        live=rate_hz is not None,
        pixel_format="yuv420p",
        matrix="bt709",
        colour_range="limited",
        rotation_degrees=0,
        decoder="software",
        duration_s=None,
    )


def made_sink(**changes: Any) -> SinkInfo:
    sink = SinkInfo(
        kind="virtual",
        refresh_hz=60.0,
        present_mode_requested=PresentMode.FIFO.value,
        present_mode_granted=PresentMode.FIFO.value,
        grant_reason="",
        available_modes=[mode.value for mode in PresentMode],
        image_count=3,
        display_time_source=DisplayTimeSource.VIRTUAL_DISPLAY.label,
        paces_fifo=True,
        device="llvmpipe (LLVM 15.0.6, 256 bits)",
        device_is_software=True,
        device_uuid="",
        pci_bus_id="",
        width=1280,
        height=720,
        settings={"timestampPeriod": "1 ns"},
    )
    return replace(sink, **changes)


def made_run(made: Made = Made(), **changes: Any) -> RunData:
    """Return a whole run of `made`; `changes` replace fields of the `RunData`."""
    frames = made_frames(made)
    end_ns = START_NS + round((made.seconds + (2.0 if made.stall_after_s else 0.0) + 0.2) * NS_PER_S)
    run = RunData(
        frames=frames,
        telemetry=made_telemetry(made.seconds),
        segments=_segments(made, end_ns),
        config=VeoConfig(),
        source=made_source(made.rate_hz),
        sink_history=(SinkAt(START_NS, made_sink(refresh_hz=made.refresh_hz)),),
        counters=counters_of(frames),
        events=(EngineEvent("warning", "late_source", "the source fell 12 ms behind <once>", START_NS + NS_PER_S),),
        statuses=tuple(_status(START_NS + half * NS_PER_S // 2) for half in range(1, round(made.seconds * 2))),
        config_history=(
            ConfigApplied(
                2, START_NS + 3 * NS_PER_S, {"render_latency_ms": [33.3, 50.0]}, {"render_latency_ms": "next frame"}
            ),
        ),
        started_ns=START_NS,
        ended_ns=end_ns,
        warmup_s=1.0,
        machine={"processor": "Example CPU, 8 cores", "system": "Debian GNU/Linux 13", "kernel": "6.12"},
        tool_version="0.1.0",
        source_text=f"synthetic:1280x720@{made.rate_hz:g}",
        sink_text=f"virtual:{made.refresh_hz:g}",
        started_at="2026-01-02T03:04:05+00:00",
    )
    return replace(run, **changes)


def made_encodes(made: Made, skipped_every: int = 0) -> EncodeArray:
    """Return the encode records of a run's frames: offered when processed, 4 ms to the packet, a key frame in 60."""
    frames = made_frames(made)
    rows = empty_encode_records(len(frames))
    rows["frame_id"] = frames["frame_id"]
    rows["fate"] = EncodeFate.ENCODED
    rows["encode_in_ns"] = frames["process_end_ns"]
    rows["encode_start_ns"] = rows["encode_in_ns"] + 200_000
    rows["encode_out_ns"] = rows["encode_in_ns"] + 4 * NS_PER_MS
    rows["queue_in"] = rows["delay_frames"] = 0
    rows["key_frame"] = rows["frame_id"] % 60 == 0
    rows["bytes_out"] = np.where(rows["key_frame"], 60_000, 9_000)
    if skipped_every:
        skipped = np.arange(skipped_every - 1, len(rows), skipped_every)
        unknown = empty_encode_records(1)
        for name in ("encode_start_ns", "encode_out_ns", "delay_frames", "bytes_out"):
            rows[name][skipped] = unknown[name][0]
        rows["fate"][skipped] = EncodeFate.SKIPPED
    return rows


def made_encoder(**changes: Any) -> EncoderState:
    state = EncoderState("libx264", "libx264, preset p1, tune ull, gives each frame out at once", 1, "out.mp4", "")
    return replace(state, **changes)


def made_decision(governor: str, at_s: float, rate_hz: float | None = 45.0) -> GovernorDecision:
    at_ns = START_NS + round(at_s * NS_PER_S)
    return GovernorDecision(governor, at_ns, f"ceiling {rate_hz} fps", rate_hz, f"{governor} measured <enough>")


def run_of_two_sources(first: Made = Made(), second: Made = Made(rate_hz=30.0, seed=2), **changes: Any) -> RunData:
    """Return a run of two sources in one window; their segments are 0 and 7."""
    run, other = made_run(first), made_frames(second)
    other["source_index"], other["segment"] = 1, 7
    frames = np.concatenate([run.frames, other])
    end_ns = max(run.ended_ns, START_NS + round((second.seconds + 0.2) * NS_PER_S))
    both = replace(
        run,
        frames=frames[np.argsort(frames["arrive_ns"], kind="stable")],
        counters=counters_of(frames),
        segments=(*run.segments, SegmentSpan(7, START_NS, end_ns, START_NS, "first frame", "stopped", 1)),
        more_sources=(made_source(second.rate_hz),),
        more_source_texts=(f"synthetic:1280x720@{second.rate_hz:g}",),
        ended_ns=end_ns,
    )
    return replace(both, **changes)


def run_of_nothing() -> RunData:
    """Return a run that ended before anything was opened."""
    nothing = made_frames(Made(seconds=0.0))
    return made_run(
        frames=nothing,
        counters=counters_of(nothing, repeated=None),
        telemetry=TelemetryTable.empty(),
        segments=(),
        source=None,
        sink_history=(),
        statuses=(),
        events=(),
        config_history=(),
        source_text="",
        sink_text="",
    )


def _segments(made: Made, end_ns: int) -> tuple[SegmentSpan, ...]:
    if not made.stall_after_s:
        return (SegmentSpan(0, START_NS, end_ns, START_NS, "first frame", "stopped"),)
    stalled_ns = START_NS + round(made.stall_after_s * NS_PER_S)
    again_ns = stalled_ns + 2 * NS_PER_S
    return (
        SegmentSpan(0, START_NS, stalled_ns, START_NS, "first frame", "source stalled"),
        SegmentSpan(1, again_ns, end_ns, again_ns, "source goes on", "stopped"),
    )


def _status(at_ns: int) -> EngineStatus:
    return EngineStatus(
        at_ns=at_ns,
        cpu_ratio=0.12 + (at_ns // NS_PER_S % 3) / 100,
        present_thread_cpu_ratio=0.04,
        resident_bytes=90_000_000,
        decode_queue_length=1,
        frame_queue_length=2,
        uploaded_bytes=0,
        record_cost_us=7.5,
    )
