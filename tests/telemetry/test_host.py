"""Host readings: ratios from counters, sensors from recorded trees, and the machine the tests run on."""

from __future__ import annotations

import errno
import math
import os
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_S
from app.telemetry.calls import Verdict
from app.telemetry.host import CpuTime, HostMemory, HostProvider, PsutilSystem
from app.telemetry.machine import Roots
from app.telemetry.provider import HOST_METRICS, Reading
from app.telemetry.sensors import find_sensors, read_celsius
from tests.telemetry.trees import ARM_BOARD, DESKTOP, plant


class LinuxCpuTimes(NamedTuple):
    """What psutil answers on Linux, in s."""

    user: float
    nice: float
    system: float
    idle: float
    iowait: float
    irq: float
    softirq: float
    steal: float
    guest: float
    guest_nice: float


class ScriptedSystem:
    """An operating system with given counters."""

    def __init__(self, *times: list[CpuTime]) -> None:
        self.times = list(times)
        self.frequencies: list[float] = []

    def cpu_times(self) -> list[CpuTime]:
        return self.times.pop(0) if len(self.times) > 1 else self.times[0]

    def cpu_frequencies_mhz(self) -> list[float]:
        return self.frequencies

    def memory(self) -> HostMemory:
        return HostMemory(6 * 2**30, 16 * 2**30, 2**20)

    def load(self) -> float:
        return 1.25


def poll(provider: HostProvider, at_s: float) -> dict[str, Reading]:
    return {reading.metric: reading for reading in provider.poll(round(at_s * NS_PER_S))}


def test_cpu_ratio_is_busy_over_all_cores_and_per_core(empty_roots: Roots) -> None:
    system = ScriptedSystem([CpuTime(10, 100), CpuTime(0, 100)], [CpuTime(11, 102), CpuTime(2, 102)])
    provider = HostProvider(empty_roots, system, now_ns=0)
    readings = poll(provider, 0.5)
    assert readings["host_cpu_ratio"].value == 0.75
    assert (readings["host_cpu_ratio.0"].value, readings["host_cpu_ratio.1"].value) == (0.5, 1.0)


def test_a_core_that_goes_offline_pairs_with_no_other(empty_roots: Roots) -> None:
    two, one = [CpuTime(10, 100), CpuTime(0, 100)], [CpuTime(12, 104)]
    provider = HostProvider(empty_roots, ScriptedSystem(two, one, [CpuTime(13, 106)]), now_ns=0)
    assert math.isnan(poll(provider, 0.5)["host_cpu_ratio"].value)
    assert poll(provider, 1.0)["host_cpu_ratio"].value == 0.5


@given(
    before=st.tuples(st.floats(0, 1e9), st.floats(0, 1e9)),
    change=st.tuples(st.floats(-1, 100), st.floats(-1, 100)),
)
def test_a_cpu_ratio_is_between_0_and_1_or_missing(before: tuple[float, float], change: tuple[float, float]) -> None:
    first = CpuTime(*before)
    second = CpuTime(first.busy + change[0], first.total + change[1])
    provider = HostProvider(Roots(sys=Path("/nonexistent")), ScriptedSystem([first], [second]), now_ns=0)
    reading = poll(provider, 0.5)["host_cpu_ratio"]
    assert (math.isnan(reading.value) and reading.reason) or 0 <= reading.value <= 1


def test_memory_load_and_frequencies_come_in_their_units(empty_roots: Roots) -> None:
    system = ScriptedSystem([CpuTime(0, 0)])
    system.frequencies = [800.0, 3200.0]
    readings = poll(HostProvider(empty_roots, system, now_ns=0), 2)
    assert readings["host_memory_used_bytes"].value == 6 * 2**30
    assert readings["host_memory_total_bytes"].value == 16 * 2**30
    assert readings["host_swap_used_bytes"].value == 2**20
    assert readings["host_load"].value == 1.25
    assert readings["host_cpu_frequency_mhz"].value == 2000
    assert readings["host_cpu_frequency_mhz.1"].value == 3200


def test_what_a_virtual_machine_lacks_is_missing_with_a_reason(empty_roots: Roots) -> None:
    provider = HostProvider(empty_roots, ScriptedSystem([CpuTime(0, 0)]), now_ns=0)
    capabilities = provider.capabilities()
    assert "virtual machine" in capabilities["host_cpu_frequency_mhz"]
    assert "no processor sensor" in capabilities["host_temperature_c"]


def test_sensors_have_names_that_survive_a_reboot(tmp_path: Path) -> None:
    plant(tmp_path, DESKTOP)
    sensors = {sensor.name: read_celsius(sensor).value for sensor in find_sensors(tmp_path / "sys")}
    assert sensors == {
        "acpitz.temp1": 27.8,
        "nvme.composite": 41.85,
        "nvme.sensor_1": 53.85,
        "nvme.composite_2": 38.85,
        "coretemp.package_id_0": 63.0,
        "coretemp.core_0": 61.0,
        "coretemp.core_8": 66.0,
        "acpitz": 27.8,
        "x86_pkg_temp": 63.0,
    }


