"""What a provider of readings is: the protocol that the sampler polls, and the reading it returns.

A provider reads; it never changes anything on the machine. Metric ids are those of the metric table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from app.telemetry.calls import CallCost, Timed

THROTTLE_CAUSES: Final = ("power", "thermal", "sync", "sw_thermal", "hw_thermal", "brake")
"""Why a driver held the clocks down; each has a counter in ns (`throttle_ns.{cause}`)."""

GPU_METRICS: Final[tuple[str, ...]] = (
    "gpu_temperature_c",
    "memory_temperature_c",
    "thermal_margin_c",
    "gpu_clock_mhz",
    "gpu_clock_max_mhz",
    "memory_clock_mhz",
    "memory_clock_max_mhz",
    "power_w",
    "power_limit_w",
    "gpu_utilisation_ratio",
    "memory_utilisation_ratio",
    "encoder_utilisation_ratio",
    "decoder_utilisation_ratio",
    "gpu_memory_used_bytes",
    "gpu_memory_total_bytes",
    "pcie_tx_bytes_per_s",
    "pcie_rx_bytes_per_s",
    "pcie_link_generation",
    "pcie_link_width",
    "pcie_link_generation_max",
    "pcie_link_width_max",
    "pcie_limit_bytes_per_s",
    *(f"throttle_ns.{cause}" for cause in THROTTLE_CAUSES),
)
"""Every metric that a GPU provider of this version can report, in the order of the panel."""

HOST_METRICS: Final[tuple[str, ...]] = (
    "host_cpu_ratio",
    "host_cpu_frequency_mhz",
    "host_load",
    "host_memory_used_bytes",
    "host_memory_total_bytes",
    "host_swap_used_bytes",
    "host_temperature_c",
)
"""Host metrics with one value. CPU and temperature also come one a core and one a sensor, as members of their family:
`host_cpu_ratio.3`, `host_temperature_c.nvme.composite`."""

FACTS: Final[dict[str, str]] = {
    "pcie_link_generation": "PCIe generation of the link as it is now; idle cards drop to 1.",
    "pcie_link_width": "Lanes of the link as it is now.",
    "pcie_link_generation_max": "Highest PCIe generation that GPU and slot both have.",
    "pcie_link_width_max": "Most lanes that GPU and slot both have.",
    "host_load": "Runnable and uninterruptible tasks, averaged over one minute (the kernel's load average).",
}
"""Readings that are recorded, drawn in no graph and hence without a row in the metric table: id → definition."""


@dataclass(frozen=True, slots=True)
class Reading:
    """One value of one metric at one time.

    Attributes:
        metric: id in the metric table; its unit is part of the id.
        value: in that unit; NaN when missing, never 0 for "unknown".
        reason: why it is missing; "" when `value` is a number.
        at_ns: CLOCK_MONOTONIC of the poll that took it.
        cost_us: wall time in µs of the driver call that gave it; NaN where another reading of the same poll carries
            that call's cost, or no call was made. Costs may thus be summed over readings.
        provider: `Provider.name`.
        device: UUID of the device, or "host".
    """

    metric: str
    value: float
    reason: str
    at_ns: int
    cost_us: float
    provider: str
    device: str


class Provider(Protocol):
    """A source of readings. Used by one thread at a time: the one that opens it, then the sampler's."""

    @property
    def name(self) -> str:
        """Return the short name used in records: `host`, `nvml`, `simulated`."""
        ...

    @property
    def label(self) -> str:
        """Return the name shown to people, with the identity of the device."""
        ...

    @property
    def device(self) -> str:
        """Return what `Reading.device` says."""
        ...

    def capabilities(self) -> Mapping[str, str]:
        """Return every metric this provider knows of: "" when it can be read, else why it cannot."""
        ...

    def poll(self, now_ns: int) -> list[Reading]:
        """Return the readings that are due at `now_ns`; a metric read on a slower pace is left out in between."""
        ...

    def call_costs(self) -> Sequence[CallCost]:
        """Return what each driver call has cost since the provider was opened."""
        ...

    def close(self) -> None:
        """Release the driver; nothing may be called afterwards. Closing twice does nothing."""
        ...


def readings_of(provider: Provider, timed: Iterable[Timed], now_ns: int) -> list[Reading]:
    """Return what calls gave at `now_ns` (CLOCK_MONOTONIC) as the readings of their provider."""
    return [
        Reading(metric, outcome.value, outcome.reason, now_ns, cost_us, provider.name, provider.device)
        for metric, outcome, cost_us in timed
    ]
