"""Frame records as Arrow: the schema is derived from `FRAME_DTYPE`, so the record layout is listed in one place only.

A missing stamp or count is NULL. Closed sets stay integers, as in the record, and their names are in the field's
metadata under `codes` (a JSON object, code → name): an integer column survives every tool, streams without dictionary
batches, and never renumbers. Units are in the field names, the clock is in the schema's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
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

_MISSING: Final[Mapping[str, int]] = {
    **dict.fromkeys((*STAMP_FIELDS, *DURATION_FIELDS), NO_STAMP_NS),
    **dict.fromkeys(COUNT_FIELDS, MISSING_COUNT),
}
"""What missing looks like in the record, by field; a field that is not here is never missing."""

_PRESENT_MODE_NAMES: Final = {0: "not_presented", **{code: str(mode) for code, mode in PRESENT_MODE_BY_CODE.items()}}

_CODES: Final[Mapping[str, Mapping[int, str]]] = {
    "fate": {fate.value: fate.label for fate in Fate},
    "flags": {FLAG_LATE_SHOWN: "late_shown", FLAG_KEY_FRAME: "key_frame", FLAG_INTERPOLATED: "interpolated"},
    "present_mode_requested": _PRESENT_MODE_NAMES,
    "present_mode_granted": _PRESENT_MODE_NAMES,
    "governor": {governor.value: governor.label for governor in Governor},
    "display_time_source": {source.value: source.label for source in DisplayTimeSource},
}


def _field(name: str) -> pa.Field[Any]:
    names = _CODES.get(name)
    metadata = None if names is None else {"codes": json.dumps({str(code): text for code, text in names.items()})}
    return pa.field(name, pa.from_numpy_dtype(FRAME_DTYPE[name]), name in _MISSING, metadata)


FRAME_SCHEMA: Final[pa.Schema] = pa.schema(
    [_field(name) for name in FRAME_DTYPE.names or ()],
    metadata={"veotuner_frame_record_version": str(FRAME_RECORD_VERSION), "clock": "CLOCK_MONOTONIC, ns"},
)


def frames_to_batch(frames: FrameArray) -> pa.RecordBatch:
    """Return records as one Arrow batch of `FRAME_SCHEMA`."""
    return pa.record_batch([_column(frames, name) for name in FRAME_SCHEMA.names], schema=FRAME_SCHEMA)


def batches_to_frames(batches: list[pa.RecordBatch]) -> FrameArray:
    """Return Arrow batches as records, order kept; NULL becomes the record's own mark for missing.

    Raises:
        ValueError: a column of `FRAME_DTYPE` is not there or has another type.
    """
    frames = np.empty(sum(batch.num_rows for batch in batches), FRAME_DTYPE)
    start = 0
    for batch in batches:
        _copy_batch(batch, frames[start : start + batch.num_rows])
        start += batch.num_rows
    return frames


def _column(frames: FrameArray, name: str) -> pa.Array[Any]:
    values = np.ascontiguousarray(frames[name])
    mask = values == _MISSING[name] if name in _MISSING else None
    column: pa.Array[Any] = pa.array(values, type=FRAME_SCHEMA.field(name).type, mask=mask)
    return column


def _copy_batch(batch: pa.RecordBatch, target: FrameArray) -> None:
    for name in FRAME_SCHEMA.names:
        index = batch.schema.get_field_index(name)
        if index < 0 or batch.schema.field(index).type != FRAME_SCHEMA.field(name).type:
            raise ValueError(f"column {name} of type {FRAME_SCHEMA.field(name).type} is not in this recording")
        column = batch.column(index)
        filled = column.fill_null(_MISSING[name]) if name in _MISSING else column
        target[name] = filled.to_numpy(zero_copy_only=False)
