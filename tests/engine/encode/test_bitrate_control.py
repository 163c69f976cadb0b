"""The guard's books: bursts lower the bitrate that is wanted, and each decision says what it saw."""

from __future__ import annotations

from app.config.governors import IframeGuard
from app.core.clock import NS_PER_S
from app.engine.encode.bitrate_control import BitrateControl
from app.ipc.messages import GovernorDecision
from tests.engine.encode.pictures import INTERVAL_60_NS

GOP_NS = NS_PER_S
FULL_BITS = 4_000_000
BUFFER_MS = 500  # 250 kB


def control(*, enabled: bool = True) -> tuple[BitrateControl, list[GovernorDecision]]:
    told: list[GovernorDecision] = []
    return BitrateControl(FULL_BITS, BUFFER_MS, IframeGuard(enabled=enabled), told.append), told


def test_a_key_frame_that_fills_the_buffer_is_answered_and_said() -> None:
    bitrate, told = control()
    bitrate.note_packet(225_000, True, GOP_NS, NS_PER_S)
    assert bitrate.wanted_bits_per_s == 2_800_000
    assert [(decision.governor, decision.action, decision.rate_hz) for decision in told] == [
        ("iframe", "bitrate 2800 kbit/s", None)
    ]
    assert "key frame of 225.0 kB filled the output buffer to 90% (500 ms of 4000 kbit/s)" in told[0].reason


def test_frames_between_key_frames_are_none_of_the_guard_s_business() -> None:
    bitrate, told = control()
    for number in range(4):
        bitrate.note_packet(225_000, False, GOP_NS, number * INTERVAL_60_NS)
    assert (bitrate.wanted_bits_per_s, told) == (FULL_BITS, [])


def test_a_stream_at_its_bitrate_gets_all_back() -> None:
    bitrate, told = control()
    bitrate.note_packet(225_000, True, GOP_NS, 0)
    for number in range(1, 60 * 12):
        bitrate.note_packet(2_800_000 // 8 // 60, False, GOP_NS, number * INTERVAL_60_NS)
    assert bitrate.wanted_bits_per_s == FULL_BITS
    assert len(told) == 1 + 6
    assert "output buffer is at" in told[-1].reason


def test_switching_it_off_gives_all_back_and_says_so() -> None:
    bitrate, told = control()
    bitrate.note_packet(225_000, True, GOP_NS, 0)
    bitrate.rule = IframeGuard(enabled=False)
    bitrate.note_packet(100, False, GOP_NS, 1)
    assert bitrate.wanted_bits_per_s == FULL_BITS
    assert told[-1].reason == "the guard is off"


def test_a_guard_that_was_never_on_decides_nothing() -> None:
    bitrate, told = control(enabled=False)
    bitrate.note_packet(10**7, True, GOP_NS, 0)
    assert (bitrate.wanted_bits_per_s, told) == (FULL_BITS, [])


def test_another_full_bitrate_acts_through_the_same_ratio() -> None:
    bitrate, _ = control()
    bitrate.note_packet(225_000, True, GOP_NS, 0)
    bitrate.full_bits_per_s = 8_000_000
    assert bitrate.wanted_bits_per_s == 5_600_000
