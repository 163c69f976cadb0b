"""What the encode branch gives out: the newest encode records, and the two tiles made from them."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import Final

import numpy as np

from app.analysis.encoding import encode_statistics, fate_count
from app.analysis.summary import Measured, Missing, Value
from app.core.clock import NO_STAMP_NS, NS_PER_S
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
    measured = encode_statistics(rows, rows)
    tip = "\n".join((
        _text("encode_wait_ms", measured),
        _text("encode_delay_frames", measured),
        _text("encode_bitrate_bits_per_s", measured),
        f"encoder_skipped: {fate_count(rows, EncodeFate.SKIPPED)}, encoder_lost: {fate_count(rows, EncodeFate.LOST)}",
    ))  # fmt: skip
    return {name: _tile(name, measured[name], tip) for name in ENCODE_TITLES}


def _tile(name: str, measured: Measured, others: str) -> TileText:
    row, title = metric(name), ENCODE_TITLES[name]
    value, n = _number(measured)
    basis = f"N = {n}, the last {WINDOW_S:.0f} s"
    tip = "\n".join((f"{row.title} ({row.id})", row.definition, basis, others))
    if math.isnan(value):
        return TileText(title, "—", "", _NO_PACKET, f"{tip}\n{row.missing}")
    return TileText(title, value_text(name, value), f"N {n}", "", tip)


def _text(name: str, measured: Mapping[str, Measured]) -> str:
    value, _ = _number(measured[name])
    return f"{metric(name).title}: {value_text(name, value)}"


def _number(measured: Measured) -> tuple[float, int]:
    """Return a median or single value (NaN when missing) and N."""
    if isinstance(measured, Missing):
        return math.nan, 0
    if isinstance(measured, Value):
        return measured.value, measured.n or 0
    return measured.p50, measured.n
