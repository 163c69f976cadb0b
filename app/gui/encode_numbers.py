"""What the encode branch gives out: the newest encode records, and the two tiles made from them."""

from __future__ import annotations

import base64
import math
from typing import Final

import numpy as np

from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.encode_records import ENCODE_DTYPE, EncodeArray, EncodeFate
from app.core.metrics import metric, value_text
from app.gui.live_numbers import WINDOW_S
from app.ipc.messages import EncodeRecords
from widgets.history import History
from widgets.number_tile import TileText

ENCODE_TITLES: Final = {"encode_ms": "Encode p50", "encode_fps": "Encoded"}
"""Tiles of the branch by metric, with the title of each."""

_CAPACITY: Final = 1 << 14
_NO_PACKET: Final = "no packet in the last 10 s"


class EncodeSeries:
    """The newest rows; GUI thread only.

    Attributes:
        newest_out_ns: when the newest packet came out, CLOCK_MONOTONIC; `NO_STAMP_NS` before the first.
    """

    def __init__(self) -> None:
        self._rows = History(ENCODE_DTYPE, _CAPACITY)
        self.newest_out_ns = NO_STAMP_NS

    def clear(self) -> None:
        """Forget the last run."""
        self._rows.clear()
        self.newest_out_ns = NO_STAMP_NS

    def take(self, message: EncodeRecords) -> None:
        """Take the rows of a message in."""
        rows = np.frombuffer(base64.b64decode(message.data), ENCODE_DTYPE)
        self._rows.append(rows)
        self.newest_out_ns = max(self.newest_out_ns, int(rows["encode_out_ns"].max(initial=NO_STAMP_NS)))

    def recent(self, now_ns: int) -> EncodeArray:
        """Return the rows of frames offered within `WINDOW_S` before now."""
        rows: EncodeArray = self._rows.rows
        return rows[rows["encode_in_ns"] >= now_ns - round(WINDOW_S * NS_PER_S)]


def encode_tiles(rows: EncodeArray) -> dict[str, TileText]:
    """Return the tiles by metric, made from the rows of the last `WINDOW_S`."""
    coded = rows[rows["fate"] == EncodeFate.ENCODED]
    skipped = int(np.count_nonzero(rows["fate"] == EncodeFate.SKIPPED))
    lost = int(np.count_nonzero(rows["fate"] == EncodeFate.LOST))
    others = f"encoder_skipped: {skipped}, encoder_lost: {lost} in the same time"
    values = {"encode_ms": _median_ms(coded), "encode_fps": _rate(coded)}
    return {name: _tile(name, value, coded.size, others) for name, value in values.items()}


def _tile(name: str, value: float, count: int, others: str) -> TileText:
    row, title = metric(name), ENCODE_TITLES[name]
    tip = f"{row.title} ({row.id})\n{row.definition}\nN = {count} packets, the last {WINDOW_S:.0f} s\n{others}"
    if math.isnan(value):
        return TileText(title, "—", "", _NO_PACKET, f"{tip}\n{_NO_PACKET}")
    return TileText(title, value_text(name, value), f"N {count}", "", tip)


def _median_ms(coded: EncodeArray) -> float:
    return float(np.median(coded["encode_out_ns"] - coded["encode_start_ns"])) / NS_PER_MS if coded.size else math.nan


def _rate(coded: EncodeArray) -> float:
    """Return packets a second, from the first to the last one."""
    if coded.size < 2:
        return math.nan
    span_s = (int(coded["encode_out_ns"].max()) - int(coded["encode_out_ns"].min())) / NS_PER_S
    return (coded.size - 1) / span_s if span_s > 0 else math.nan
