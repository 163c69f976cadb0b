"""The frame record: one fixed-size row a frame, written once when its fate is known.

The layout is versioned: `FRAME_RECORD_VERSION` rises with every change, is written into the ring header and into a
recording's manifest, and a reader refuses another version instead of guessing.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from app.core.clock import NO_STAMP_NS

FRAME_RECORD_VERSION: Final = 2

STAMP_FIELDS: Final[tuple[str, ...]] = (
    "arrive_ns",
    "decode_start_ns",
    "decode_end_ns",
    "process_start_ns",
    "process_end_ns",
    "due_ns",
    "acquire_start_ns",
    "acquire_end_ns",
    "submit_ns",
    "gpu_start_ns",
    "gpu_end_ns",
    "present_call_ns",
    "present_return_ns",
    "displayed_ns",
)
"""Stamps in pipeline order: int64 ns of CLOCK_MONOTONIC, `NO_STAMP_NS` when the frame never got there.

`due_ns` is the target, not an observation; a free-running source has none.
"""

FLAG_LATE_SHOWN: Final = 1
"""Displayed more than half a refresh after its due time (lateness class `late_shown`; not a loss)."""

FLAG_KEY_FRAME: Final = 2
"""The source coded this frame as a key frame."""

FLAG_INTERPOLATED: Final = 4
"""A picture made up from its neighbours was shown in the place of this frame.

The frame itself was dropped on purpose (`decimated`); stamps from acquire on are those of the made-up picture.
"""

COUNT_FIELDS: Final[tuple[str, ...]] = (
    "image_index",
    "decode_queue_in",
    "decode_queue_out",
    "frame_queue_in",
    "frame_queue_out",
    "refreshes",
)
"""Counts and indexes, `MISSING_COUNT` when unknown."""

MISSING_COUNT: Final = -1
"""What a missing count (queue length, image index, refreshes) looks like."""

FRAME_LAYOUT: Final[tuple[tuple[str, str], ...]] = (
    ("frame_id", "Q"),
    ("segment", "I"),
    ("config_serial", "I"),
    ("fate", "B"),
    ("flags", "B"),
    ("present_mode_requested", "B"),
    ("present_mode_granted", "B"),
    ("display_time_source", "B"),
    ("governor", "B"),
    ("image_index", "b"),
    ("decode_queue_in", "h"),
    ("decode_queue_out", "h"),
    ("frame_queue_in", "h"),
    ("frame_queue_out", "h"),
    ("source_index", "h"),
    ("refreshes", "i"),
    ("source_interval_ns", "q"),
    ("bytes_uploaded", "q"),
    ("submit_cpu_ns", "q"),
    ("interpolation_ns", "q"),
    ("pts_ns", "q"),
    *((name, "q") for name in STAMP_FIELDS),
)
"""Fields in order with their type as a `struct` code; the one source of `FRAME_DTYPE` and of the engine's frame."""

DURATION_FIELDS: Final[tuple[str, ...]] = ("pts_ns", "source_interval_ns", "submit_cpu_ns", "interpolation_ns")
"""Times that are no stamps; `NO_STAMP_NS` when missing too."""

_NUMPY_CODES: Final = {"Q": "<u8", "q": "<i8", "I": "<u4", "i": "<i4", "H": "<u2", "h": "<i2", "B": "u1", "b": "i1"}

FRAME_DTYPE: Final[np.dtype[np.void]] = np.dtype([(name, _NUMPY_CODES[code]) for name, code in FRAME_LAYOUT])
"""One frame: little-endian, without padding.

Fields that are not stamps:
    frame_id: position of the frame in what the source delivered in this run, from 0; never reused.
    segment: serial of the segment; no statistic spans two.
    config_serial: serial of the configuration in force when the frame's fate was decided.
    fate: `vocabulary.Fate`. flags: FLAG_* bits.
    present_mode_requested, present_mode_granted: `PRESENT_MODE_CODES`, 0 when never presented.
    display_time_source: `vocabulary.DisplayTimeSource`.
    governor: `vocabulary.Governor`, who asked for a lower rate when the frame was decimated; 0 otherwise.
    image_index: swapchain image, -1 when never acquired.
    decode_queue_in, decode_queue_out, frame_queue_in, frame_queue_out: queue length found at entry and left at exit.
    source_index: which of several sources, from 0.
    refreshes: refreshes the frame stayed on the screen, -1 when unknown (no refresh known, last frame of a segment).
    source_interval_ns: nominal interval of the source, `NO_STAMP_NS` when unknown or free-running.
    bytes_uploaded: bytes copied to the device for this frame; 0 where nothing was copied, which is a fact.
    submit_cpu_ns: CPU time of the present thread from the beginning of the recording to the end of `vkQueueSubmit`;
        `NO_STAMP_NS` when nothing was submitted.
    interpolation_ns: GPU time of the passes that made this picture up; `NO_STAMP_NS` when it was not.
    pts_ns: presentation time in the source, from 0 at the segment's first frame; `NO_STAMP_NS` when it has none.
"""

FrameArray = npt.NDArray[np.void]
"""1-D array of `FRAME_DTYPE`."""


def empty_frames(count: int) -> FrameArray:
    """Return `count` records in which everything is missing: the starting point of tests and importers."""
    frames = np.zeros(count, FRAME_DTYPE)
    for name in (*STAMP_FIELDS, *DURATION_FIELDS):
        frames[name] = NO_STAMP_NS
    for name in COUNT_FIELDS:
        frames[name] = MISSING_COUNT
    return frames


def difference_ms(later: npt.NDArray[np.int64], earlier: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """Return `later - earlier` in ms, float64, NaN where either stamp is missing."""
    valid = (later != NO_STAMP_NS) & (earlier != NO_STAMP_NS)
    result = np.full(later.shape, np.nan)
    np.divide(later - earlier, 1e6, out=result, where=valid)
    return result
