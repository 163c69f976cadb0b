"""The graphs of the window."""

from __future__ import annotations

from typing import Final

from widgets.graph_panel import GraphSpec

GRAPHS: Final = (
    GraphSpec(
        "interval",
        "Frame interval",
        "Time from one shown frame to the next, in ms; dotted is the nominal interval, marks below are lost frames.",
        ("display_interval_ms", "present_interval_ms"),
        left_least=10.0,
        shows_losses=True,
        shows_event_text=True,
    ),
    GraphSpec(
        "jitter",
        "Jitter (ms)",
        "Standard deviation (N−1) of the interval above over the last second, in ms; it begins anew with a segment.",
        ("jitter_sd_ms",),
        left_least=0.5,
    ),
    GraphSpec(
        "bandwidth",
        "Bandwidth (MB/s, PCIe right)",
        "Left: bytes copied to the device, in windows of half a second. Right: what the PCIe link carries, for all "
        "programs together. 1 MB = 10⁶ bytes.",
        ("upload_bandwidth_bytes_per_s",),
        ("pcie_tx_bytes_per_s", "pcie_rx_bytes_per_s"),
        left_least=1.0,
        right_least=1.0,
    ),
    GraphSpec(
        "temperature",
        "Temperature (°C) · clocks (MHz)",
        "Temperatures on the left axis in °C, clocks on the right in MHz, as the driver reports them.",
        ("gpu_temperature_c", "memory_temperature_c", "host_temperature_c"),
        ("gpu_clock_mhz", "memory_clock_mhz"),
        right_least=100.0,
        around_step=10.0,
    ),
)
