"""The engine's frame is its own record, byte for byte."""

from __future__ import annotations

import numpy as np

from app.core.clock import NO_STAMP_NS
from app.core.records import FRAME_DTYPE, FRAME_LAYOUT, empty_frames
from app.core.vocabulary import DisplayTimeSource, Fate
from app.engine.frame import Frame


def record(frame: Frame) -> np.void:
    row: np.void = np.frombuffer(bytes(frame), FRAME_DTYPE)[0]
    return row


def test_every_field_lies_where_the_record_has_it() -> None:
    frame = Frame()
    for value, (name, _) in enumerate(FRAME_LAYOUT, 1):
        setattr(frame, name, value)
    assert record(frame).item() == tuple(range(1, len(FRAME_LAYOUT) + 1))


def test_a_new_frame_knows_nothing_but_its_number() -> None:
    expected = empty_frames(1)
    expected["frame_id"] = 7
    frame = Frame(7)
    assert bytes(frame) == expected.tobytes()
    frame.displayed_ns, frame.fate, frame.slot = 5, Fate.DISPLAYED, 3
    frame.display_time_source = DisplayTimeSource.PRESENT_FENCE
    frame.reset(7)
    assert (bytes(frame), frame.slot) == (expected.tobytes(), -1)


def test_putting_off_moves_what_was_stamped_and_invents_nothing() -> None:
    frame = Frame()
    frame.arrive_ns, frame.decode_end_ns = 10, 20
    frame.put_off(1000, until_ns=50)
    row = record(frame)
    assert (row["arrive_ns"], row["decode_end_ns"], row["decode_start_ns"]) == (1010, 1020, NO_STAMP_NS)
    assert frame.postponed_ns == 1000


def test_what_was_stamped_after_the_pause_stays_and_the_order_of_the_stages_holds() -> None:
    frame = Frame()
    frame.arrive_ns, frame.decode_end_ns = 10, 40
    frame.process_start_ns, frame.process_end_ns = 1015, 1050
    frame.put_off(1000, until_ns=1012)
    assert (frame.arrive_ns, frame.decode_end_ns) == (1010, 1040)
    assert (frame.process_start_ns, frame.process_end_ns) == (1040, 1050)
