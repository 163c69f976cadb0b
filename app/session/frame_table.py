"""Frame records as Arrow columns."""

from __future__ import annotations

from typing import Final

import pyarrow as pa

from app.core.clock import NO_STAMP_NS
from app.core.records import (
    COUNT_FIELDS,
    DURATION_FIELDS,
    FLAG_INTERPOLATED,
    FLAG_KEY_FRAME,
    FLAG_LATE_SHOWN,
    FRAME_DTYPE,
    FRAME_RECORD_VERSION,
    MISSING_COUNT,
    STAMP_FIELDS,
    FrameArray,
)
from app.core.vocabulary import PRESENT_MODE_BY_CODE, DisplayTimeSource, Fate, Governor
from app.session.record_table import RecordTable

_PRESENT_MODE_NAMES: Final = {0: "not_presented", **{code: str(mode) for code, mode in PRESENT_MODE_BY_CODE.items()}}

_TABLE: Final = RecordTable(
    FRAME_DTYPE,
    missing={
        **dict.fromkeys((*STAMP_FIELDS, *DURATION_FIELDS), NO_STAMP_NS),
        **dict.fromkeys(COUNT_FIELDS, MISSING_COUNT),
    },
    codes={
        "fate": {fate.value: fate.label for fate in Fate},
        "flags": {FLAG_LATE_SHOWN: "late_shown", FLAG_KEY_FRAME: "key_frame", FLAG_INTERPOLATED: "interpolated"},
        "present_mode_requested": _PRESENT_MODE_NAMES,
        "present_mode_granted": _PRESENT_MODE_NAMES,
        "governor": {governor.value: governor.label for governor in Governor},
        "display_time_source": {source.value: source.label for source in DisplayTimeSource},
    },
    metadata={"veotuner_frame_record_version": str(FRAME_RECORD_VERSION), "clock": "CLOCK_MONOTONIC, ns"},
)

FRAME_SCHEMA: Final[pa.Schema] = _TABLE.schema


def frames_to_batch(frames: FrameArray) -> pa.RecordBatch:
    """Return records as one Arrow batch of `FRAME_SCHEMA`."""
    return _TABLE.to_batch(frames)


def batches_to_frames(batches: list[pa.RecordBatch]) -> FrameArray:
    """Return Arrow batches as records, order kept; NULL becomes the record's own mark for missing.

    Raises:
        ValueError: a column of `FRAME_DTYPE` is not there or has another type.
    """
    return _TABLE.from_batches(batches)
