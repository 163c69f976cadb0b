"""Blocks of a run's result beside its metrics: sources, display time, command buffers, governors, encoder."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from app.analysis.encoding import fate_count
from app.analysis.gpu_work import by_command_buffers, gpu_work_statistics
from app.analysis.littles_law import check_littles_law
from app.analysis.loss import cadence, decimated_by_governor, fate_counts, made_up_pictures
from app.analysis.run_data import RunData
from app.analysis.run_sources import (
    MAIN_METRICS,
    RunSource,
    run_source,
    run_sources,
    source_loss_statistics,
    source_statistics,
)
from app.analysis.summary import Missing
from app.core.clock import NS_PER_S
from app.core.encode_records import EncodeFate
from app.core.records import FrameArray
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.export.display_truth import MEANING, display_quality, display_time_label, observed_sources
from app.export.measured_json import measured_objects, sample_counts


def since_start_s(data: RunData, at_ns: int) -> float:
    """Return a time as seconds since the run's start, to the µs."""
    return round((at_ns - data.started_ns) / NS_PER_S, 6)


def sources_block(data: RunData) -> list[dict[str, Any]]:
    """Return every source with its main metrics, its counts by record, its cadence and its check of Little's law."""
    return [_source_block(data, source) for source in run_sources(data)]


def display_time_block(data: RunData) -> dict[str, Any]:
    """Return where display times and the refresh come from, and what they are worth."""
    sink, quality = data.sink, display_quality(data)
    return {
        "source": display_time_label(data),
        "quality": quality,
        "meaning": MEANING[quality],
        "observed": [
            {"source": source.label, "quality": source.quality, "pictures": pictures}
            for source, pictures in observed_sources(data)
        ],
        "refresh_hz": sink.refresh_hz if sink else None,
        "refresh_source": sink.refresh_source if sink else "",
        "paces_fifo": sink.paces_fifo if sink else None,
    }


def command_buffers_block(data: RunData) -> dict[str, Any]:
    """Return what a picture cost to submit and the GPU to draw, under each mode of command buffers that was used."""
    parts = by_command_buffers(data, run_source(data).measured)
    return {
        "mode": data.config.command_buffers,
        "by_mode": {mode: _gpu_work(frames) for mode, frames in parts.items()},
    }


def governors_block(data: RunData) -> dict[str, Any]:
    """Return what the governors decided, and what that did to the frames of all sources."""
    return {
        "decisions": [
            {
                "at_s": since_start_s(data, decision.at_ns),
                "governor": decision.governor,
                "action": decision.action,
                "rate_hz": decision.rate_hz,
                "reason": decision.reason,
            }
            for decision in data.decisions
        ],
        "decimated": _decimated(data.frames),
        "made_up_pictures": made_up_pictures(data.frames),
    }


def encoder_block(data: RunData) -> dict[str, Any]:
    """Return what the encode branch was and what became of the frames offered to it; `missing` without one."""
    rows = data.encodes
    if data.encoder is None and not len(rows):
        return {"missing": "the run has no encode branch"}
    return {
        **(asdict(data.encoder) if data.encoder else {}),
        "frames": {
            "offered": len(rows),
            **{fate.label: fate_count(rows, fate) for fate in EncodeFate},
            "key_frames": int(rows["key_frame"].sum()),
        },
        "bytes_out": int(rows["bytes_out"].sum()),
    }


def littles_law_block(frames: FrameArray) -> dict[str, Any]:
    """Return what Little's law says of the frames of one source."""
    law = check_littles_law(frames)
    if isinstance(law, Missing):
        return {"missing": law.reason}
    return asdict(law) | {"product": law.product, "difference_ratio": law.difference_ratio, "holds": law.holds}


def cadence_block(frames: FrameArray) -> dict[str, int]:
    """Return refreshes shown → pictures."""
    return {str(refreshes): count for refreshes, count in cadence(frames).items()}


def _source_block(data: RunData, source: RunSource) -> dict[str, Any]:
    measured = source_statistics(data, source) | source_loss_statistics(source)
    main = {metric_id: measured[metric_id] for metric_id in MAIN_METRICS}
    counts = fate_counts(source.frames)
    return {
        "index": source.index,
        "text": source.text,
        "info": asdict(source.info) if source.info else None,
        "frames": {
            "settled": sum(counts.values()),
            "displayed": counts[Fate.DISPLAYED],
            "lost": {fate.label: counts[fate] for fate in LOSS_CLASSES},
            "decimated_by": _decimated(source.frames),
            "made_up_pictures": made_up_pictures(source.frames),
        },
        "metrics": measured_objects(main),
        "metric_samples": sample_counts(main),
        "cadence": cadence_block(source.measured),
        "littles_law": littles_law_block(source.measured),
    }


def _decimated(frames: FrameArray) -> dict[str, int]:
    return {governor.label: count for governor, count in decimated_by_governor(frames).items() if governor or count}


def _gpu_work(frames: FrameArray) -> dict[str, Any]:
    return measured_objects(gpu_work_statistics(frames))
