"""The one clock of VeoTuner: CLOCK_MONOTONIC in int64 nanoseconds.

Every stamp in a frame record, telemetry row and control message is read from it, so stamps of different processes
on one machine subtract without conversion.
"""

from __future__ import annotations

import time
from typing import Final, Protocol

NS_PER_MS: Final = 1_000_000
NS_PER_S: Final = 1_000_000_000

NO_STAMP_NS: Final = -(2**63)
"""What a missing stamp looks like in an int64 field: the smallest int64 (numpy's NaT). Never 0, which is a time."""


class Clock(Protocol):
    """A source of time that can also wait, injected wherever a unit test must not sleep."""

    def now_ns(self) -> int:
        """Return the time in ns of this clock."""
        ...

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Return at or after `deadline_ns`; at once when it has passed."""
        ...


class MonotonicClock:
    """CLOCK_MONOTONIC of this machine; safe from any thread."""

    def now_ns(self) -> int:
        """Return CLOCK_MONOTONIC in ns."""
        return time.monotonic_ns()

    def sleep_until_ns(self, deadline_ns: int) -> None:
        """Sleep to an absolute deadline, so that lateness of one wait never adds to the next."""
        remaining_ns = deadline_ns - time.monotonic_ns()
        if remaining_ns > 0:
            time.sleep(remaining_ns / NS_PER_S)


def ns_to_ms(value_ns: int) -> float:
    """Return a duration in ms, or NaN when `value_ns` is `NO_STAMP_NS`."""
    return float("nan") if value_ns == NO_STAMP_NS else value_ns / NS_PER_MS


def period_ns(rate_hz: float) -> int:
    """Return the period of a rate in whole ns (60 Hz: 16 666 667).

    Raises:
        ValueError: the rate is not positive.
    """
    if not rate_hz > 0:
        raise ValueError(f"a rate must be positive, got {rate_hz} Hz")
    return round(NS_PER_S / rate_hz)
