"""What a process of our own costs: CPU and memory, for the engine and the GUI."""

from __future__ import annotations

from dataclasses import dataclass

import psutil

from app.core.clock import NS_PER_S


@dataclass(frozen=True, slots=True)
class ProcessCost:
    """Cost of one process.

    Attributes:
        cpu_ratio: CPU time ÷ wall time since the last reading; 1.0 is one core kept busy, several threads may pass
            it. NaN when missing.
        rss_bytes: resident memory now; NaN when missing. Memory shared with other processes counts in each.
        reason: why something is missing; "" when nothing is.
    """

    cpu_ratio: float
    rss_bytes: float
    reason: str


class ProcessMeter:
    """Reads the cost of a process over and over; used by one thread.

    Args:
        pid: the process. Its start time is remembered, so that a later process with the same number is not taken
            for it.
        now_ns: CLOCK_MONOTONIC of the first CPU sample.
    """

    def __init__(self, pid: int, now_ns: int) -> None:
        self.pid = pid
        self._process: psutil.Process | None = None
        self._cpu_s = 0.0
        self._at_ns = now_ns
        try:
            self._process = psutil.Process(pid)
            self._cpu_s = _cpu_seconds(self._process)
        except psutil.Error:
            self._process = None

    def read(self, now_ns: int) -> ProcessCost:
        """Return the cost since the last reading; never raises."""
        if self._process is None:
            return _missing(f"process {self.pid} has ended")
        try:
            if not _is_alive(self._process):
                self._process = None
                return _missing(f"process {self.pid} has ended")
            return self._measure(self._process, now_ns)
        except psutil.AccessDenied:
            return _missing(f"process {self.pid} belongs to another user")
        except psutil.Error:
            self._process = None
            return _missing(f"process {self.pid} has ended")

    def _measure(self, process: psutil.Process, now_ns: int) -> ProcessCost:
        cpu_s, rss_bytes = _cpu_seconds(process), float(process.memory_info().rss)
        elapsed_s = (now_ns - self._at_ns) / NS_PER_S
        if elapsed_s <= 0:
            return ProcessCost(float("nan"), rss_bytes, "no time has passed since the last sample")
        ratio = (cpu_s - self._cpu_s) / elapsed_s
        self._cpu_s, self._at_ns = cpu_s, now_ns
        return ProcessCost(max(ratio, 0.0), rss_bytes, "")


def _is_alive(process: psutil.Process) -> bool:
    # A killed child that its parent has not reaped yet still has times and 0 bytes: it must read as ended, not as idle.
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


def _cpu_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _missing(reason: str) -> ProcessCost:
    return ProcessCost(float("nan"), float("nan"), reason)
