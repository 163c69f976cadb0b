"""The output buffer is a leaky bucket: what goes in comes out at the bitrate, never less than nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_S
from app.engine.encode.output_buffer import Fill, OutputBuffer, drained, fill_ratio, filled

BUFFER = OutputBuffer(8_000_000, 500)

fills = st.builds(Fill, st.floats(0, 1e9), st.integers(0, 10**15))


def test_its_capacity_is_its_length_at_its_bitrate() -> None:
    assert BUFFER.capacity_bytes == 500_000


def test_a_full_buffer_is_empty_after_its_own_length() -> None:
    full = Fill(BUFFER.capacity_bytes, 0)
    assert fill_ratio(BUFFER, drained(BUFFER, full, NS_PER_S // 4)) == pytest.approx(0.5)
    assert drained(BUFFER, full, NS_PER_S // 2).level_bytes == 0


@given(fills, st.integers(0, 10**15), st.integers(0, 10**15))
def test_draining_in_two_steps_is_draining_in_one(fill: Fill, first_ns: int, second_ns: int) -> None:
    now_ns = fill.at_ns + first_ns + second_ns
    twice = drained(BUFFER, drained(BUFFER, fill, fill.at_ns + first_ns), now_ns)
    assert twice.level_bytes == pytest.approx(drained(BUFFER, fill, now_ns).level_bytes, rel=1e-6, abs=1e-3)
    assert twice.at_ns == now_ns


@given(fills, st.integers(0, 10**9), st.integers(-(10**15), 10**15))
def test_a_packet_adds_its_size_and_time_never_takes_below_nothing(fill: Fill, size: int, elapsed_ns: int) -> None:
    now_ns = fill.at_ns + elapsed_ns
    before, after = drained(BUFFER, fill, now_ns), filled(BUFFER, fill, size, now_ns)
    assert before.level_bytes >= 0
    assert after.level_bytes == pytest.approx(before.level_bytes + size)
    assert after.at_ns == before.at_ns >= fill.at_ns


@given(st.integers(100_000, 400_000_000), st.integers(1, 240), st.integers(1, 100))
def test_a_stream_at_its_bitrate_never_piles_up(bits_per_s: int, rate: int, frames: int) -> None:
    buffer, fill = OutputBuffer(bits_per_s, 1000), Fill(0.0, 0)
    packet = bits_per_s // 8 // rate
    for number in range(1, frames + 1):
        fill = filled(buffer, fill, packet, number * NS_PER_S // rate)
    assert fill.level_bytes <= packet * 1.001 + frames
