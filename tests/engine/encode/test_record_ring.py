"""Rows between two threads: in order, once, and counted where nobody came for them."""

from __future__ import annotations

import threading

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from app.core.encode_records import EncodeArray
from app.engine.encode.record_ring import EncodeRow, RecordRing


def row(number: int) -> EncodeRow:
    return (number, 0, 0, 1, 0, 0, 0, number, number, number, number)


@given(st.integers(1, 8), st.lists(st.integers(0, 12), max_size=20))
def test_the_newest_rows_are_taken_once_and_the_others_counted(capacity: int, batches: list[int]) -> None:
    ring, written, seen = RecordRing(capacity), 0, []
    for batch in batches:
        for _ in range(batch):
            ring.append(row(written))
            written += 1
        seen.extend(ring.take()["frame_id"].tolist())
        assert seen[-min(batch, capacity) :] == list(range(written - min(batch, capacity), written)) or batch == 0
    assert len(seen) + ring.overwritten == written
    assert seen == sorted(set(seen))


def test_two_threads_lose_and_tear_nothing_while_one_keeps_up() -> None:
    ring, count = RecordRing(100_000), 20_000

    def write() -> None:
        for number in range(count):
            ring.append(row(number))

    writer = threading.Thread(target=write)
    writer.start()
    taken: list[EncodeArray] = []
    while sum(len(rows) for rows in taken) < count:
        taken.append(ring.take())
    writer.join()
    rows = np.concatenate(taken)
    assert np.array_equal(rows["frame_id"], np.arange(count))
    assert np.array_equal(rows["bytes_out"], np.arange(count))


def test_rows_that_were_taken_are_no_longer_the_writer_s() -> None:
    ring = RecordRing(2)
    ring.append(row(1))
    taken = ring.take()
    ring.append(row(2))
    ring.append(row(3))
    assert taken["frame_id"].tolist() == [1]
