"""Statistics of the encode branch, worked out by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.analysis.encoding import (
    delay_frames,
    encode_bitrate_bits_per_s,
    encode_fps,
    encode_ms,
    encode_statistics,
    encode_wait_ms,
    fate_count,
    skipped_ratio,
)
from app.analysis.summary import Missing, Summary, Value
from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.core.encode_records import EncodeArray, EncodeFate, empty_encode_records
from app.core.metrics import METRICS, MetricGroup


def packets(count: int, *, interval_ms: float = 20, latency_ms: float = 5, size: int = 1000) -> EncodeArray:
    rows = empty_encode_records(count)
    rows["frame_id"] = np.arange(count)
    rows["fate"] = EncodeFate.ENCODED
    rows["encode_in_ns"] = np.arange(count) * round(interval_ms * NS_PER_MS)
    rows["encode_start_ns"] = rows["encode_in_ns"] + NS_PER_MS
    rows["encode_out_ns"] = rows["encode_in_ns"] + round(latency_ms * NS_PER_MS)
    rows["delay_frames"] = 0
    rows["bytes_out"] = size
    return rows


def skip(rows: EncodeArray, *numbers: int) -> EncodeArray:
    for number in numbers:
        rows["fate"][number] = EncodeFate.SKIPPED
        rows["encode_start_ns"][number] = rows["encode_out_ns"][number] = NO_STAMP_NS
        rows["delay_frames"][number] = -1
        rows["bytes_out"][number] = 0
    return rows


def test_latency_runs_from_the_offer_to_the_packet() -> None:
    assert np.all(encode_ms(packets(3)) == 5)
    assert np.all(encode_wait_ms(packets(3)) == 1)


def test_a_frame_without_a_packet_has_no_latency_and_no_delay() -> None:
    rows = skip(packets(3), 1)
    assert np.isnan(encode_ms(rows)).tolist() == [False, True, False]
    assert np.isnan(encode_wait_ms(rows)).tolist() == [False, True, False]
    assert np.isnan(delay_frames(rows)).tolist() == [False, True, False]


def test_rate_and_bitrate_are_packets_and_bits_by_time() -> None:
    rows = packets(51)
    assert encode_fps(rows) == pytest.approx(50)
    assert encode_bitrate_bits_per_s(rows) == pytest.approx(50 * 8000)


def test_a_skipped_frame_lowers_both() -> None:
    rows = skip(packets(51), *range(1, 50, 2))
    assert encode_fps(rows) == pytest.approx(25)
    assert encode_bitrate_bits_per_s(rows) == pytest.approx(25 * 8000)
    assert fate_count(rows, EncodeFate.SKIPPED) == 25
    assert skipped_ratio(rows) == pytest.approx(25 / 51)


def test_no_statistic_spans_a_break_or_two_sources() -> None:
    rows = packets(40)
    rows["encode_out_ns"][20:] += 10**12
    rows["breaks_before"][20:] = 1
    other = packets(40, interval_ms=10)
    other["source_index"] = 1
    assert encode_fps(rows) == pytest.approx(50)
    assert encode_fps(np.concatenate([rows, other])) == pytest.approx(77 / (38 * 0.02 + 39 * 0.01))


def test_the_order_of_the_rows_does_not_matter() -> None:
    rows = packets(40)
    shuffled = np.random.default_rng(1).permutation(rows)
    assert encode_fps(shuffled) == pytest.approx(encode_fps(rows))
    assert encode_bitrate_bits_per_s(shuffled) == pytest.approx(encode_bitrate_bits_per_s(rows))


@given(st.integers(2, 200), st.floats(1, 100), st.integers(1, 100_000))
def test_bitrate_is_rate_times_size_where_all_packets_are_alike(count: int, interval_ms: float, size: int) -> None:
    rows = packets(count + 1, interval_ms=interval_ms, size=size)
    assert encode_bitrate_bits_per_s(rows) == pytest.approx(encode_fps(rows) * size * 8)


def test_the_metrics_of_the_table_are_there() -> None:
    rows = packets(120)
    found = encode_statistics(rows, rows)
    assert set(found) == {row.id for row in METRICS.values() if row.group is MetricGroup.ENCODE}
    assert isinstance(found["encode_ms"], Summary)
    assert (found["encode_ms"].n, found["encode_ms"].p50) == (120, 5)
    assert isinstance(found["encode_fps"], Value)
    assert found["encode_fps"].value == pytest.approx(50)
    assert found["encode_fps"].n == 119


def test_frames_are_counted_over_the_whole_run_and_measured_after_its_warm_up() -> None:
    rows = skip(packets(60), 3, 4)
    rows["fate"][59] = EncodeFate.LOST
    found = encode_statistics(rows[30:59], rows)
    assert (found["encoder_skipped"], found["encoder_lost"]) == (Value(2), Value(1))
    assert found["encoder_skipped_ratio"] == Value(2 / 60, 60)
    assert isinstance(found["encode_delay_frames"], Summary)
    assert found["encode_delay_frames"].n == 29


def test_without_a_branch_there_is_no_number_but_a_reason() -> None:
    nothing = packets(0)
    assert all(isinstance(value, Missing) and value.reason for value in encode_statistics(nothing, nothing).values())


def test_of_one_packet_there_is_no_statistic_but_a_count() -> None:
    rows = packets(1)
    found = encode_statistics(rows, rows)
    assert {name for name, value in found.items() if isinstance(value, Value)} == {
        "encoder_skipped", "encoder_lost", "encoder_skipped_ratio",
    }  # fmt: skip
    assert math.isnan(encode_bitrate_bits_per_s(rows))


@pytest.mark.parametrize("count", [0, 1])
def test_a_share_needs_something_offered(count: int) -> None:
    assert math.isnan(skipped_ratio(packets(count))) == (count == 0)
