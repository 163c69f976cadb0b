"""Readings of the host: processors, memory, load, and every temperature sensor that sysfs shows."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol

import psutil

from app.core.clock import NS_PER_S
from app.telemetry.calls import CallCost, CallSet, Outcome, PacedCall, failed, pending, unavailable
from app.telemetry.machine import Roots
from app.telemetry.provider import Reading, readings_of
from app.telemetry.sensors import Sensor, find_sensors, read_celsius

FAST_NS: Final = NS_PER_S // 2
SLOW_NS: Final = 2 * NS_PER_S
"""Temperatures move slowly, and asking for a core's frequency interrupts that core on x86."""


class CpuTime(NamedTuple):
    """Time one core has spent since boot, in s: `busy` in work, `total` in all."""

    busy: float
    total: float


class HostMemory(NamedTuple):
    """Memory of the host in bytes; `used` is what new programs cannot have."""

    used: int
    total: int
    swap_used: int


class HostSystem(Protocol):
    """What is asked of the operating system."""

    def cpu_times(self) -> list[CpuTime]:
        """Return the times of each online core, in the system's order."""
        ...

    def cpu_frequencies_mhz(self) -> list[float]:
        """Return the frequency of each online core in MHz; empty where the system does not tell."""
        ...

    def memory(self) -> HostMemory:
        """Return the memory in use."""
        ...

    def load(self) -> float:
        """Return the load average over one minute."""
        ...


class PsutilSystem:
    """The running system through psutil."""

    def cpu_times(self) -> list[CpuTime]:
        """Return the times of each online core; idle and waiting for I/O are not busy."""
        return [_cpu_time(times._asdict()) for times in psutil.cpu_times(percpu=True)]

    def cpu_frequencies_mhz(self) -> list[float]:
        """Return MHz of each online core; empty in most virtual machines."""
        try:
            return [float(core.current) for core in psutil.cpu_freq(percpu=True) or []]
        except (OSError, NotImplementedError):
            return []

    def memory(self) -> HostMemory:
        """Return memory and swap in use."""
        memory = psutil.virtual_memory()
        return HostMemory(memory.total - memory.available, memory.total, psutil.swap_memory().used)

    def load(self) -> float:
        """Return the one-minute load average."""
        return float(psutil.getloadavg()[0])


