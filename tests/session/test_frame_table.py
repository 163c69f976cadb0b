"""Frame records become Arrow columns and come back bit for bit."""

from __future__ import annotations

import json

import hypothesis.extra.numpy as hnp
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NO_STAMP_NS
from app.core.records import COUNT_FIELDS, FRAME_DTYPE, STAMP_FIELDS, FrameArray, empty_frames
from app.core.vocabulary import Fate
from app.session.frame_table import FRAME_SCHEMA, batches_to_frames, frames_to_batch


@given(hnp.arrays(np.uint8, st.integers(0, 20).map(lambda count: count * FRAME_DTYPE.itemsize)))
def test_any_record_survives_the_way_through_arrow(raw: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
    frames: FrameArray = np.frombuffer(raw.tobytes(), FRAME_DTYPE)
    assert batches_to_frames([frames_to_batch(frames)]).tobytes() == frames.tobytes()


@pytest.mark.parametrize("name", [*STAMP_FIELDS, *COUNT_FIELDS, "pts_ns", "source_interval_ns"])
def test_what_is_missing_in_a_record_is_null_in_arrow(name: str) -> None:
    assert frames_to_batch(empty_frames(3)).column(name).null_count == 3


def test_a_zero_is_a_value_and_never_null() -> None:
    frames = np.zeros(1, FRAME_DTYPE)
    assert sum(column.null_count for column in frames_to_batch(frames).columns) == 0


def test_the_schema_has_exactly_the_fields_of_the_record() -> None:
    assert tuple(FRAME_SCHEMA.names) == FRAME_DTYPE.names


def test_integers_of_closed_sets_carry_their_names() -> None:
    codes = json.loads((FRAME_SCHEMA.field("fate").metadata or {})[b"codes"])
    assert codes == {str(fate.value): fate.label for fate in Fate}


def test_a_recording_without_a_column_is_refused_by_name() -> None:
    batch = frames_to_batch(empty_frames(1)).drop_columns(["displayed_ns"])
    with pytest.raises(ValueError, match="displayed_ns"):
        batches_to_frames([batch])


def test_a_column_of_another_type_is_refused() -> None:
    batch = frames_to_batch(empty_frames(1))
    changed = batch.set_column(0, "frame_id", pa.array([1.5]))
    with pytest.raises(ValueError, match="frame_id"):
        batches_to_frames([changed])


def test_missing_stamps_come_back_as_the_mark_of_the_record() -> None:
    frames = batches_to_frames([frames_to_batch(empty_frames(2))])
    assert (frames["displayed_ns"] == NO_STAMP_NS).all()
