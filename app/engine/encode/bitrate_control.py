"""Keeps the I-frame guard's books in the encode thread: fill of the output buffer, the bitrate wanted, decisions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from app.config.governors import IframeGuard
from app.engine.encode.iframe_guard import GuardState, next_guard_state
from app.engine.encode.output_buffer import Fill, OutputBuffer, fill_ratio, filled
from app.ipc.messages import GovernorDecision

GOVERNOR: Final = "iframe"

Tell = Callable[[GovernorDecision], None]


class BitrateControl:
    """What bitrate the encoder should have, packet by packet; encode thread only, but for the two settings.

    Args:
        full_bits_per_s: target bitrate without the guard. buffer_ms: length of the output buffer.
        rule: the guard. tell: takes its decisions.

    Attributes:
        full_bits_per_s, rule: may be replaced from any thread; they act with the next packet.
    """

    def __init__(self, full_bits_per_s: int, buffer_ms: int, rule: IframeGuard, tell: Tell) -> None:
        self.full_bits_per_s = full_bits_per_s
        self.rule = rule
        self._buffer_ms = buffer_ms
        self._tell = tell
        self._state = GuardState()
        self._fill = Fill()

    @property
    def wanted_bits_per_s(self) -> int:
        """Return the bitrate that the encoder should aim at now."""
        return round(self.full_bits_per_s * self._state.bitrate_ratio)

    def note_packet(self, packet_bytes: int, key_frame: bool, gop_ns: int, now_ns: int) -> None:
        """Take a packet into account.

        Args:
            gop_ns: time from key frame to key frame, ns. now_ns: when the packet came out, CLOCK_MONOTONIC.
        """
        buffer = OutputBuffer(self.full_bits_per_s, self._buffer_ms)
        self._fill = filled(buffer, self._fill, packet_bytes, now_ns)
        ratio = fill_ratio(buffer, self._fill)
        before, self._state = (
            self._state,
            next_guard_state(self.rule, self._state, ratio, key_frame, gop_ns, now_ns),
        )
        if self._state.bitrate_ratio != before.bitrate_ratio:
            lowered = self._state.bitrate_ratio < before.bitrate_ratio
            reason = self._burst_text(packet_bytes, ratio) if lowered else self._calm_text(ratio)
            self._tell(
                GovernorDecision(GOVERNOR, now_ns, f"bitrate {self.wanted_bits_per_s / 1000:.0f} kbit/s", None, reason)
            )

    def _burst_text(self, packet_bytes: int, ratio: float) -> str:
        return (
            f"a key frame of {packet_bytes / 1000:.1f} kB filled the output buffer to {ratio:.0%} "
            f"({self._buffer_ms} ms of {self.full_bits_per_s / 1000:.0f} kbit/s)"
        )

    def _calm_text(self, ratio: float) -> str:
        if not self.rule.enabled:
            return "the guard is off"
        return f"no burst since a whole group of pictures, and the output buffer is at {ratio:.0%}"
