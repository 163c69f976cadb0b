"""Hands the telemetry that governors need on to the engine, which reads no sensor itself."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Protocol

from app.ipc.messages import GovernorReadings
from app.telemetry.provider import Reading

_LIMIT: Final = "pcie_limit_bytes_per_s"
_LINKS: Final = {"pcie_tx_bytes_per_s": "PCIe to the host", "pcie_rx_bytes_per_s": "PCIe to the GPU"}
_MEMORY: Final = "dram_bandwidth_ratio"
_NEEDED: Final = frozenset({"gpu_temperature_c", "gpu_clock_mhz", "memory_clock_mhz", _LIMIT, _MEMORY, *_LINKS})


class ReadingsFeed(Protocol):
    """A subscription to readings, as the sampler gives it."""

    def read(self) -> list[Reading]:
        """Return everything new."""
        ...


class GovernorFeed:
    """Follows the sampler and sends what is new, as often as the sampler reads; one thread.

    Args:
        feed: a subscription of its own.
        send: takes each message.
    """

    def __init__(self, feed: ReadingsFeed, send: Callable[[GovernorReadings], None]) -> None:
        self._feed = feed
        self._send = send
        self._values: dict[str, float] = {}

    def pass_on(self) -> None:
        """Send the newest readings if there are any; never waits."""
        new = [reading for reading in self._feed.read() if reading.metric in _NEEDED]
        for reading in new:
            self._values[reading.metric] = reading.value
        if new:
            self._send(self._message(new[-1]))

    def _message(self, newest: Reading) -> GovernorReadings:
        link_ratio, link_name = busiest_link(self._values)
        return GovernorReadings(
            newest.at_ns,
            self._known("gpu_temperature_c"),
            self._known("gpu_clock_mhz"),
            self._known("memory_clock_mhz"),
            link_ratio,
            link_name,
        )

    def _known(self, metric: str) -> float | None:
        value = self._values.get(metric, math.nan)
        return None if math.isnan(value) else value


def busiest_link(values: dict[str, float]) -> tuple[float | None, str]:
    """Return the use of the busiest measured link or memory as a part of its limit, and which it is.

    Args:
        values: metric id → newest value, NaN or absent where missing.

    Returns:
        (None, "") when none is measured with its limit.
    """
    limit = values.get(_LIMIT, math.nan)
    ratios = {name: values.get(metric, math.nan) / limit for metric, name in _LINKS.items() if limit > 0}
    ratios["memory bandwidth"] = values.get(_MEMORY, math.nan)
    known = {name: ratio for name, ratio in ratios.items() if not math.isnan(ratio)}
    if not known:
        return None, ""
    name = max(known, key=lambda each: known[each])
    return known[name], name
