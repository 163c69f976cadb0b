"""The frame ring: nothing torn, nothing invented, laps told."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.records import FRAME_DTYPE, empty_frames
from app.core.vocabulary import LOSS_CLASSES
from app.ipc.frame_ring import FrameRingReader, FrameRingWriter, ring_bytes
from app.ipc.shared_block import SharedBlock
from tests.support.frame_records import record_of

FIELDS = len(FRAME_DTYPE.names or ())


class Ring:
    """A writer on a small ring and as many readers as wanted."""

    def __init__(self, capacity: int) -> None:
        self.block = SharedBlock.create(ring_bytes(capacity))
        self.writer = FrameRingWriter(self.block, capacity)
        self.readers: list[FrameRingReader] = []

    def reader(self) -> FrameRingReader:
        self.readers.append(FrameRingReader(self.block))
        return self.readers[-1]

    def write(self, number: int) -> None:
        small = number % 100
        self.writer.write(record_of([number, *[small] * (FIELDS - 2), number]))

    def close(self) -> None:
        for reader in self.readers:
            reader.close()
        self.writer.close()
        self.block.close()


@pytest.fixture
def ring() -> Iterator[Ring]:
    ring = Ring(16)
    yield ring
    ring.close()


def test_a_record_comes_out_as_it_went_in(ring: Ring) -> None:
    expected = empty_frames(1)
    expected["frame_id"] = 7
    expected["displayed_ns"] = 123_456_789
    reader = ring.reader()
    ring.writer.write(expected.tobytes())
    assert reader.read().frames.tobytes() == expected.tobytes()


def test_a_new_ring_has_nothing_and_no_counts(ring: Ring) -> None:
    reader = ring.reader()
    assert len(reader.read().frames) == 0
    assert reader.counters().updated_ns == 0


def test_a_block_without_a_ring_is_refused() -> None:
    with SharedBlock.create(ring_bytes(4)) as block, pytest.raises(ValueError, match="no frame ring"):
        FrameRingReader(block)


def test_another_record_version_is_refused(ring: Ring) -> None:
    ring.block.memory[8] ^= 0xFF
    with pytest.raises(ValueError, match="frame record version"):
        FrameRingReader(ring.block)


def test_a_late_reader_begins_with_the_oldest_record_that_is_kept(ring: Ring) -> None:
    ring.write(0)
    late = ring.reader()
    ring.write(1)
    assert list(late.read().frames["frame_id"]) == [0, 1]


def test_a_lapped_reader_gets_the_newest_and_the_number_of_what_it_missed(ring: Ring) -> None:
    reader = ring.reader()
    for number in range(50):
        ring.write(number)
    batch = reader.read()
    assert (list(batch.frames["frame_id"]), batch.lapped) == (list(range(34, 50)), 34)


@given(st.lists(st.one_of(st.integers(1, 40), st.none()), max_size=60), st.integers(2, 20))
def test_whatever_the_order_of_writes_and_reads_every_serial_is_read_once_or_counted_as_lapped(
    steps: list[int | None], capacity: int
) -> None:
    ring = Ring(capacity)
    reader = ring.reader()
    seen: list[int] = []
    lapped = written = 0
    for step in [*steps, None]:
        if step is None:
            batch = reader.read()
            seen += batch.frames["frame_id"].tolist()
            lapped += batch.lapped
            assert len(seen) + lapped == written
            assert batch.frames["displayed_ns"].tolist() == batch.frames["frame_id"].tolist()
        else:
            for _ in range(step):
                ring.write(written)
                written += 1
    assert seen == sorted(set(seen))
    ring.close()


def test_a_reader_beside_a_writer_at_full_speed_never_sees_a_torn_record() -> None:
    ring = Ring(64)
    reader = ring.reader()
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            ring.write(number)
            number += 1

    writer = threading.Thread(target=write)
    writer.start()
    read = 0
    try:
        while read < 20_000:
            frames = reader.read().frames
            read += len(frames)
            assert np.array_equal(frames["frame_id"], frames["displayed_ns"].astype(np.uint64))
            assert np.array_equal(frames["pts_ns"], frames["frame_id"].astype(np.int64) % 100)
    finally:
        stop.set()
        writer.join()
        ring.close()


def test_counters_come_as_one_set(ring: Ring) -> None:
    reader = ring.reader()
    lost = list(range(len(LOSS_CLASSES)))
    ring.writer.write_counters(100, 70, lost, 5, 30 - sum(lost), 42)
    counters = reader.counters()
    assert counters.produced == counters.displayed + sum(counters.lost.values()) + counters.in_flight
    assert (counters.repeated, counters.updated_ns) == (5, 42)


def test_an_engine_killed_while_it_published_leaves_the_last_whole_set(ring: Ring) -> None:
    reader = ring.reader()
    ring.writer.write_counters(10, 9, [0] * len(LOSS_CLASSES), 0, 1, 1)
    whole = reader.counters()
    sequence = slice(24 * 8, 25 * 8)
    ring.block.memory[sequence] = (int.from_bytes(ring.block.memory[sequence], "little") + 1).to_bytes(8, "little")
    assert reader.counters() == whole


def test_unknown_repeats_are_none_and_not_zero(ring: Ring) -> None:
    reader = ring.reader()
    ring.writer.write_counters(1, 1, [0] * len(LOSS_CLASSES), None, 0, 1)
    assert reader.counters().repeated is None
