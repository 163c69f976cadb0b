"""Encode tiles: rate and time of what came out, what was skipped, and a dash with its reason when nothing did."""

from __future__ import annotations

import base64

import numpy as np
import pytest

from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.encode_records import EncodeArray, EncodeFate, empty_encode_records
from app.gui.encode_numbers import EncodeSeries, encode_tiles
from app.ipc.messages import EncodeRecords

NOW_NS = 100 * NS_PER_S


def encoded(count: int, *, rate_hz: int = 60, took_ms: int = 3) -> EncodeArray:
    rows = empty_encode_records(count)
    rows["frame_id"] = np.arange(count)
    rows["fate"] = EncodeFate.ENCODED
    rows["encode_in_ns"] = NOW_NS - NS_PER_S * (count - np.arange(count)) // rate_hz
    rows["encode_start_ns"] = rows["encode_in_ns"] + 1_000_000
    rows["encode_out_ns"] = rows["encode_start_ns"] + took_ms * 1_000_000
    return rows


def message(rows: EncodeArray) -> EncodeRecords:
    return EncodeRecords(base64.b64encode(rows.tobytes()).decode())


def test_rate_and_time_are_those_of_the_packets() -> None:
    tiles = encode_tiles(encoded(300))
    assert (tiles["encode_ms"].value, tiles["encode_ms"].basis) == ("4 ms", "N 300")
    assert tiles["encode_fps"].value in {"60 fps", "60.00 fps"}
    assert "From a frame's offer to the encode branch to its packet" in tiles["encode_ms"].tip
    assert "Encode wait: 1 ms" in tiles["encode_ms"].tip


def test_skipped_and_lost_frames_make_no_time_and_are_named() -> None:
    rows = encoded(10)
    rows["fate"][:4] = EncodeFate.SKIPPED
    rows["fate"][4:6] = EncodeFate.LOST
    for name in ("encode_start_ns", "encode_out_ns"):
        rows[name][:6] = NO_STAMP_NS
    tile = encode_tiles(rows)["encode_ms"]
    assert (tile.value, tile.basis) == ("4 ms", "N 4")
    assert "encoder_skipped: 4, encoder_lost: 2" in tile.tip


def test_no_packet_is_a_dash_and_no_zero() -> None:
    for tile in encode_tiles(empty_encode_records(0)).values():
        assert tile.value == "—"
        assert tile.reason == "no packet in the last 10 s"


def test_rows_arrive_in_messages_and_grow_old() -> None:
    series = EncodeSeries()
    rows = encoded(120)
    series.take(message(rows[:60]))
    series.take(message(rows[60:]))
    assert series.recent(NOW_NS).size == 120
    assert series.newest_out_ns == rows["encode_out_ns"].max()
    assert series.recent(NOW_NS + 11 * NS_PER_S).size == 0
    series.clear()
    assert series.newest_out_ns == NO_STAMP_NS


@pytest.mark.parametrize("count", [0, 1, 2])
def test_two_packets_are_no_rate(count: int) -> None:
    assert encode_tiles(encoded(count))["encode_fps"].value == "—"
