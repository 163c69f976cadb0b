"""The encode record: one fixed-size row for each frame that was offered to the encode branch.

It is a table of its own beside the frame records: the branch forks off after processing, and what becomes of a frame
there says nothing about its display. Rows are found again by `source_index` and `frame_id`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

import numpy as np
import numpy.typing as npt

from app.core.clock import NO_STAMP_NS
from app.core.records import MISSING_COUNT


class EncodeFate(IntEnum):
    """What became of a frame in the encode branch; exactly one a row. Values are never reused or renumbered."""

    ENCODED = 1
    SKIPPED = 2
    LOST = 3

    @property
    def label(self) -> str:
        """Return the name used in JSON, CSV and Prometheus (`encoder_skipped`)."""
        return f"encoder_{self.name.lower()}" if self is not EncodeFate.ENCODED else "encoded"


ENCODE_STAMP_FIELDS: Final[tuple[str, ...]] = ("encode_in_ns", "encode_start_ns", "encode_out_ns")
"""Stamps in order: int64 ns of CLOCK_MONOTONIC, `NO_STAMP_NS` when the frame never got there."""

ENCODE_LAYOUT: Final[tuple[tuple[str, str], ...]] = (
    ("frame_id", "<u8"),
    ("source_index", "<i2"),
    ("breaks_before", "<u4"),
    ("fate", "u1"),
    ("key_frame", "u1"),
    ("queue_in", "<i2"),
    ("delay_frames", "<i2"),
    ("encode_in_ns", "<i8"),
    ("encode_start_ns", "<i8"),
    ("encode_out_ns", "<i8"),
    ("bytes_out", "<i8"),
)
"""Fields in order with their numpy type."""

ENCODE_DTYPE: Final[np.dtype[np.void]] = np.dtype(list(ENCODE_LAYOUT))
"""One offered frame: little-endian, without padding.

Fields:
    frame_id, source_index: as in `records.FRAME_DTYPE`.
    breaks_before: how often the source broke off (stalled, jumped, began anew) before this frame. Not the serial of a
        segment, which is given when a frame is shown; frames of equal count belong together without a gap.
    fate: `EncodeFate`. SKIPPED: the branch was full when the frame was offered (loss class `encoder_skipped`).
        LOST: it was accepted and its packet never came out, because the encoder failed or hung.
    key_frame: 1 when the packet is a key frame, else 0; 0 when there is no packet.
    queue_in: frames waiting for or inside the encoder when this one was offered.
    delay_frames: frames that the encoder had taken in after this one when its packet came out: the delay in frames,
        0 when each is given out at once. `MISSING_COUNT` without a packet.
    encode_in_ns: offered to the branch. encode_start_ns: given to the encoder. encode_out_ns: packet in hand, before
        it is written anywhere.
    bytes_out: size of the packet; 0 without one, which is a fact.
"""

EncodeArray = npt.NDArray[np.void]
"""1-D array of `ENCODE_DTYPE`."""


def empty_encode_records(count: int) -> EncodeArray:
    """Return `count` rows in which everything is missing: the starting point of tests and importers."""
    rows = np.zeros(count, ENCODE_DTYPE)
    for name in ENCODE_STAMP_FIELDS:
        rows[name] = NO_STAMP_NS
    for name in ("queue_in", "delay_frames"):
        rows[name] = MISSING_COUNT
    return rows
