"""The frame ring: the engine writes finished frame records and never waits; any number of readers follow.

Layout: a 4 KiB header (identity, two counters around every write, a counter block), then `capacity` records of
`FRAME_DTYPE`. `begun` rises before a slot is touched and `done` after it is complete. A reader copies first and looks
at `begun` afterwards: whatever `begun` had by then passed over may be torn, is dropped, and is counted as lapped.
Stores are seen in program order on x86; on weaker machines CPython's own atomic reference counting and the cost of a
bytecode between the two stores make the window unobservable in practice, and the stress test is the judge.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.core.records import FRAME_DTYPE, FRAME_RECORD_VERSION, FrameArray
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.ipc.shared_block import SharedBlock

HEADER_BYTES: Final = 4096
DEFAULT_CAPACITY: Final = 65536
"""Records kept: nine minutes at 120 fps, thirteen seconds at 5 000 fps; 11 MiB."""

_RECORD_BYTES: Final = FRAME_DTYPE.itemsize
_MAGIC: Final = 0x56454F54554E4552  # "VEOTUNER"
_IDENTITY = struct.Struct("<QIIQ")  # magic, record version, record bytes, capacity
_BEGUN_WORD: Final = 8  # index of the 64-bit word in the header, one cache line behind the identity
_DONE_WORD: Final = 16
_COUNTER_SEQUENCE_WORD: Final = 24
_COUNTER_WORD: Final = 25

_COUNTERS: Final[tuple[str, ...]] = (
    "produced",
    "displayed",
    *(fate.label for fate in LOSS_CLASSES),
    "repeated",
    "in_flight",
    "updated_ns",
)
_COUNTER_COUNT: Final = len(_COUNTERS)
_COUNTER_TRIES: Final = 10_000
"""Publishing takes half a microsecond and a try about as long: this many in vain mean that the writer is dead."""


@dataclass(frozen=True, slots=True)
class FrameCounters:
    """Totals of a run at one instant; produced = displayed + sum(lost) + in_flight always holds.

    Attributes:
        produced: frames the source delivered or owed.
        displayed: frames that reached the display.
        lost: frames by loss class; every class is present.
        repeated: refreshes in which a previous frame was shown again; None where the sink knows no refresh.
        in_flight: frames whose fate is open.
        updated_ns: when the engine wrote this, CLOCK_MONOTONIC ns; 0 before the first time.
    """

    produced: int
    displayed: int
    lost: dict[Fate, int]
    repeated: int | None
    in_flight: int
    updated_ns: int


def ring_bytes(capacity: int = DEFAULT_CAPACITY) -> int:
    """Return the size of the shared block that a ring of `capacity` records needs."""
    return HEADER_BYTES + capacity * FRAME_DTYPE.itemsize


class FrameRingWriter:
    """The engine's end. One writer only; every call is a few stores, no lock, no allocation.

    Args:
        block: shared memory of at least `ring_bytes(capacity)`.
        capacity: records kept before the oldest is overwritten.
    """

    def __init__(self, block: SharedBlock, capacity: int = DEFAULT_CAPACITY) -> None:
        if capacity < 2:
            raise ValueError(f"a ring needs at least 2 slots, got {capacity}")
        self._memory = memoryview(block.memory)
        self._words = self._memory[:HEADER_BYTES].cast("Q")
        self._signed = self._memory[:HEADER_BYTES].cast("q")
        self._records = self._memory[HEADER_BYTES : ring_bytes(capacity)]
        self._capacity = capacity
        self._serial = 0
        self._counter_sequence = 0
        self._records[:] = bytes(len(self._records))  # touch every page now: a fault in the frame path costs 2–10 µs
        _IDENTITY.pack_into(self._memory, 0, _MAGIC, FRAME_RECORD_VERSION, FRAME_DTYPE.itemsize, capacity)

    def write(self, record: bytes) -> None:
        """Append one record of `FRAME_DTYPE`."""
        serial = self._serial
        self._words[_BEGUN_WORD] = self._serial = serial + 1
        at = (serial % self._capacity) * _RECORD_BYTES
        self._records[at : at + _RECORD_BYTES] = record
        self._words[_DONE_WORD] = serial + 1

    def write_counters(
        self, produced: int, displayed: int, lost: list[int], repeated: int | None, in_flight: int, now_ns: int
    ) -> None:
        """Publish the run's totals as one consistent set; `lost` is in the order of `LOSS_CLASSES`."""
        words = self._signed
        self._counter_sequence += 1
        words[_COUNTER_SEQUENCE_WORD] = self._counter_sequence  # odd: being written
        at = _COUNTER_WORD
        words[at] = produced
        words[at + 1] = displayed
        at += 2
        for count in lost:
            words[at] = count
            at += 1
        words[at] = -1 if repeated is None else repeated
        words[at + 1] = in_flight
        words[at + 2] = now_ns
        self._counter_sequence += 1
        words[_COUNTER_SEQUENCE_WORD] = self._counter_sequence

    def close(self) -> None:
        """Let go of the shared memory, so that the block can be closed."""
        self._records.release()
        self._signed.release()
        self._words.release()
        self._memory.release()


