"""Rates from running counters, with wrap-around; and the arithmetic of a PCIe link."""

from __future__ import annotations

from typing import Final

from app.core.clock import NS_PER_S
from app.telemetry.calls import Outcome, failed, pending

_LANE_BYTES_PER_S: Final = {
    1: 2.5e9 * 8 / 10 / 8,
    2: 5e9 * 8 / 10 / 8,
    3: 8e9 * 128 / 130 / 8,
    4: 16e9 * 128 / 130 / 8,
    5: 32e9 * 128 / 130 / 8,
    6: 64e9 * 242 / 256 / 8,
}
"""Bytes/s of one lane and direction by PCIe generation: symbol rate × line coding (8b/10b, 128b/130b, FLIT) ÷ 8."""


def link_limit_bytes_per_s(generation: int, width: int) -> float:
    """Return the most bytes/s a PCIe link carries in one direction, before packet headers.

    Raises:
        ValueError: a generation or width that PCIe does not have.
    """
    if generation not in _LANE_BYTES_PER_S or not 1 <= width <= 32:
        raise ValueError(f"there is no PCIe link of generation {generation} with {width} lanes")
    return _LANE_BYTES_PER_S[generation] * width


_SLACK_S: Final = 1.0
"""Drivers renew their counters in steps; a difference may hold up to this much more than the time between readings."""


class RunningCounter:
    """Turns a counter that only grows, and may wrap, into the difference since the last reading.

    Args:
        most_per_s: what the hardware can count in a second. A difference far above it cannot be true: the driver was
            reloaded, or the counter was reset.
    """

    def __init__(self, most_per_s: float) -> None:
        self.most_per_s = most_per_s
        self._last: tuple[int, int] | None = None

    def is_ambiguous(self, elapsed_s: float, bits: int) -> bool:
        """Tell whether a counter of this width may wrap more than once in that time: its difference says nothing."""
        return self.most_per_s * elapsed_s >= 2.0**bits

    def advance(self, count: int, at_ns: int, bits: int) -> Outcome:
        """Return the difference to the last reading, in counts.

        Args:
            count: the counter now.
            at_ns: when it was read.
            bits: its width; a count below the last one has wrapped once.
        """
        last, self._last = self._last, (count, at_ns)
        if last is None:
            return pending("needs a second sample of the counter")
        elapsed_s = (at_ns - last[1]) / NS_PER_S
        if elapsed_s <= 0:
            return failed("no time has passed since the last sample")
        if self.is_ambiguous(elapsed_s, bits):
            return failed(f"the {bits}-bit counter may have wrapped more than once in {elapsed_s:.1f} s")
        difference = (count - last[0]) % 2**bits
        if difference > self.most_per_s * (elapsed_s + _SLACK_S):
            return failed("the counter jumped further than the hardware can count (was the driver reset?)")
        return Outcome(float(difference))

    def rate(self, count: int, at_ns: int, bits: int) -> Outcome:
        """Return the difference ÷ the time since the last reading, in counts/s."""
        last = self._last
        outcome = self.advance(count, at_ns, bits)
        if last is None or outcome.reason:
            return outcome
        return Outcome(outcome.value * NS_PER_S / (at_ns - last[1]))
