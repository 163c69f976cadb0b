"""How full the encoder's output buffer is: a leaky bucket that packets fill and a link of the target bitrate drains.

It is the model of a decoder's buffer (VBV) seen from the sending side: what lies in it is sent later, so a fill of one
is a whole buffer length of delay.
"""

from __future__ import annotations

from typing import NamedTuple

from app.core.clock import NS_PER_S


class OutputBuffer(NamedTuple):
    """The buffer's size and drain; both constant for a run.

    Attributes:
        bitrate_bits_per_s: rate at which it drains. length_ms: how long a full buffer takes to drain.
    """

    bitrate_bits_per_s: int
    length_ms: int

    @property
    def capacity_bytes(self) -> float:
        """Return what it holds when full."""
        return self.bitrate_bits_per_s * self.length_ms / 8000


class Fill(NamedTuple):
    """What lay in the buffer at a moment: bytes, and CLOCK_MONOTONIC in ns."""

    level_bytes: float = 0.0
    at_ns: int = 0


def drained(buffer: OutputBuffer, fill: Fill, now_ns: int) -> Fill:
    """Return the fill at `now_ns`, nothing having come in since; a clock that goes back drains nothing."""
    elapsed_ns = max(0, now_ns - fill.at_ns)
    level_bytes = max(0.0, fill.level_bytes - buffer.bitrate_bits_per_s * elapsed_ns / (8 * NS_PER_S))
    return Fill(level_bytes, max(now_ns, fill.at_ns))


def filled(buffer: OutputBuffer, fill: Fill, packet_bytes: int, now_ns: int) -> Fill:
    """Return the fill after a packet came in at `now_ns`. It may pass the capacity: the backlog is real."""
    left = drained(buffer, fill, now_ns)
    return left._replace(level_bytes=left.level_bytes + packet_bytes)


def fill_ratio(buffer: OutputBuffer, fill: Fill) -> float:
    """Return level ÷ capacity."""
    return fill.level_bytes / buffer.capacity_bytes
