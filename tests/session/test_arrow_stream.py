"""A stream cut off anywhere gives back every whole batch."""

from __future__ import annotations

import resource
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.records import empty_frames
from app.session.arrow_stream import ArrowStreamFile, read_stream, stream_to_parquet
from app.session.frame_table import FRAME_SCHEMA, batches_to_frames, frames_to_batch


def write_batches(path: Path, sizes: list[int]) -> list[int]:
    """Write batches of these sizes and return the file's length after each."""
    stream = ArrowStreamFile(path, FRAME_SCHEMA)
    lengths = []
    for number, size in enumerate(sizes):
        frames = empty_frames(size)
        frames["segment"] = number
        stream.append(frames_to_batch(frames))
        lengths.append(path.stat().st_size)
    stream.close()
    return lengths


def rows_of(path: Path) -> list[int]:
    frames = batches_to_frames(list(read_stream(path)))
    return [int(count) for count in np.bincount(frames["segment"])] if len(frames) else []


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.floats(0, 1))
def test_a_stream_cut_at_any_byte_gives_exactly_the_whole_batches_before_the_cut(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], where: float
) -> None:
    path = tmp_path_factory.mktemp("cut") / "frames.arrows"
    lengths = write_batches(path, sizes)
    cut = round(where * path.stat().st_size)
    path.write_bytes(path.read_bytes()[:cut])
    assert rows_of(path) == [size for size, end in zip(sizes, lengths, strict=True) if end <= cut]


def test_rows_are_in_the_file_when_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "frames.arrows"
    stream = ArrowStreamFile(path, FRAME_SCHEMA)
    stream.append(frames_to_batch(empty_frames(7)))
    assert rows_of(path) == [7]
    stream.close()


def test_a_full_disk_leaves_the_batches_before_it_whole(tmp_path: Path) -> None:
    path = tmp_path / "frames.arrows"
    stream = ArrowStreamFile(path, FRAME_SCHEMA)
    stream.append(frames_to_batch(empty_frames(10)))
    whole_bytes = path.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (whole_bytes + 1000, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            stream.append(frames_to_batch(empty_frames(1000)))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    stream.close()
    assert (path.stat().st_size, rows_of(path)) == (whole_bytes, [10])


def test_an_existing_stream_is_never_written_over(tmp_path: Path) -> None:
    path = tmp_path / "frames.arrows"
    path.write_bytes(b"somebody's")
    with pytest.raises(FileExistsError):
        ArrowStreamFile(path, FRAME_SCHEMA)
    assert path.read_bytes() == b"somebody's"


def test_a_finished_stream_is_one_table_and_the_stream_is_gone(tmp_path: Path) -> None:
    stream, table = tmp_path / "frames.arrows", tmp_path / "frames.parquet"
    write_batches(stream, [3, 4])
    assert stream_to_parquet(stream, table, FRAME_SCHEMA) == 7
    assert [path.name for path in tmp_path.iterdir()] == ["frames.parquet"]
    assert pq.read_schema(table).metadata[b"clock"] == b"CLOCK_MONOTONIC, ns"


def test_a_table_that_cannot_be_written_leaves_the_stream_and_no_rest(tmp_path: Path) -> None:
    stream = tmp_path / "frames.arrows"
    write_batches(stream, [1000] * 20)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            stream_to_parquet(stream, tmp_path / "frames.parquet", FRAME_SCHEMA)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert [path.name for path in tmp_path.iterdir()] == ["frames.arrows"]
