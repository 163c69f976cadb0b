"""Arrow IPC streams that survive a SIGKILL up to their last batch, and their end as Parquet."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

ROW_GROUP_ROWS: Final = 65_536
"""Rows of one Parquet row group; a stream's batches are half a second long, far too small for one each."""


class ArrowStreamFile:
    """An append-only Arrow IPC stream on disk; every append has reached the operating system when it returns.

    Not flushed to the device each time: the loss to guard against is the end of this process, not of the power.

    Raises:
        OSError: the file exists already or cannot be made.
    """

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self._path = path
        path.open("xb").close()
        self._file = pa.OSFile(str(path), "wb")
        self._writer = pa.ipc.new_stream(self._file, schema)
        self.rows = 0

    def append(self, batch: pa.RecordBatch) -> None:
        """Write one batch.

        Raises:
            OSError: the disk is full or gone. The stream is closed and cut back to its last whole batch.
        """
        whole_bytes = self._file.tell()
        try:
            self._writer.write_batch(batch)
        except OSError:
            self._abandon(whole_bytes)
            raise
        self.rows += batch.num_rows

    def close(self) -> None:
        """Write the end mark and close; closing twice does nothing.

        Raises:
            OSError: the disk is full or gone; the batches before are whole.
        """
        if not self._file.closed:
            try:
                self._writer.close()
            finally:
                self._file.close()

    def _abandon(self, whole_bytes: int) -> None:
        with contextlib.suppress(OSError):
            self._file.close()
        with contextlib.suppress(OSError):
            os.truncate(self._path, whole_bytes)


def read_stream(path: Path) -> Iterator[pa.RecordBatch]:
    """Yield the whole batches of a stream, however it ended; nothing of a file cut off in its schema.

    Raises:
        OSError: the file cannot be opened.
    """
    with pa.OSFile(str(path), "rb") as file:
        try:
            with pa.ipc.open_stream(file) as reader:
                yield from reader
        except (pa.ArrowInvalid, OSError, EOFError):  # cut off in the middle of a batch: what came before is whole
            return


def stream_to_parquet(stream: Path, table: Path, schema: pa.Schema) -> int:
    """Write a stream's whole batches as Parquet, remove the stream, and return the rows.

    The table appears whole or not at all, and the stream goes only after it is on the device.

    Raises:
        OSError: it cannot be written; the stream is left as it is.
    """
    rows = batches_to_parquet(read_stream(stream), table, schema)
    stream.unlink()
    return rows


def batches_to_parquet(batches: Iterator[pa.RecordBatch], table: Path, schema: pa.Schema) -> int:
    """Write batches as Parquet, whole or not at all and on the device when this returns; return the rows.

    Raises:
        OSError: it cannot be written.
    """
    temporary = table.with_name(f".{table.name}.part")
    try:
        rows = _write_parquet(batches, temporary, schema)
        _sync(temporary)
        temporary.replace(table)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    return rows


def _write_parquet(batches: Iterator[pa.RecordBatch], path: Path, schema: pa.Schema) -> int:
    rows = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for group in _grouped(batches):
            writer.write_table(pa.Table.from_batches(group, schema), row_group_size=ROW_GROUP_ROWS)
            rows += sum(batch.num_rows for batch in group)
    return rows


def _grouped(batches: Iterator[pa.RecordBatch]) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        group.append(batch)
        held += batch.num_rows
        if held >= ROW_GROUP_ROWS:
            yield group
            group, held = [], 0
    if group:
        yield group


def _sync(path: Path) -> None:
    with path.open("rb+") as file:
        os.fsync(file.fileno())