@pytest.mark.parametrize(("tree", "hottest"), [(DESKTOP, 66.0), (ARM_BOARD, 48.312)])
def test_the_host_temperature_is_the_hottest_processor_sensor(
    tmp_path: Path, tree: dict[str, str], hottest: float, empty_roots: Roots
) -> None:
    plant(tmp_path, tree)
    provider = HostProvider(empty_roots, ScriptedSystem([CpuTime(0, 0)]), now_ns=0)
    assert poll(provider, 2)["host_temperature_c"].value == pytest.approx(hottest)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("-274000\n", "no temperature"),
        ("255000\n", "no temperature"),
        ("N/A\n", "not a number"),
        ("", "not a number"),
        ("63.5\n", "not a number"),
        ("9" * 400, "not a number"),
        ("9" * 5000, "not a number"),
        ("\x00\xff", "not a number"),
    ],
)
def test_a_bad_sensor_is_missing_and_leaves_the_others_alone(
    tmp_path: Path, text: str, reason: str, empty_roots: Roots
) -> None:
    plant(tmp_path, DESKTOP | {"sys/class/hwmon/hwmon0/temp1_input": text})
    readings = poll(HostProvider(empty_roots, ScriptedSystem([CpuTime(0, 0)]), now_ns=0), 2)
    bad = readings["host_temperature_c.acpitz.temp1"]
    assert math.isnan(bad.value)
    assert reason in bad.reason
    assert readings["host_temperature_c.nvme.composite"].value == 41.85


def test_a_sensor_that_goes_is_missing_and_comes_back(tmp_path: Path, empty_roots: Roots) -> None:
    plant(tmp_path, DESKTOP)
    provider = HostProvider(empty_roots, ScriptedSystem([CpuTime(0, 0)]), now_ns=0)
    (tmp_path / "sys/class/hwmon/hwmon1/temp1_input").unlink()
    assert poll(provider, 2)["host_temperature_c.nvme.composite"].reason == "the sensor has gone"
    plant(tmp_path, DESKTOP)
    assert poll(provider, 4)["host_temperature_c.nvme.composite"].value == 41.85


def test_a_sensor_of_a_sleeping_device_is_left_asleep(tmp_path: Path) -> None:
    plant(tmp_path, DESKTOP | {"sys/class/hwmon/hwmon1/device/power/runtime_status": "suspended\n"})
    nvme = next(sensor for sensor in find_sensors(tmp_path / "sys") if sensor.name == "nvme.composite")
    assert "asleep" in read_celsius(nvme).reason


@pytest.mark.parametrize(
    ("number", "verdict", "reason"),
    [
        (errno.EACCES, Verdict.UNAVAILABLE, "administrator"),
        (errno.EPERM, Verdict.FAILED, "EPERM"),
        (errno.EIO, Verdict.FAILED, "EIO"),
        (errno.ENODATA, Verdict.FAILED, "ENODATA"),
        (errno.EAGAIN, Verdict.FAILED, "EAGAIN"),
    ],
)
def test_a_sensor_that_refuses_says_how(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, verdict: Verdict, reason: str
) -> None:
    plant(tmp_path, DESKTOP)
    nvme = next(sensor for sensor in find_sensors(tmp_path / "sys") if sensor.name == "nvme.composite")

    def refuse(*_: object, **__: object) -> str:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(Path, "read_text", refuse)  # root, as whom tests may run, is refused nothing
    outcome = read_celsius(nvme)
    assert outcome.verdict is verdict
    assert reason in outcome.reason


def test_waiting_for_a_disk_is_not_busy_and_a_guest_is_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    core = LinuxCpuTimes(50, 4, 20, 100, 30, 1, 2, 3, 40, 4)
    monkeypatch.setattr("psutil.cpu_times", lambda **_: [core])
    assert PsutilSystem().cpu_times() == [CpuTime(busy=80, total=210)]


def test_this_machine_is_read_for_real() -> None:
    provider = HostProvider()
    readings = {reading.metric: reading for reading in provider.poll(2**62)}
    assert set(HOST_METRICS) <= set(readings)
    total = PsutilSystem().memory().total
    assert readings["host_memory_total_bytes"].value == total
    assert 0 < readings["host_memory_used_bytes"].value < total
    assert readings["host_load"].value >= 0
    for reading in readings.values():
        assert math.isnan(reading.value) == bool(reading.reason)
        assert (reading.provider, reading.device) == ("host", "host")
    provider.close()