@dataclass(frozen=True, slots=True)
class RingBatch:
    """What one read brought.

    Attributes:
        frames: records in order of serial, a private copy.
        lapped: records that were overwritten before this reader came, since its last read.
    """

    frames: FrameArray
    lapped: int


class FrameRingReader:
    """A follower of the ring with a place of its own; make one for each consumer (recorder, plots).

    Not safe to share between threads; cheap to make.

    Raises:
        ValueError: the block holds no ring, or one of another record version.
    """

    def __init__(self, block: SharedBlock) -> None:
        self._memory = memoryview(block.memory)
        magic, version, itemsize, capacity = _IDENTITY.unpack_from(self._memory, 0)
        if magic != _MAGIC:
            self._memory.release()
            raise ValueError("no frame ring in this block yet: the engine has not opened it")
        if (version, itemsize) != (FRAME_RECORD_VERSION, FRAME_DTYPE.itemsize):
            self._memory.release()
            raise ValueError(f"frame record version {version} ({itemsize} bytes) is not {FRAME_RECORD_VERSION}")
        self._words = self._memory[:HEADER_BYTES].cast("Q")
        self._signed = self._memory[:HEADER_BYTES].cast("q")
        self._records = np.frombuffer(self._memory, FRAME_DTYPE, capacity, HEADER_BYTES)
        self._capacity = int(capacity)
        self._next = 0
        self._last_counters = _counters_of([0] * _COUNTER_COUNT)

    def read(self, most: int | None = None) -> RingBatch:
        """Return everything new, oldest first, at most `most` records; never blocks.

        Records that the writer overwrote meanwhile are left out and counted in `lapped`.
        """
        start = self._next
        done = int(self._words[_DONE_WORD])
        oldest = max(start, done - self._capacity)
        end = done if most is None else min(done, oldest + most)
        copy = self._copy(oldest, end)
        overwritten = int(self._words[_BEGUN_WORD]) - self._capacity
        first = min(max(oldest, overwritten), end)
        self._next = end
        return RingBatch(copy[first - oldest :], first - start)

    def counters(self) -> FrameCounters:
        """Return the run's totals at the last time the engine published them.

        An engine killed in the middle of publishing leaves a torn set for good: the last whole one is returned then.
        """
        for _ in range(_COUNTER_TRIES):
            before = self._signed[_COUNTER_SEQUENCE_WORD]
            values = self._signed[_COUNTER_WORD : _COUNTER_WORD + _COUNTER_COUNT].tolist()
            if before % 2 == 0 and before == self._signed[_COUNTER_SEQUENCE_WORD]:
                self._last_counters = _counters_of(values)
                break
        return self._last_counters

    def close(self) -> None:
        """Let go of the shared memory, so that the block can be closed."""
        del self._records
        self._signed.release()
        self._words.release()
        self._memory.release()

    def _copy(self, start: int, end: int) -> FrameArray:
        first, last = start % self._capacity, end % self._capacity
        if end - start <= 0:
            return self._records[:0].copy()
        if end - start == self._capacity or last <= first:
            return np.concatenate((self._records[first:], self._records[:last]))
        return self._records[first:last].copy()


def _counters_of(values: list[int]) -> FrameCounters:
    produced, displayed, *lost, repeated, in_flight, updated_ns = values
    return FrameCounters(
        produced=produced,
        displayed=displayed,
        lost=dict(zip(LOSS_CLASSES, lost, strict=True)),
        repeated=None if repeated < 0 else repeated,
        in_flight=in_flight,
        updated_ns=updated_ns,
    )
