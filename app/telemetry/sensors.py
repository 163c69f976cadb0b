"""Temperature sensors in sysfs: hwmon chips and thermal zones, under names that survive a reboot."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.telemetry.calls import Outcome, failed, unavailable
from app.telemetry.machine import read_text

_COLDEST_C: Final = -100.0
_HOTTEST_C: Final = 250.0
"""Unconnected sensors report the ends of their register (−274, −128, 255 °C): beyond these is no temperature."""

_PROCESSOR_CHIPS: Final = frozenset({"coretemp", "k10temp", "zenpower", "cpu_thermal", "soc_thermal"})
_PROCESSOR_ZONE: Final = re.compile(r"x86_pkg_temp|(cpu|soc)[\w-]*[-_]thermal|b?cpu[\w-]*")


@dataclass(frozen=True, slots=True)
class Sensor:
    """One temperature sensor.

    Attributes:
        name: chip and label as one slug: `coretemp.package_id_0`, `x86_pkg_temp`.
        path: file that holds millidegrees Celsius.
        is_processor: it measures the processor (and not a disk, a board or the ambient air).
        power_status: file that says whether the sensor's device is asleep; need not exist.
    """

    name: str
    path: Path
    is_processor: bool
    power_status: Path

    @property
    def metric(self) -> str:
        """Return the metric id, `host_temperature_c.{name}`."""
        return f"host_temperature_c.{self.name}"


def find_sensors(sys_root: Path) -> list[Sensor]:
    """Return every sensor under a sysfs root; names are unique, equal ones are numbered in order of their folders.

    The kernel's numbers (`hwmon3`, `thermal_zone1`) change between boots and are not part of a name.
    """
    taken: dict[str, int] = {}
    sensors = []
    for name, path, is_processor in (*_hwmon(sys_root), *_zones(sys_root)):
        taken[name] = taken.get(name, 0) + 1
        unique = name if taken[name] == 1 else f"{name}_{taken[name]}"
        sensors.append(Sensor(unique, path, is_processor, path.parent / "device/power/runtime_status"))
    return sensors


def read_celsius(sensor: Sensor) -> Outcome:
    """Return the temperature in °C; a device that sleeps is left asleep."""
    if read_text(sensor.power_status) == "suspended":
        return failed("the device is asleep; reading it would wake it")
    try:
        text = sensor.path.read_text(encoding="ascii", errors="replace").strip()
    except OSError as error:
        return _unreadable(error)
    try:
        celsius = int(text) / 1000
    except (ValueError, OverflowError):
        return failed(f"the sensor answers {text[:20]!r}, not a number")
    if _COLDEST_C <= celsius <= _HOTTEST_C:
        return Outcome(celsius)
    return failed(f"the sensor answers {celsius:g} °C, which is no temperature (not connected?)")


def _unreadable(error: OSError) -> Outcome:
    # EPERM is no matter of rights here: amdgpu answers it while the card is suspended.
    if error.errno == errno.EACCES:
        return unavailable("only the administrator may read this sensor")
    if error.errno == errno.ENOENT:
        return failed("the sensor has gone")
    return failed(f"the sensor does not answer ({errno.errorcode.get(error.errno or 0, str(error))})")


def _hwmon(sys_root: Path) -> Iterator[tuple[str, Path, bool]]:
    for folder in _numbered(sys_root / "class/hwmon", "hwmon"):
        chip = read_text(folder / "name") or folder.name
        for value in sorted(folder.glob("temp*_input"), key=_number):
            label = read_text(value.with_name(value.name.replace("_input", "_label")))
            name = f"{_slug(chip)}.{_slug(label or value.name.removesuffix('_input'))}"
            yield name, value, chip in _PROCESSOR_CHIPS


def _zones(sys_root: Path) -> Iterator[tuple[str, Path, bool]]:
    for folder in _numbered(sys_root / "class/thermal", "thermal_zone"):
        kind = read_text(folder / "type") or folder.name
        if (folder / "temp").exists():
            yield _slug(kind), folder / "temp", bool(_PROCESSOR_ZONE.fullmatch(kind.lower()))


def _numbered(parent: Path, prefix: str) -> list[Path]:
    return sorted(parent.glob(f"{prefix}[0-9]*"), key=_number)


def _number(path: Path) -> int:
    digits = re.search(r"\d+", path.name)
    return int(digits.group()) if digits else 0


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "sensor"
