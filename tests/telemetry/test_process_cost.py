"""What a real child process costs."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time

import psutil
import pytest

from app.core.clock import NS_PER_S
from app.telemetry.process_cost import ProcessMeter


def test_a_busy_child_costs_cpu_and_an_idle_one_does_not() -> None:
    with subprocess.Popen([sys.executable, "-c", "while True: pass"]) as child:
        # The kernel counts CPU time in ticks of 10 ms, so the reading needs a while of real time and no clock of ours.
        meter = ProcessMeter(child.pid, 0)
        while meter.read(0).rss_bytes < 1e6 or _cpu_s(child.pid) < 0.2:
            time.sleep(0.01)
        cost = meter.read(10 * NS_PER_S)
        child.kill()
    assert 0.01 <= cost.cpu_ratio <= 5
    assert cost.rss_bytes > 1e6
    assert cost.reason == ""


def test_a_ratio_is_cpu_time_over_the_time_that_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = iter([10.0, 11.5, 11.5])
    monkeypatch.setattr("app.telemetry.process_cost._cpu_seconds", lambda _: next(seconds))
    meter = ProcessMeter(os.getpid(), 0)
    assert meter.read(NS_PER_S).cpu_ratio == 1.5
    assert meter.read(2 * NS_PER_S).cpu_ratio == 0


def test_no_time_passed_is_no_ratio_but_memory() -> None:
    cost = ProcessMeter(os.getpid(), 5).read(5)
    assert math.isnan(cost.cpu_ratio)
    assert "no time" in cost.reason
    assert cost.rss_bytes > 0


def test_a_killed_child_reads_as_ended_also_before_it_is_reaped() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        meter = ProcessMeter(child.pid, 0)
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # a zombie now
        unreaped = meter.read(NS_PER_S)
    reaped = meter.read(2 * NS_PER_S)
    for cost in (unreaped, reaped):
        assert math.isnan(cost.cpu_ratio)
        assert math.isnan(cost.rss_bytes)
        assert cost.reason == f"process {child.pid} has ended"


def test_a_process_that_never_was_has_ended() -> None:
    assert "has ended" in ProcessMeter(2**22 + 1, 0).read(1).reason


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)
