"""The window's own cost is read like any other reading, and missing when the window is gone."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time

from app.core.clock import NS_PER_S
from app.telemetry.window_cost import METRIC, WindowCostProvider


def test_a_busy_process_is_seen_to_cost_a_share_of_a_core() -> None:
    started_ns, cpu_s = time.monotonic_ns(), time.process_time()
    provider = WindowCostProvider(os.getpid(), started_ns)
    while time.process_time() - cpu_s < 0.3:
        pass
    reading = provider.poll(started_ns + NS_PER_S)[0]
    assert (reading.metric, reading.provider, reading.reason) == (METRIC, "window", "")
    assert 0.25 < reading.value < 1.0
    assert reading.cost_us > 0
    provider.close()


def test_a_process_that_has_ended_costs_an_unknown_amount_and_not_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        provider = WindowCostProvider(child.pid)
    reading = provider.poll(time.monotonic_ns() + NS_PER_S)[0]
    assert math.isnan(reading.value)
    assert "has ended" in reading.reason
    assert provider.capabilities() == {METRIC: reading.reason}
