"""Opening a run directory: finished, cut off by a crash, or still being written."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from app.analysis.run_data import RunData
from app.config.store import load_config
from app.core.encode_records import EncodeArray
from app.core.errors import RecordingError
from app.core.records import FrameArray
from app.ipc.frame_ring import FrameCounters
from app.session import run_directory as names
from app.session.arrow_stream import batches_to_parquet, read_stream, stream_to_parquet
from app.session.encode_table import ENCODE_SCHEMA, batches_to_encodes, journal_encodes
from app.session.frame_table import FRAME_SCHEMA, batches_to_frames
from app.session.journal import read_journal
from app.session.journal_file import try_lock
from app.session.manifest import Manifest, RecordingState
from app.session.run_assembly import agreeing_counters, assemble_run
from app.session.run_history import RunHistory
from app.session.telemetry_columns import TELEMETRY_SCHEMA, batches_to_table


def open_recording(directory: Path, *, recover: bool = True) -> RunData:
    """Return the run that a directory holds.

    A recording whose writer was killed keeps every row up to its last flush: its streams are read as far as they are
    whole. It is then finalised on disk, so that the next open is quick, unless its writer still lives, the folder
    cannot be written, or `recover` is False; the notices say which.

    Raises:
        RecordingError: the folder holds no recording, or none that this version can read.
        InvalidInputError: its VeoConfig.json was edited into something invalid.
    """
    manifest = Manifest.read(directory)
    try:
        if manifest.state is RecordingState.RECORDING:
            manifest = _settle(directory, manifest, recover=recover)
        return _load(directory, manifest)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise RecordingError(f"the recording in {directory} cannot be read: {error}") from error


def finalise(directory: Path, manifest: Manifest, state: RecordingState) -> Manifest:
    """Turn a recording's streams and encode records into Parquet, write its last manifest, and return that.

    The same steps end a run in order and recover one that was cut off; they may be repeated after a kill at any point.

    Raises:
        OSError: something cannot be written; the streams that were not turned yet are left as they are.
    """
    rows = {
        "frame_rows": _finish_table(directory, names.FRAME_STREAM, names.FRAME_TABLE, FRAME_SCHEMA),
        "telemetry_rows": _finish_table(directory, names.TELEMETRY_STREAM, names.TELEMETRY_TABLE, TELEMETRY_SCHEMA),
    }
    history = read_history(directory)
    rows["encode_rows"] = _finish_encodes(directory, history)
    facts = _closing_facts(history, agreeing_counters(history.counters, _frames(directory), history.lapped))
    final = manifest.model_copy(update={"state": state, **rows, **facts})
    final.write(directory)
    return final


def read_history(directory: Path) -> RunHistory:
    """Return what a recording's journal tells; an empty history where it has none."""
    history = RunHistory()
    with contextlib.suppress(FileNotFoundError):
        for received_ns, entry in read_journal(directory / names.EVENTS):
            history.apply(received_ns, entry)
    return history


def _settle(directory: Path, manifest: Manifest, *, recover: bool) -> Manifest:
    """Recover a recording that no end was written for, where that is right and possible."""
    with _writer_lock(directory) as is_free:
        if not is_free:
            return _noticed(manifest, "still being written: this is a snapshot")
        cut = _noticed(manifest, "recovered: its writer was ended in the middle; rows after the last flush are missing")
        if not recover:
            return cut
        try:
            return finalise(directory, cut, RecordingState.RECOVERED)
        except OSError as error:
            return _noticed(cut, f"recovered in memory only, its folder cannot be written ({error.strerror or error})")


@contextlib.contextmanager
def _writer_lock(directory: Path) -> Iterator[bool]:
    try:
        file = (directory / names.EVENTS).open("rb")
    except OSError:  # no journal, or not ours to read: nobody writes it
        yield True
        return
    with file:
        yield try_lock(file)


def _noticed(manifest: Manifest, notice: str) -> Manifest:
    return manifest.model_copy(update={"notices": (*manifest.notices, notice)})


def _load(directory: Path, manifest: Manifest) -> RunData:
    history, frames = read_history(directory), _frames(directory)
    config = load_config(directory / names.CONFIG).config
    telemetry = batches_to_table(list(_batches(directory, names.TELEMETRY_STREAM, names.TELEMETRY_TABLE)))
    run = assemble_run(manifest, history, config, frames, telemetry, history.counters)
    return replace(run, encodes=_encodes(directory, history))


def _frames(directory: Path) -> FrameArray:
    return batches_to_frames(list(_batches(directory, names.FRAME_STREAM, names.FRAME_TABLE)))


def _encodes(directory: Path, history: RunHistory) -> EncodeArray:
    """Return every encode record: a history in memory keeps no more than an hour of them."""
    table = directory / names.ENCODE_TABLE
    if table.exists():
        with pq.ParquetFile(table) as file:
            return batches_to_encodes(file.iter_batches())
    if not len(history.encodes):
        return history.encodes
    return batches_to_encodes(journal_encodes(read_journal(directory / names.EVENTS)))


def _batches(directory: Path, stream: str, table: str) -> Iterator[pa.RecordBatch]:
    """Yield rows from the finished table where there is one, else from the stream."""
    if (directory / table).exists():
        with pq.ParquetFile(directory / table) as file:
            yield from file.iter_batches()
    elif (directory / stream).exists():
        yield from read_stream(directory / stream)


def _finish_table(directory: Path, stream: str, table: str, schema: pa.Schema) -> int:
    if (directory / table).exists():  # a finalisation was cut off after this table
        (directory / stream).unlink(missing_ok=True)
        return int(pq.read_metadata(directory / table).num_rows)
    if not (directory / stream).exists():
        return 0
    return stream_to_parquet(directory / stream, directory / table, schema)


def _finish_encodes(directory: Path, history: RunHistory) -> int:
    """Make the table of encode records; a run without an encode branch gets none. The journal keeps its own copy."""
    table = directory / names.ENCODE_TABLE
    if table.exists():
        return int(pq.read_metadata(table).num_rows)
    if not len(history.encodes):
        return 0
    return batches_to_parquet(journal_encodes(read_journal(directory / names.EVENTS)), table, ENCODE_SCHEMA)


def _closing_facts(history: RunHistory, counters: FrameCounters) -> dict[str, Any]:
    return {
        "ended_ns": history.ended_ns or history.last_ns,
        "failure": history.failure,
        "source": None if history.source is None else asdict(history.source),
        "sinks": [{"at_ns": at_ns, **asdict(sink)} for at_ns, sink in history.sinks],
        "segments": [asdict(span) for span in history.segments],
        "counters": {**asdict(counters), "lost": {fate.label: count for fate, count in counters.lost.items()}},
        "lapped_records": history.lapped,
    }
