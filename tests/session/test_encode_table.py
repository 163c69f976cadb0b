"""Encode records become Arrow columns and come back bit for bit, also out of a journal."""

from __future__ import annotations

import base64
import json

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.encode_records import (
    ENCODE_DTYPE,
    ENCODE_STAMP_FIELDS,
    EncodeArray,
    EncodeFate,
    empty_encode_records,
)
from app.ipc.messages import EncodeRecords, EngineEvent
from app.session.encode_table import ENCODE_SCHEMA, batches_to_encodes, encodes_to_batch, journal_encodes
from app.session.journal import JournalLine


@given(hnp.arrays(np.uint8, st.integers(0, 20).map(lambda count: count * ENCODE_DTYPE.itemsize)))
def test_any_record_survives_the_way_through_arrow(raw: np.ndarray[tuple[int], np.dtype[np.uint8]]) -> None:
    rows: EncodeArray = np.frombuffer(raw.tobytes(), ENCODE_DTYPE)
    assert batches_to_encodes([encodes_to_batch(rows)]).tobytes() == rows.tobytes()


@pytest.mark.parametrize("name", [*ENCODE_STAMP_FIELDS, "queue_in", "delay_frames"])
def test_what_is_missing_in_a_record_is_null_in_arrow(name: str) -> None:
    assert encodes_to_batch(empty_encode_records(3)).column(name).null_count == 3


def test_fates_carry_their_names() -> None:
    codes = json.loads((ENCODE_SCHEMA.field("fate").metadata or {})[b"codes"])
    assert codes == {str(fate.value): fate.label for fate in EncodeFate}


def test_a_journal_gives_its_encode_records_in_order_and_nothing_else() -> None:
    parts = [empty_encode_records(count) for count in (2, 3)]
    for number, rows in enumerate(parts):
        rows["frame_id"] = 10 * number + np.arange(len(rows))
    messages = [EncodeRecords(base64.b64encode(rows.tobytes()).decode()) for rows in parts]
    lines = [
        JournalLine(1, messages[0]),
        JournalLine(2, EngineEvent("info", "word", "something else", 2)),
        JournalLine(3, messages[1]),
    ]
    assert batches_to_encodes(journal_encodes(lines)).tobytes() == b"".join(rows.tobytes() for rows in parts)
