"""The sources of a run, each with its own frames: statistics never mix two.

The numbers of a run as a whole are those of its first source; counts of the engine are those of all together.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.analysis.alerts import interval_bands
from app.analysis.frame_intervals import after_warmup, display_intervals, nominal_interval_ms
from app.analysis.frame_statistics import frame_statistics
from app.analysis.loss import decimated_by_governor, fate_counts, lost_of_settled, made_up_pictures
from app.analysis.run_data import RunData
from app.analysis.summary import Measured, Missing, Value, single
from app.core.clock import NS_PER_S
from app.core.encode_records import EncodeArray
from app.core.metrics import metric
from app.core.records import FrameArray
from app.core.vocabulary import LOSS_CLASSES, Governor, PresentMode
from app.ipc.messages import SourceInfo

MAIN_METRICS = (
    "source_to_display_ms",
    "pacing_error_ms",
    "frames_behind",
    "display_interval_ms",
    "present_interval_ms",
    "jitter_sd_ms",
    "jitter_rms_ratio",
    "animation_error_ms",
    "arrival_jitter_ms",
    "fps_average",
    "fps_low_1pct_mean",
    "stutter_time_ratio",
    "display_refreshes",
    "loss_ratio",
)
"""What is said of each of several sources; of the first one everything is said."""


@dataclass(frozen=True, slots=True, eq=False)
class RunSource:
    """One source of a run.

    Attributes:
        index: its number and that of its tile, from 0.
        text: as on the command line, "" when unknown. info: None when it was never opened.
        frames: its records, all of them. measured: those after the warm-up, which statistics are made of.
        warm_ns: end of the warm-up, CLOCK_MONOTONIC.
        nominal_ms: interval of a perfect run; NaN when nothing defines one.
    """

    index: int
    text: str
    info: SourceInfo | None
    frames: FrameArray
    measured: FrameArray
    warm_ns: int
    nominal_ms: float


def source_count(data: RunData) -> int:
    """Return how many sources a run had; at least one."""
    recorded = int(data.frames["source_index"].max(initial=0)) + 1
    return max(1 + len(data.more_source_texts), 1 + len(data.more_sources), recorded)


def run_sources(data: RunData) -> tuple[RunSource, ...]:
    """Return every source of a run in the order of their tiles."""
    return tuple(run_source(data, index) for index in range(source_count(data)))


def run_source(data: RunData, index: int = 0) -> RunSource:
    """Return one source of a run; the first is the run's headline."""
    frames = source_frames(data, index)
    texts, infos = (data.source_text, *data.more_source_texts), (data.source, *data.more_sources)
    first_ns = next((span.t0_ns for span in data.segments if span.source_index == index), data.started_ns)
    return RunSource(
        index,
        texts[index] if index < len(texts) else "",
        infos[index] if index < len(infos) else None,
        frames,
        after_warmup(frames, first_ns, data.warmup_s),
        first_ns + round(data.warmup_s * NS_PER_S),
        _nominal_ms(data, frames),
    )


def source_frames(data: RunData, index: int) -> FrameArray:
    """Return the records of one source."""
    of_source = data.frames["source_index"] == index
    frames: FrameArray = data.frames if of_source.all() else data.frames[of_source]
    return frames


def source_statistics(data: RunData, source: RunSource) -> dict[str, Measured]:
    """Return every metric that one source's frame records give, by id."""
    return {
        **frame_statistics(source.measured, source.nominal_ms),
        **_band_statistics(data, source),
        **decimation_statistics(source.frames),
    }


def source_loss_statistics(source: RunSource) -> dict[str, Measured]:
    """Return counts by class, by record, and the share lost of all whose fate is known.

    What one of several sources has in flight is not known, so its share is of the frames that were settled.
    """
    counts = fate_counts(source.frames)
    settled = sum(counts.values())
    lost: dict[str, Measured] = {f"loss.{fate.label}": Value(counts[fate]) for fate in LOSS_CLASSES}
    return lost | {"loss_ratio": single(lost_of_settled(counts), settled, metric("loss_ratio").missing)}


def decimation_statistics(frames: FrameArray) -> dict[str, Measured]:
    """Return how many frames each governor had left out, and how many pictures were made up in their place."""
    if not len(frames):
        ids = [f"decimated.{governor.label}" for governor in Governor if governor] + ["made_up_pictures"]
        return {metric_id: Missing(metric(metric_id).missing) for metric_id in ids}
    counts = decimated_by_governor(frames)
    return {
        **{f"decimated.{governor.label}": Value(counts[governor]) for governor in Governor if governor},
        "made_up_pictures": Value(made_up_pictures(frames)),
    }


def measured_encodes(data: RunData, source: RunSource) -> EncodeArray:
    """Return the encode records of one source after its warm-up."""
    rows = data.encodes
    kept: EncodeArray = rows[(rows["source_index"] == source.index) & (rows["encode_in_ns"] >= source.warm_ns)]
    return kept


def _nominal_ms(data: RunData, frames: FrameArray) -> float:
    sink = data.sink
    granted = PresentMode(sink.present_mode_granted) if sink and sink.present_mode_granted else None
    return nominal_interval_ms(
        frames,
        refresh_hz=sink.refresh_hz if sink else None,
        present_mode=granted,
        preview_fps=data.config.preview_fps,
    )


def _band_statistics(data: RunData, source: RunSource) -> dict[str, Measured]:
    bands = interval_bands(display_intervals(source.measured).interval_ms, source.nominal_ms, data.config.alerts)
    ids = {name: f"interval_band_ratio.{name}" for name in ("low", "middle", "high")}
    return {row: single(getattr(bands, name), bands.n, metric(row).missing) for name, row in ids.items()}
