"""What kind of machine this is: WSL2, container, PCI display devices. Every root is injectable."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final


@dataclass(frozen=True, slots=True)
class Roots:
    """Where the kernel's file systems are mounted; tests point them at recorded trees.

    Attributes:
        sys, proc, dev, run, etc: normally /sys, /proc, /dev, /run, /etc.
        top: the file system's root, for marker files of container run-times.
    """

    sys: Path = Path("/sys")
    proc: Path = Path("/proc")
    dev: Path = Path("/dev")
    run: Path = Path("/run")
    etc: Path = Path("/etc")
    top: Path = Path("/")


@dataclass(frozen=True, slots=True)
class PciDisplay:
    """A display controller on the PCI bus.

    Attributes:
        address: `0000:01:00.0`.
        vendor_id: 0x10de NVIDIA, 0x1002 AMD, 0x8086 Intel, 0x1af4 virtio and so on.
        driver: kernel driver bound to it; "" when none is.
    """

    address: str
    vendor_id: int
    driver: str

    @property
    def vendor(self) -> str:
        """Return the vendor's name, or its id in hexadecimal."""
        return PCI_VENDORS.get(self.vendor_id, f"vendor 0x{self.vendor_id:04x}")


PCI_VENDORS: Final = {
    0x10DE: "NVIDIA",
    0x1002: "AMD",
    0x8086: "Intel",
    0x1AF4: "virtio",
    0x1234: "QEMU",
    0x15AD: "VMware",
    0x1A03: "ASPEED",
}
NVIDIA_VENDOR_ID: Final = 0x10DE
_DISPLAY_CLASS: Final = 0x03


def read_text(path: Path) -> str | None:
    """Return a small kernel file without its line end, or None when it is missing or may not be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip("\n\0 ")
    except OSError:
        return None


def kernel_release(roots: Roots) -> str:
    """Return the kernel's release, or "" where there is none to read (not Linux)."""
    return read_text(roots.proc / "sys/kernel/osrelease") or ""


def is_wsl2(roots: Roots) -> bool:
    """Tell whether this is Linux inside WSL2, where NVML answers some calls with Unknown."""
    return "microsoft" in kernel_release(roots).lower()


def container_name(roots: Roots) -> str:
    """Return what kind of container this process runs in, or ""."""
    if (roots.top / ".dockerenv").exists():
        return "docker"
    if (roots.run / ".containerenv").exists():
        return "podman"
    # systemd and most run-times leave the kind in PID 1's environment; only root may read it, so this may miss one.
    environment = read_text(roots.proc / "1/environ") or ""
    kinds = [entry.partition("=")[2] for entry in environment.split("\0") if entry.startswith("container=")]
    return kinds[0] if kinds else ""


def pci_displays(roots: Roots) -> list[PciDisplay]:
    """Return the display controllers of the PCI bus in order of address; empty where there is no PCI bus."""
    found = []
    for folder in sorted((roots.sys / "bus/pci/devices").glob("*")):
        device_class, vendor = _hex(folder / "class"), _hex(folder / "vendor")
        if device_class is not None and vendor is not None and device_class >> 16 == _DISPLAY_CLASS:
            found.append(PciDisplay(folder.name, vendor, _driver(folder)))
    return found


def is_asleep(roots: Roots, pci_address: str) -> bool:
    """Tell whether run-time power management has suspended a PCI device; reading its sensors would wake it."""
    status = read_text(roots.sys / "bus/pci/devices" / pci_address / "power/runtime_status")
    return status == "suspended"


def _hex(path: Path) -> int | None:
    text = read_text(path)
    try:
        return int(text, 16) if text else None
    except ValueError:
        return None


def _driver(folder: Path) -> str:
    try:
        return (folder / "driver").readlink().name
    except OSError:
        return ""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Roots and environment of this process, as one value.

    Attributes:
        roots: mounted kernel file systems.
        environ: environment variables.
    """

    roots: Roots = field(default_factory=Roots)
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))
