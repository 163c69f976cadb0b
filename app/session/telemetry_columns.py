"""Telemetry readings as Arrow and as the table that analysis works on; NULL is NaN is missing, with its reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa

from app.analysis.run_data import TelemetryTable, TextArray
from app.telemetry.provider import Reading

_FIELDS: Final[list[pa.Field[Any]]] = [
    pa.field("at_ns", pa.int64(), nullable=False),
    pa.field("provider", pa.string(), nullable=False),
    pa.field("device", pa.string(), nullable=False),
    pa.field("metric", pa.string(), nullable=False),
    pa.field("value", pa.float64()),
    pa.field("reason", pa.string(), nullable=False),
    pa.field("cost_us", pa.float64()),
]

TELEMETRY_SCHEMA: Final[pa.Schema] = pa.schema(
    _FIELDS,
    metadata={"clock": "CLOCK_MONOTONIC, ns", "value": "in the unit that the metric's id names; NULL when missing"},
)


def readings_to_batch(readings: Sequence[Reading]) -> pa.RecordBatch:
    """Return readings as one Arrow batch of `TELEMETRY_SCHEMA`."""
    columns = [[getattr(reading, name) for reading in readings] for name in TELEMETRY_SCHEMA.names]
    arrays = [
        pa.array(column, type=field.type, from_pandas=True)  # from_pandas: NaN becomes NULL
        for column, field in zip(columns, TELEMETRY_SCHEMA, strict=True)
    ]
    return pa.record_batch(arrays, schema=TELEMETRY_SCHEMA)


def batches_to_table(batches: Sequence[pa.RecordBatch]) -> TelemetryTable:
    """Return Arrow batches as a table, order kept.

    Raises:
        ValueError: a column is not there.
    """
    if not batches:
        return TelemetryTable.empty()
    table = pa.Table.from_batches(list(batches))
    missing = set(TELEMETRY_SCHEMA.names) - set(table.column_names)
    if missing:
        raise ValueError(f"telemetry columns missing in this recording: {', '.join(sorted(missing))}")
    return TelemetryTable(
        at_ns=table["at_ns"].to_numpy(),
        provider=_texts(table["provider"]),
        device=_texts(table["device"]),
        metric=_texts(table["metric"]),
        value=_numbers(table["value"]),
        reason=_texts(table["reason"]),
        cost_us=_numbers(table["cost_us"]),
    )


def readings_to_table(readings: Sequence[Reading]) -> TelemetryTable:
    """Return readings held in memory as a table."""
    return batches_to_table([readings_to_batch(readings)])


def _texts(column: pa.ChunkedArray[Any]) -> TextArray:
    return np.array(column.to_pylist(), np.object_)


def _numbers(column: pa.ChunkedArray[Any]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array(column.to_numpy(), np.float64)  # NULL arrives as NaN
