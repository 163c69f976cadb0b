"""Encode records as Arrow columns, and out of a run's journal, where the engine's messages put them."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa

from app.core.clock import NO_STAMP_NS
from app.core.encode_records import ENCODE_DTYPE, ENCODE_STAMP_FIELDS, EncodeArray, EncodeFate
from app.core.records import MISSING_COUNT
from app.ipc.messages import EncodeRecords
from app.session.journal import JournalLine
from app.session.record_table import RecordTable

_TABLE: Final = RecordTable(
    ENCODE_DTYPE,
    missing={
        **dict.fromkeys(ENCODE_STAMP_FIELDS, NO_STAMP_NS),
        **dict.fromkeys(("queue_in", "delay_frames"), MISSING_COUNT),
    },
    codes={"fate": {fate.value: fate.label for fate in EncodeFate}},
    metadata={"clock": "CLOCK_MONOTONIC, ns"},
)

ENCODE_SCHEMA: Final[pa.Schema] = _TABLE.schema


def encodes_to_batch(rows: EncodeArray) -> pa.RecordBatch:
    """Return records as one Arrow batch of `ENCODE_SCHEMA`."""
    return _TABLE.to_batch(rows)


def batches_to_encodes(batches: Iterable[pa.RecordBatch]) -> EncodeArray:
    """Return Arrow batches as records, order kept; NULL becomes the record's own mark for missing.

    Raises:
        ValueError: a column of `ENCODE_DTYPE` is not there or has another type.
    """
    return _TABLE.from_batches(batches)


def journal_encodes(lines: Iterable[JournalLine]) -> Iterator[pa.RecordBatch]:
    """Yield the encode records of a journal, one batch a message."""
    for line in lines:
        if isinstance(line.entry, EncodeRecords):
            yield encodes_to_batch(np.frombuffer(base64.b64decode(line.entry.data), ENCODE_DTYPE))
