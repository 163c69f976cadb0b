"""Thumbnails in shared memory: whole or not at all, the newest first, and a writer that never waits."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.ipc.shared_block import SharedBlock
from app.ipc.thumbnail_block import (
    MAX_HEIGHT,
    MAX_WIDTH,
    SLOTS,
    Plane8,
    Thumbnail,
    ThumbnailReader,
    ThumbnailWriter,
    WantedThumbnail,
    thumbnail_block_bytes,
)


def planes_of(value: int, width: int = 16, height: int = 8) -> tuple[Plane8, Plane8, Plane8]:
    """A picture in which every sample is `value`."""
    half = np.full((height // 2, width // 2), value % 256, np.uint8)
    return np.full((height, width), value % 256, np.uint8), half, half


class Block:
    """A writer and a reader on one block."""

    def __init__(self) -> None:
        self.block = SharedBlock.create(thumbnail_block_bytes())
        self.writer = ThumbnailWriter(self.block)
        self.reader = ThumbnailReader(self.block)

    def write(self, number: int, width: int = 16, height: int = 8) -> None:
        self.writer.write(number, number * 10, number * 100, planes_of(number, width, height))

    def close(self) -> None:
        self.reader.close()
        self.writer.close()
        self.block.close()


@pytest.fixture
def block() -> Iterator[Block]:
    block = Block()
    yield block
    block.close()


def test_a_thumbnail_comes_out_as_it_went_in(block: Block) -> None:
    luma = np.arange(128, dtype=np.uint8).reshape(8, 16)
    cb, cr = np.full((4, 8), 7, np.uint8), np.full((4, 8), 9, np.uint8)
    block.writer.write(5, 6, 7, (luma, cb, cr))
    pixels = luma.tobytes() + cb.tobytes() + cr.tobytes()
    assert block.reader.newest(0) == Thumbnail(1, 5, 6, 7, 16, 8, pixels)


def test_planes_with_gaps_between_their_rows_come_out_without_them(block: Block) -> None:
    padded = np.arange(8 * 32, dtype=np.uint8).reshape(8, 32)
    block.writer.write(0, 0, 0, (padded[:, :16], padded[:4, :8], padded[:4, 8:16]))
    thumbnail = block.reader.newest(0)
    assert thumbnail is not None
    assert thumbnail.pixels == b"".join(np.ascontiguousarray(part).tobytes() for part in (
        padded[:, :16], padded[:4, :8], padded[:4, 8:16]
    ))  # fmt: skip


def test_a_new_block_has_nothing_and_nobody_looks_on(block: Block) -> None:
    assert block.reader.newest(0) is None
    assert block.writer.viewers == 0


def test_a_block_that_no_engine_has_opened_says_nothing_of_what_is_made() -> None:
    with SharedBlock.create(thumbnail_block_bytes()) as shared:
        reader = ThumbnailReader(shared)
        assert reader.wanted() is None
        assert reader.newest(0) is None
        reader.close()


def test_what_is_wanted_reaches_the_server_and_the_viewers_reach_the_engine(block: Block) -> None:
    block.writer.want(WantedThumbnail(320, 180, 500))
    block.reader.set_viewers(3)
    assert block.reader.wanted() == WantedThumbnail(320, 180, 500)
    assert block.writer.viewers == 3


@pytest.mark.parametrize(("width", "height"), [(15, 8), (16, 7), (MAX_WIDTH + 2, 8), (16, MAX_HEIGHT + 2), (0, 0)])
def test_a_size_that_does_not_fit_is_refused(block: Block, width: int, height: int) -> None:
    with pytest.raises(ValueError, match="at most 960×540"):
        block.write(1, width, height)
    assert block.reader.newest(0) is None


def test_the_largest_thumbnail_fits(block: Block) -> None:
    block.write(1, MAX_WIDTH, MAX_HEIGHT)
    thumbnail = block.reader.newest(0)
    assert thumbnail is not None
    assert len(thumbnail.pixels) == MAX_WIDTH * MAX_HEIGHT * 3 // 2


def test_an_engine_that_comes_back_goes_on_after_the_last_serial(block: Block) -> None:
    block.write(1)
    again = ThumbnailWriter(block.block)
    again.write(2, 0, 0, planes_of(2))
    thumbnail = block.reader.newest(1)
    again.close()
    assert thumbnail is not None
    assert (thumbnail.serial, thumbnail.frame_index) == (2, 2)


def _slot_sequence(serial: int) -> slice:
    slot_bytes = (thumbnail_block_bytes() - 4096) // SLOTS
    offset = 4096 + serial % SLOTS * slot_bytes
    return slice(offset, offset + 8)


def test_an_engine_killed_while_it_wrote_costs_that_slot_once_and_no_more(block: Block) -> None:
    block.write(1)
    block.block.memory[_slot_sequence(1)] = (3).to_bytes(8, "little")  # as if it had died in the second writing of it
    assert block.reader.newest(0) is None
    assert block.reader.torn > 0
    for number in range(2, 2 + SLOTS):
        block.write(number)
        thumbnail = block.reader.newest(number - 1)
        assert thumbnail is not None
        assert thumbnail.serial == number


@given(st.lists(st.one_of(st.none(), st.tuples(st.integers(1, 8), st.integers(1, 8))), max_size=40))
def test_whatever_the_order_of_writes_and_reads_a_read_gives_the_newest_once(
    steps: list[tuple[int, int] | None],
) -> None:
    block = Block()
    written: list[tuple[int, int, int]] = []
    last = 0
    for step in [*steps, None]:
        if step is not None:
            width, height = step[0] * 2, step[1] * 2
            block.write(len(written) + 1, width, height)
            written.append((len(written) + 1, width, height))
            continue
        thumbnail = block.reader.newest(last)
        if len(written) == last:
            assert thumbnail is None
            continue
        assert thumbnail is not None
        number, width, height = written[-1]
        assert (thumbnail.serial, thumbnail.frame_index, thumbnail.at_ns) == (number, number, number * 10)
        assert thumbnail.pixels == bytes([number % 256]) * (width * height * 3 // 2)
        last = thumbnail.serial
    assert block.reader.torn == 0
    block.close()


class Lapping:
    """The reader's view of the memory, in which the engine writes on while the reader copies."""

    def __init__(self, block: Block, laps: int) -> None:
        self._memory = memoryview(block.block.memory)
        self._block = block
        self._laps = laps
        self._next = 2

    def __getitem__(self, part: slice) -> memoryview:
        copied = self._memory[part]
        if self._laps:
            self._laps -= 1
            for _ in range(SLOTS):
                self._block.write(self._next)
                self._next += 1
        return copied

    def release(self) -> None:
        self._memory.release()


