"""Fixed-size records as Arrow: the schema follows from the record's dtype, so its layout is listed in one place only.

A missing stamp or count is NULL. Closed sets stay integers, as in the record, and their names are in the field's
metadata under `codes` (a JSON object, code → name): an integer column survives every tool, streams without dictionary
batches, and never renumbers. Units are in the field names, the clock is in the schema's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

RecordArray = npt.NDArray[np.void]
"""1-D array of a structured dtype."""

Codes = Mapping[str, Mapping[int, str]]
"""Field → code → name."""


class RecordTable:
    """How records of one dtype become Arrow columns and come back bit for bit.

    Args:
        dtype: of the records.
        missing: field → what missing looks like in the record; a field that is not here is never missing.
        codes: names of the codes of closed sets.
        metadata: of the schema.

    Attributes:
        schema: Arrow's.
    """

    def __init__(
        self,
        dtype: np.dtype[np.void],
        missing: Mapping[str, int],
        codes: Codes,
        metadata: dict[bytes | str, bytes | str],
    ) -> None:
        self._dtype = dtype
        self._missing = missing
        fields = [self._field(name, codes.get(name)) for name in dtype.names or ()]
        self.schema: pa.Schema = pa.schema(fields, metadata=metadata)

    def to_batch(self, records: RecordArray) -> pa.RecordBatch:
        """Return records as one Arrow batch of the schema."""
        return pa.record_batch([self._column(records, name) for name in self.schema.names], schema=self.schema)

    def from_batches(self, batches: Iterable[pa.RecordBatch]) -> RecordArray:
        """Return Arrow batches as records, order kept; NULL becomes the record's own mark for missing.

        Raises:
            ValueError: a column of the dtype is not there or has another type.
        """
        held = list(batches)
        records = np.empty(sum(batch.num_rows for batch in held), self._dtype)
        start = 0
        for batch in held:
            self._copy_batch(batch, records[start : start + batch.num_rows])
            start += batch.num_rows
        return records

    def _field(self, name: str, names: Mapping[int, str] | None) -> pa.Field[Any]:
        metadata = None if names is None else {"codes": json.dumps({str(code): text for code, text in names.items()})}
        return pa.field(name, pa.from_numpy_dtype(self._dtype[name]), name in self._missing, metadata)

    def _column(self, records: RecordArray, name: str) -> pa.Array[Any]:
        values = np.ascontiguousarray(records[name])
        mask = values == self._missing[name] if name in self._missing else None
        column: pa.Array[Any] = pa.array(values, type=self.schema.field(name).type, mask=mask)
        return column

    def _copy_batch(self, batch: pa.RecordBatch, target: RecordArray) -> None:
        for name in self.schema.names:
            wanted = self.schema.field(name).type
            index = batch.schema.get_field_index(name)
            if index < 0 or batch.schema.field(index).type != wanted:
                raise ValueError(f"column {name} of type {wanted} is not in this recording")
            column = batch.column(index)
            filled = column.fill_null(self._missing[name]) if name in self._missing else column
            target[name] = filled.to_numpy(zero_copy_only=False)
