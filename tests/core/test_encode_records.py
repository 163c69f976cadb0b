"""The encode record keeps its layout and says what is missing."""

from __future__ import annotations

import numpy as np

from app.core.clock import NO_STAMP_NS
from app.core.encode_records import ENCODE_DTYPE, ENCODE_STAMP_FIELDS, EncodeFate, empty_encode_records
from app.core.records import FRAME_DTYPE, MISSING_COUNT


def test_a_row_has_no_padding_and_is_little_endian() -> None:
    assert ENCODE_DTYPE.itemsize == 8 + 2 + 4 + 1 + 1 + 2 + 2 + 4 * 8
    assert all(ENCODE_DTYPE[name].newbyteorder("<") == ENCODE_DTYPE[name] for name in ENCODE_DTYPE.names or ())


def test_what_identifies_a_frame_has_the_type_it_has_in_the_frame_record() -> None:
    assert {name: ENCODE_DTYPE[name] for name in ("frame_id", "source_index", "fate")} == {
        name: FRAME_DTYPE[name] for name in ("frame_id", "source_index", "fate")
    }


def test_in_an_empty_row_every_stamp_and_count_is_missing_and_never_zero() -> None:
    rows = empty_encode_records(3)
    assert all(np.all(rows[name] == NO_STAMP_NS) for name in ENCODE_STAMP_FIELDS)
    assert np.all(rows["queue_in"] == MISSING_COUNT)
    assert np.all(rows["delay_frames"] == MISSING_COUNT)


def test_rows_survive_the_wire_as_bytes() -> None:
    rows = empty_encode_records(2)
    rows["frame_id"], rows["fate"], rows["encode_out_ns"] = (7, 8), EncodeFate.ENCODED, 2**62
    assert np.array_equal(np.frombuffer(rows.tobytes(), ENCODE_DTYPE), rows)


def test_a_fate_has_a_name_that_tells_it_from_the_fate_of_a_preview_frame() -> None:
    assert [fate.label for fate in EncodeFate] == ["encoded", "encoder_skipped", "encoder_lost"]
