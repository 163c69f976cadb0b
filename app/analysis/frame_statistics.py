"""Every metric that frame records alone give, over any slice of them: a whole run, or the window of a live tile."""

from __future__ import annotations

from app.analysis import jitter, rates
from app.analysis.bandwidth import upload_bandwidth
from app.analysis.frame_intervals import IntervalSeries, display_intervals, present_intervals
from app.analysis.gpu_work import gpu_work_statistics
from app.analysis.latency import animation_error_ms, frames_behind, pacing_error_ms, source_to_display_ms, stage_ms
from app.analysis.loss import display_refreshes
from app.analysis.summary import Measured, single, summarise
from app.core.metrics import metric
from app.core.records import FrameArray


def frame_statistics(frames: FrameArray, nominal_ms: float) -> dict[str, Measured]:
    """Return every metric of the frame records, by id; what cannot be told is `Missing` with its reason.

    Args:
        frames: any slice of records of one source, in any order.
        nominal_ms: the interval of a perfect run (`nominal_interval_ms`); NaN when nothing defines one.
    """
    shown = display_intervals(frames)
    per_frame = {
        "present_interval_ms": present_intervals(frames).interval_ms,
        "display_interval_ms": shown.interval_ms,
        "source_to_display_ms": source_to_display_ms(frames),
        "pacing_error_ms": pacing_error_ms(frames),
        "frames_behind": frames_behind(frames),
        "animation_error_ms": animation_error_ms(frames),
        **stage_ms(frames),
        "display_refreshes": display_refreshes(frames),
        "upload_bandwidth_bytes_per_s": upload_bandwidth(frames).bytes_per_s,
    }
    summaries: dict[str, Measured] = {
        metric_id: summarise(samples, _nothing_known(metric_id, len(frames)))
        for metric_id, samples in per_frame.items()
    }
    return {
        **summaries,
        **interval_statistics(shown, nominal_ms),
        **arrival_statistics(frames),
        **gpu_work_statistics(frames),
    }


def interval_statistics(shown: IntervalSeries, nominal_ms: float) -> dict[str, Measured]:
    """Return the single values that display intervals give: jitter, frame rates, stutter."""
    interval_ms = shown.interval_ms
    values = {
        "jitter_sd_ms": jitter.jitter_sd_ms(interval_ms),
        "jitter_rms_ratio": jitter.jitter_rms_ratio(interval_ms, nominal_ms),
        "adaptive_sd_ms": jitter.adaptive_sd_ms(shown),
        "fps_average": rates.fps_average(interval_ms),
        "fps_p1": rates.fps_p1(interval_ms),
        "fps_low_1pct_mean": rates.fps_low_1pct_mean(interval_ms),
        "fps_low_1pct_time": rates.fps_low_1pct_time(interval_ms),
        "stutter_time_ratio": jitter.stutter_time_ratio(shown),
    }
    return {
        metric_id: single(value, len(interval_ms), _reason(metric_id, len(interval_ms)))
        for metric_id, value in values.items()
    }


def arrival_statistics(frames: FrameArray) -> dict[str, Measured]:
    """Return the source's arrival jitter."""
    row = metric("arrival_jitter_ms")
    return {row.id: single(jitter.arrival_jitter_ms(frames), jitter.arrivals_counted(frames), row.missing)}


def _nothing_known(metric_id: str, count: int) -> str:
    return f"of none of {count} frames: {metric(metric_id).missing}" if count else "no frames"


def _reason(metric_id: str, n: int) -> str:
    if n < 2:
        return f"needs two display intervals, there are {n}"
    return f"{metric(metric_id).missing}, there are {n}" if metric_id == "fps_p1" else metric(metric_id).missing
