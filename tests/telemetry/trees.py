"""Recorded kernel file systems, as path → text; values as the kernel writes them, line ends included."""

from __future__ import annotations

from pathlib import Path

DESKTOP = {
    "sys/class/hwmon/hwmon0/name": "acpitz\n",
    "sys/class/hwmon/hwmon0/temp1_input": "27800\n",
    "sys/class/hwmon/hwmon1/name": "nvme\n",
    "sys/class/hwmon/hwmon1/temp1_input": "41850\n",
    "sys/class/hwmon/hwmon1/temp1_label": "Composite\n",
    "sys/class/hwmon/hwmon1/temp2_input": "53850\n",
    "sys/class/hwmon/hwmon1/temp2_label": "Sensor 1\n",
    "sys/class/hwmon/hwmon2/name": "nvme\n",
    "sys/class/hwmon/hwmon2/temp1_input": "38850\n",
    "sys/class/hwmon/hwmon2/temp1_label": "Composite\n",
    "sys/class/hwmon/hwmon10/name": "coretemp\n",
    "sys/class/hwmon/hwmon10/temp1_input": "63000\n",
    "sys/class/hwmon/hwmon10/temp1_label": "Package id 0\n",
    "sys/class/hwmon/hwmon10/temp2_input": "61000\n",
    "sys/class/hwmon/hwmon10/temp2_label": "Core 0\n",
    "sys/class/hwmon/hwmon10/temp10_input": "66000\n",
    "sys/class/hwmon/hwmon10/temp10_label": "Core 8\n",
    "sys/class/thermal/thermal_zone0/type": "acpitz\n",
    "sys/class/thermal/thermal_zone0/temp": "27800\n",
    "sys/class/thermal/thermal_zone1/type": "x86_pkg_temp\n",
    "sys/class/thermal/thermal_zone1/temp": "63000\n",
    "sys/class/thermal/cooling_device0/type": "Processor\n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n",
    "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor": "powersave\n",
    "sys/module/pcie_aspm/parameters/policy": "default performance [powersave] powersupersave \n",
    "sys/bus/pci/devices/0000:00:02.0/class": "0x030000\n",
    "sys/bus/pci/devices/0000:00:02.0/vendor": "0x8086\n",
    "sys/bus/pci/devices/0000:00:1f.3/class": "0x040300\n",
    "sys/bus/pci/devices/0000:00:1f.3/vendor": "0x8086\n",
    "sys/bus/pci/devices/0000:01:00.0/class": "0x030000\n",
    "sys/bus/pci/devices/0000:01:00.0/vendor": "0x10de\n",
    "proc/sys/kernel/osrelease": "6.12.48-amd64\n",
    "etc/os-release": 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\n',
}

ARM_BOARD = {
    "sys/class/thermal/thermal_zone0/type": "cpu-thermal\n",
    "sys/class/thermal/thermal_zone0/temp": "48312\n",
    "sys/class/hwmon/hwmon0/name": "cpu_thermal\n",
    "sys/class/hwmon/hwmon0/temp1_input": "48312\n",
    "proc/sys/kernel/osrelease": "6.6.51-rpi-v8\n",
}

WSL2 = {
    "proc/sys/kernel/osrelease": "5.15.167.4-microsoft-standard-WSL2\n",
    "etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\n',
}

LAPTOP_ON_BATTERY = {
    "sys/class/power_supply/AC/type": "Mains\n",
    "sys/class/power_supply/AC/online": "0\n",
    "sys/class/power_supply/BAT0/type": "Battery\n",
    "sys/module/pcie_aspm/parameters/policy": "[default] performance powersave powersupersave \n",
    "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "performance\n",
}


def plant(root: Path, tree: dict[str, str]) -> None:
    """Write a recorded tree below a folder."""
    for name, text in tree.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