class HostProvider:
    """Readings of this machine; its sensors are looked for once, when it is made.

    Args:
        roots: kernel file systems, for thermal zones and hwmon.
        system: the operating system's counters.
        now_ns: CLOCK_MONOTONIC of the first CPU sample.
        cost_clock: measures calls, in ns.
    """

    def __init__(
        self,
        roots: Roots | None = None,
        system: HostSystem | None = None,
        now_ns: int | None = None,
        cost_clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._system = system or PsutilSystem()
        self._last_times: list[CpuTime] = []
        sensors = find_sensors((roots or Roots()).sys)
        self._calls = CallSet([*self._system_calls(), *_sensor_calls(sensors)], cost_clock)
        # The first look finds out what is there; its readings are handed over with the first poll.
        self._first: list[Reading] = []
        self._first = self.poll(time.monotonic_ns() if now_ns is None else now_ns)

    @property
    def name(self) -> str:
        """Return `host`."""
        return "host"

    @property
    def label(self) -> str:
        """Return `This machine`."""
        return "This machine"

    @property
    def device(self) -> str:
        """Return `host`."""
        return "host"

    def capabilities(self) -> Mapping[str, str]:
        """Return "" for each metric this machine gives, else the reason."""
        return self._calls.capabilities()

    def poll(self, now_ns: int) -> list[Reading]:
        """Return what is due."""
        first, self._first = self._first, []
        return first + readings_of(self, self._calls.run_due(now_ns), now_ns)

    def call_costs(self) -> list[CallCost]:
        """Return what each read has cost."""
        return self._calls.costs()

    def close(self) -> None:
        """Do nothing: no file stays open between polls."""

    def _system_calls(self) -> list[PacedCall]:
        return [
            PacedCall("host.cpu", ("host_cpu_ratio",), self._cpu, FAST_NS),
            PacedCall("host.frequency", ("host_cpu_frequency_mhz",), self._frequency, SLOW_NS),
            PacedCall(
                "host.memory",
                ("host_memory_used_bytes", "host_memory_total_bytes", "host_swap_used_bytes"),
                self._memory,
                SLOW_NS,
            ),
            PacedCall("host.load", ("host_load",), self._load, SLOW_NS),
        ]

    def _cpu(self, _: int) -> dict[str, Outcome]:
        last, self._last_times = self._last_times, self._system.cpu_times()
        if len(last) != len(self._last_times):
            # First sample, or a core came or went: the cores no longer pair up.
            return {"host_cpu_ratio": pending("needs a second sample")}
        pairs = list(zip(last, self._last_times, strict=True))
        whole = _busy_ratio(_sum(last), _sum(self._last_times))
        return {
            "host_cpu_ratio": whole,
            **{f"host_cpu_ratio.{core}": _busy_ratio(before, now) for core, (before, now) in enumerate(pairs)},
        }

    def _frequency(self, _: int) -> dict[str, Outcome]:
        cores = self._system.cpu_frequencies_mhz()
        if not any(cores):
            return {"host_cpu_frequency_mhz": unavailable("the system does not tell (usual in a virtual machine)")}
        return {
            "host_cpu_frequency_mhz": Outcome(sum(cores) / len(cores)),
            **{f"host_cpu_frequency_mhz.{core}": Outcome(mhz) for core, mhz in enumerate(cores)},
        }

    def _memory(self, _: int) -> dict[str, Outcome]:
        memory = self._system.memory()
        return {
            "host_memory_used_bytes": Outcome(float(memory.used)),
            "host_memory_total_bytes": Outcome(float(memory.total)),
            "host_swap_used_bytes": Outcome(float(memory.swap_used)),
        }

    def _load(self, _: int) -> dict[str, Outcome]:
        return {"host_load": Outcome(self._system.load())}


def _sensor_calls(sensors: list[Sensor]) -> list[PacedCall]:
    """Return one call a sensor, so that a slow or broken one is backed off alone, and one for the hottest."""
    latest: dict[str, Outcome] = {}

    def read(sensor: Sensor) -> Callable[[int], dict[str, Outcome]]:
        def outcomes(_: int) -> dict[str, Outcome]:
            latest[sensor.metric] = read_celsius(sensor)
            return {sensor.metric: latest[sensor.metric]}

        return outcomes

    def hottest(_: int) -> dict[str, Outcome]:
        processors = [latest[s.metric] for s in sensors if s.is_processor and s.metric in latest]
        return {"host_temperature_c": _hottest(processors)}

    calls = [PacedCall(f"host.{sensor.name}", (sensor.metric,), read(sensor), SLOW_NS) for sensor in sensors]
    return [*calls, PacedCall("host.hottest", ("host_temperature_c",), hottest, SLOW_NS)]


def _hottest(outcomes: list[Outcome]) -> Outcome:
    if not outcomes:
        return unavailable("no processor sensor under /sys/class/hwmon or /sys/class/thermal (usual in a VM)")
    measured = [outcome for outcome in outcomes if not outcome.reason]
    return max(measured, key=lambda outcome: outcome.value) if measured else failed(outcomes[0].reason)


def _busy_ratio(before: CpuTime, now: CpuTime) -> Outcome:
    total = now.total - before.total
    if total <= 0:
        return failed("no CPU time has been counted since the last sample")
    # Idle time of one core may go back by a tick while the kernel corrects it; the ratio stays within its range.
    return Outcome(min(max((now.busy - before.busy) / total, 0.0), 1.0))


def _sum(times: list[CpuTime]) -> CpuTime:
    return CpuTime(sum(core.busy for core in times), sum(core.total for core in times))


def _cpu_time(times: Mapping[str, float]) -> CpuTime:
    # The kernel counts guest time inside user and nice as well; adding it again would count it twice.
    total = sum(value for name, value in times.items() if name not in ("guest", "guest_nice"))
    return CpuTime(total - times.get("idle", 0.0) - times.get("iowait", 0.0), total)
