"""What a picture costs to record and submit, and what the GPU takes for it: one sample a picture."""

from __future__ import annotations

import numpy as np

from app.analysis.array_types import FloatArray
from app.analysis.run_data import RunData
from app.analysis.summary import Measured, summarise
from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.core.metrics import metric
from app.core.records import FrameArray, difference_ms

_NS_PER_US = 1000


def submit_cpu_us(frames: FrameArray) -> FloatArray:
    """Return CPU time per record from the beginning of recording to the end of `vkQueueSubmit`, µs; NaN without one.

    With several sources one submit serves all that are new in a picture, so each has the picture's whole time.
    """
    return _known(frames["submit_cpu_ns"], _NS_PER_US)


def gpu_us(frames: FrameArray) -> FloatArray:
    """Return the time from the first to the last GPU timestamp per record, µs; NaN where the GPU stamped nothing."""
    return difference_ms(frames["gpu_end_ns"], frames["gpu_start_ns"]) * 1e3


def interpolation_ms(frames: FrameArray) -> FloatArray:
    """Return GPU time of the passes that made a picture up, per record, ms; NaN where none was made up."""
    return _known(frames["interpolation_ns"], NS_PER_MS)


def gpu_work_statistics(frames: FrameArray) -> dict[str, Measured]:
    """Return the metrics of the group by id."""
    samples = {
        "submit_cpu_us": submit_cpu_us(frames),
        "gpu_us": gpu_us(frames),
        "interpolation_ms": interpolation_ms(frames),
    }
    return {metric_id: summarise(values, metric(metric_id).missing) for metric_id, values in samples.items()}


def by_command_buffers(data: RunData, frames: FrameArray) -> dict[str, FrameArray]:
    """Return the frames of a run by the `command_buffers` mode in force, in order of their first use.

    A frame that was under way when the mode changed counts with the mode in force when its fate was decided.
    """
    serials = frames["config_serial"]
    begins, modes = _mode_changes(data)
    mode_of_frame = np.searchsorted(begins, serials, side="right")
    parts: dict[str, FrameArray] = {}
    for number in np.unique(mode_of_frame):
        mode, rows = modes[number], frames[mode_of_frame == number]
        parts[mode] = np.concatenate([parts[mode], rows]) if mode in parts else rows
    return parts


def _mode_changes(data: RunData) -> tuple[list[int], list[str]]:
    """Return the configuration serials at which the mode changed, and the modes before, between and behind them."""
    changes = [change for change in data.config_history if "command_buffers" in change.changes]
    if not changes:
        return [], [data.config.command_buffers]
    modes = [str(change.changes["command_buffers"][1]) for change in changes]
    return [change.config_serial for change in changes], [str(changes[0].changes["command_buffers"][0]), *modes]


def _known(duration_ns: np.ndarray[tuple[int], np.dtype[np.int64]], unit_ns: int) -> FloatArray:
    return np.where(duration_ns == NO_STAMP_NS, np.nan, duration_ns / unit_ns)
