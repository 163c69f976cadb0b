"""Writes a run to its directory from a thread of its own, with a place of its own in the frame ring.

The frame path knows nothing of it: the engine writes into shared memory and never waits. A recorder that is too slow
is lapped and says so; one whose disk is full stops and says so; the run goes on in both cases.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Final, TypeVar

from app.config.atomic_file import write_atomically
from app.config.store import render_config
from app.config.veoconfig import VeoConfig
from app.core.errors import RecordingError
from app.ipc.frame_ring import FrameCounters, FrameRingReader
from app.session import run_directory as names
from app.session.arrow_stream import ArrowStreamFile
from app.session.frame_table import FRAME_SCHEMA, frames_to_batch
from app.session.journal import Entry, JournalLine, RecordedCounters, RunEnded
from app.session.journal_file import JournalFile
from app.session.manifest import Manifest, RecordingState
from app.session.recording import finalise
from app.session.run_directory import create_run_directory
from app.session.telemetry_columns import TELEMETRY_SCHEMA, readings_to_batch
from app.telemetry.sampler import TelemetryFeed

T = TypeVar("T")

FLUSH_PERIOD_S: Final = 0.4
"""At least twice a second, with room for a busy machine."""


class Recorder:
    """Records one run. All methods may be called from any thread; files are touched by the writer thread only.

    Args:
        directory: made here; refused when it holds a recording.
        manifest: what is known at the start.
        config: written as the recording's VeoConfig.json.
        on_failure: told once, on the writer thread, why recording stopped.

    Raises:
        RecordingError: nothing can be recorded there.
    """

    def __init__(
        self, directory: Path, manifest: Manifest, config: VeoConfig, on_failure: Callable[[str], None]
    ) -> None:
        self.directory = directory
        self.failure = ""
        self.lapped = 0
        self._manifest = manifest
        self._on_failure = on_failure
        self._entries: SimpleQueue[JournalLine] = SimpleQueue()
        self._configs: SimpleQueue[VeoConfig] = SimpleQueue()
        self._flushes: SimpleQueue[threading.Event] = SimpleQueue()
        self._reader: FrameRingReader | None = None
        self._feed: TelemetryFeed | None = None
        self._counters: FrameCounters | None = None
        self._wake = threading.Event()
        self._ending = False
        self._made_directory = create_run_directory(directory)
        try:
            self._open_files(config)
        except FileExistsError as error:
            raise RecordingError(
                f"another run has just begun to record into {directory}; give each run a folder of its own with --out, "
                "or none for a new one in the user's data"
            ) from error
        except OSError as error:
            self._remove_files()
            raise RecordingError(
                f"nothing can be recorded in {directory}: {_reason(error)}; "
                "choose a folder you may write to, on a disk with room"
            ) from error
        # A daemon: an interpreter that ends without `finish` leaves a recording that the next open recovers.
        self._thread = threading.Thread(target=self._run, name="recorder", daemon=True)
        self._thread.start()

    def attach(self, reader: FrameRingReader, feed: TelemetryFeed | None) -> None:
        """Begin to follow the ring and telemetry; the recorder owns both from here."""
        self._feed = feed
        self._reader = reader
        self._wake.set()

    def note(self, received_ns: int, entry: Entry) -> None:
        """Add one entry to the journal."""
        if not self.failure:  # nobody would ever take it out again
            self._entries.put(JournalLine(received_ns, entry))

    def save_config(self, config: VeoConfig) -> None:
        """Make this the recording's VeoConfig.json."""
        if not self.failure:
            self._configs.put(config)

    def flush(self, timeout_s: float = 5.0) -> bool:
        """Wait until everything known so far is in the files; False when that took longer than `timeout_s`."""
        if not self._thread.is_alive():  # it ended with everything written
            return True
        done = threading.Event()
        self._flushes.put(done)
        self._wake.set()
        return done.wait(timeout_s)

    def finish(self) -> None:
        """Write what is left, turn the streams into tables, and end the writer thread; `RunEnded` was the last note."""
        self._end()

    def discard(self) -> None:
        """End, and remove what was written, for a run that never began; a folder that was there before stays."""
        self._end()
        self._remove_files()

    def _end(self) -> None:
        self._ending = True
        self._wake.set()
        self._thread.join()

    def _open_files(self, config: VeoConfig) -> None:
        with contextlib.ExitStack() as undo:
            # The journal is made first, and by one run only: it is what settles whose folder this is.
            self._journal = JournalFile(self.directory / names.EVENTS)
            undo.callback(self._journal.close)
            self._manifest.write(self.directory)
            self._write_config(config)
            self._frames = ArrowStreamFile(self.directory / names.FRAME_STREAM, FRAME_SCHEMA)
            undo.callback(self._frames.close)
            self._telemetry = ArrowStreamFile(self.directory / names.TELEMETRY_STREAM, TELEMETRY_SCHEMA)
            undo.pop_all()

    def _remove_files(self) -> None:
        with contextlib.suppress(OSError):
            for name in names.RECORDING_FILES:
                (self.directory / name).unlink(missing_ok=True)
            if self._made_directory:
                self.directory.rmdir()

    def _run(self) -> None:
        ending = False
        while not ending:
            self._wake.wait(FLUSH_PERIOD_S)
            self._wake.clear()
            ending = self._ending  # read before the last pump, so that nothing noted before `finish` is left behind
            waiting = _drained(self._flushes)
            if not self.failure:
                self._attempt(self._pump)
            for done in waiting:
                done.set()
        self._attempt(self._close)
        for done in _drained(self._flushes):
            done.set()

    def _attempt(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception as error:  # noqa: BLE001 - thread boundary: whatever stops the recording is told, not lost
            if not self.failure:
                self.failure = (
                    f"recording stopped, {_reason(error)}; what was written before is kept in "
                    f"{self.directory}, and the run goes on unrecorded"
                )
                self._on_failure(self.failure)

    def _pump(self) -> None:
        # Frames before counters: a reader of a cut recording may then rely on no total being older than its rows.
        reader = self._reader
        if reader is not None:
            self._record_frames(reader)
        readings = self._feed.read() if self._feed is not None else []
        if readings:
            self._telemetry.append(readings_to_batch(readings))
        for config in _drained(self._configs)[-1:]:
            self._write_config(config)
        for received_ns, entry in _drained(self._entries):
            if isinstance(entry, RunEnded) and reader is not None:
                self._record_counters(reader)
            self._journal.append(received_ns, entry)

    def _write_config(self, config: VeoConfig) -> None:
        # Without a backup beside it: every configuration that was in force is in the journal.
        write_atomically(self.directory / names.CONFIG, render_config(config))

    def _record_frames(self, reader: FrameRingReader) -> None:
        batch = reader.read()
        self.lapped += batch.lapped
        if len(batch.frames):
            self._frames.append(frames_to_batch(batch.frames))
        if len(batch.frames) or batch.lapped:
            self._record_counters(reader)

    def _record_counters(self, reader: FrameRingReader) -> None:
        counters = reader.counters()
        if counters != self._counters:
            self._counters = counters
            self._journal.append(time.monotonic_ns(), RecordedCounters(counters, self.lapped))

    def _close(self) -> None:
        """Finalise what there is, also after a failure: on a full disk the streams simply stay as they are."""
        try:
            for stream in (self._frames, self._telemetry):
                with contextlib.suppress(OSError):  # the end mark is no loss; finalising reports a disk that is gone
                    stream.close()
            manifest = self._manifest.model_copy(update={"recording_failure": self.failure})
            finalise(self.directory, manifest, RecordingState.FINISHED)
        finally:
            self._journal.close()
            if self._reader is not None:
                self._reader.close()


def _reason(error: Exception) -> str:
    """Return the system's own words where it is its error; Arrow wraps them in a sentence of its own."""
    if isinstance(error, OSError):
        return os.strerror(error.errno) if error.errno else str(error)
    return f"{type(error).__name__}: {error}"


def _drained(queue: SimpleQueue[T]) -> list[T]:
    items: list[T] = []
    with contextlib.suppress(Empty):
        while True:
            items.append(queue.get_nowait())
    return items