def test_a_copy_that_the_engine_wrote_over_is_thrown_away_and_the_newest_taken(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    block.write(1)
    monkeypatch.setattr(block.reader, "_memory", Lapping(block, laps=2))
    thumbnail = block.reader.newest(0)
    assert thumbnail is not None
    assert thumbnail.serial == 1 + 2 * SLOTS
    assert set(thumbnail.pixels) == {thumbnail.serial}
    assert block.reader.torn == 2


def test_a_reader_that_is_lapped_every_time_gives_up_until_the_next_call(
    block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    block.write(1)
    monkeypatch.setattr(block.reader, "_memory", Lapping(block, laps=8))
    assert block.reader.newest(0) is None
    assert block.reader.newest(0) is not None


WRITE_ON = """
import sys
import numpy as np
from app.ipc.shared_block import SharedBlock
from app.ipc.thumbnail_block import ThumbnailWriter
with SharedBlock.attach(sys.argv[1]) as block:
    writer = ThumbnailWriter(block)
    number = 0
    while writer.viewers:
        number += 1
        width, height = (960, 540) if number % 5 == 0 else (32, 16)
        luma = np.full((height, width), number % 256, np.uint8)
        writer.write(number, number * 10, 0, (luma, luma[::2, ::2], luma[::2, ::2]))
    writer.close()
"""


def test_a_reader_beside_a_process_that_writes_at_full_speed_never_sees_a_torn_thumbnail(block: Block) -> None:
    block.reader.set_viewers(1)
    assert block.block.descriptor is not None
    command = [sys.executable, "-c", WRITE_ON, block.block.handle]
    writer = subprocess.Popen(command, pass_fds=[block.block.descriptor])
    seen = last = 0
    try:
        while seen < 500:
            thumbnail = block.reader.newest(last)
            if thumbnail is None:
                assert writer.poll() is None
                continue
            seen += 1
            last = thumbnail.serial
            assert (thumbnail.frame_index, thumbnail.at_ns) == (last, last * 10)
            assert len(thumbnail.pixels) == (960 * 540 if last % 5 == 0 else 32 * 16) * 3 // 2
            assert thumbnail.pixels.count(last % 256) == len(thumbnail.pixels)
    finally:
        block.reader.set_viewers(0)
        assert writer.wait(20) == 0
