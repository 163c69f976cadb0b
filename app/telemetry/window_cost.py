"""What the window costs, as a provider: the one part of the tool's own cost that only the window's process knows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from app.core.clock import NS_PER_S
from app.telemetry.calls import CallCost, CallSet, Outcome, PacedCall, failed
from app.telemetry.process_cost import ProcessMeter
from app.telemetry.provider import Reading, readings_of

METRIC: Final = "self_cpu_ratio.gui"


class WindowCostProvider:
    """CPU time of the process that shows the window, as `self_cpu_ratio.gui`, twice a second.

    Args:
        pid: that process.
        now_ns: CLOCK_MONOTONIC of the first CPU sample.
        cost_clock: measures the call, in ns.
    """

    def __init__(
        self, pid: int, now_ns: int | None = None, cost_clock: Callable[[], int] = time.perf_counter_ns
    ) -> None:
        self._meter = ProcessMeter(pid, time.monotonic_ns() if now_ns is None else now_ns)
        self._calls = CallSet([PacedCall("window.cpu", (METRIC,), self._read, NS_PER_S // 2)], cost_clock)

    @property
    def name(self) -> str:
        """Return `window`."""
        return "window"

    @property
    def label(self) -> str:
        """Return the name shown to people."""
        return f"window (process {self._meter.pid})"

    @property
    def device(self) -> str:
        """Return `host`."""
        return "host"

    def capabilities(self) -> Mapping[str, str]:
        """Return the metric and why it cannot be read, "" when it can."""
        return self._calls.capabilities()

    def poll(self, now_ns: int) -> list[Reading]:
        """Return the CPU ratio since the last poll."""
        return readings_of(self, self._calls.run_due(now_ns), now_ns)

    def call_costs(self) -> Sequence[CallCost]:
        """Return what reading it has cost."""
        return self._calls.costs()

    def close(self) -> None:
        """Nothing is held."""

    def _read(self, now_ns: int) -> Mapping[str, Outcome]:
        cost = self._meter.read(now_ns)
        return {METRIC: failed(cost.reason) if cost.reason else Outcome(cost.cpu_ratio)}
