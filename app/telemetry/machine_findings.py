"""Findings about the machine itself: system, processor, displays, power, other monitors, folders."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

import platformdirs
import psutil

from app.telemetry.cgroup import read_cpu_group
from app.telemetry.finding import Finding, failed, limited, ok
from app.telemetry.machine import Surroundings, container_name, is_wsl2, kernel_release, read_text
from app.telemetry.scheduling_findings import (
    find_niceness,
    find_processor_share,
    find_real_time_rights,
    read_scheduling_rights,
)

_MIB: Final = 2**20
_LEAST_MEMORY_BYTES: Final = 2 * 2**30
_LEAST_DISK_BYTES: Final = 200 * _MIB
"""A run of a minute with its recording, report and sample needs a fraction of it."""

OTHER_MONITORS: Final = frozenset(
    {
        "nvtop",
        "nvitop",
        "gpustat",
        "nvidia-smi",
        "nv-hostengine",
        "dcgm-exporter",
        "mangoapp",
        "lactd",
        "corectrl",
        "coolercontrold",
        "gwe",
        "tuxclocker",
        "radeontop",
        "amdgpu_top",
        "intel_gpu_top",
    }
)
"""Programs that poll or steer GPUs: their driver calls delay frames, or two masters set the clocks."""

_LAYER_SWITCHES: Final = ("MANGOHUD", "ENABLE_VKBASALT", "VK_INSTANCE_LAYERS", "VK_LAYER_PATH")


def machine_findings(surroundings: Surroundings) -> list[Finding]:
    """Return every finding of this module, in the order of the table."""
    processors, processes = psutil.cpu_count() or 1, _process_names()
    group, rights = read_cpu_group(surroundings.roots), read_scheduling_rights()
    return [
        find_system(surroundings),
        find_isolation(surroundings),
        find_processor(processors, _processor_name(surroundings)),
        find_memory(psutil.virtual_memory().available),
        find_display_server(surroundings),
        find_governor(surroundings),
        find_link_power(surroundings),
        find_power_source(surroundings),
        find_real_time_rights(surroundings, rights, group, processes),
        find_niceness(surroundings, rights.nice),
        find_processor_share(group, processors),
        find_render_nodes(surroundings),
        find_other_monitors(processes, surroundings),
        find_cache(platformdirs.user_cache_path("veotuner", appauthor=False)),
        find_folder("configuration folder", platformdirs.user_config_path("veotuner", appauthor=False)),
        find_folder("recordings folder", platformdirs.user_data_path("veotuner", appauthor=False)),
    ]


def find_system(surroundings: Surroundings) -> Finding:
    """Say which system and kernel this is."""
    release = read_text(surroundings.roots.etc / "os-release") or ""
    fields = dict(line.split("=", 1) for line in release.splitlines() if "=" in line)
    name = fields.get("PRETTY_NAME", platform.system()).strip('"')
    kernel = kernel_release(surroundings.roots) or platform.release()
    text = f"{name}, kernel {kernel}, {platform.machine()}, Python {platform.python_version()}"
    if platform.system() in ("Linux", "Windows"):
        return ok("system", text)
    return limited("system", text, "VeoTuner is made for Linux and Windows; expect the headless parts only")


def find_isolation(surroundings: Surroundings) -> Finding:
    """Say whether WSL2 or a container stands between this process and the hardware."""
    if is_wsl2(surroundings.roots):
        cure = "for true display times run it on native Linux or Windows; drivers under WSL2 belong into Windows"
        return limited("isolation", "WSL2: partial GPU readings, no native Vulkan of NVIDIA, no real display", cure)
    container = container_name(surroundings.roots)
    if container:
        cure = "hand the hardware in: --device /dev/dri for Mesa; --gpus all with capabilities utility,video,graphics"
        return limited("isolation", f"{container} container: it sees only the devices it was given", cure)
    return ok("isolation", "no container found")


def find_processor(cores: int, name: str) -> Finding:
    """Say how many cores there are: engine, window and encoder share them."""
    text = f"{name}, {cores} logical cores" if name else f"{cores} logical cores"
    if cores >= 2:
        return ok("processor", text)
    return limited("processor", text, "give the machine a second core: the window disturbs the engine on a single one")


def find_memory(available_bytes: int) -> Finding:
    """Say how much memory is free for programs."""
    text = f"{available_bytes / 2**30:.1f} GiB available"
    if available_bytes >= _LEAST_MEMORY_BYTES:
        return ok("memory", text)
    return limited("memory", text, "close other programs: swapping shows up as stalls in the frame intervals")


def find_display_server(surroundings: Surroundings) -> Finding:
    """Say which display server can be reached, not only which variable is set."""
    environ = surroundings.environ
    x11, wayland = environ.get("DISPLAY", ""), environ.get("WAYLAND_DISPLAY", "")
    session = environ.get("XDG_SESSION_TYPE", "unknown")
    if sys.platform == "win32":
        return ok("display server", "Windows desktop")
    named = [f"X11 at DISPLAY={x11}"] * bool(x11) + [f"Wayland at WAYLAND_DISPLAY={wayland}"] * bool(wayland)
    if not named:
        cure = "start it from a desktop session, or under Xvfb; without one, use --sink virtual:60 or headless"
        return limited("display server", "none: neither DISPLAY nor WAYLAND_DISPLAY is set", cure)
    text = f"{' and '.join(named)} (session type: {session})"
    silent = [path for path in _display_sockets(surroundings) if not path.exists()]
    if silent:
        cure = "correct or unset the variable, or start the server it names"
        return limited("display server", f"{text}; nothing listens at {silent[0]}", cure)
    if not x11:
        cure = "install XWayland for the embedded preview (Debian: xwayland); without it the preview has its own window"
        return limited("display server", text, cure)
    return ok("display server", text)


def find_governor(surroundings: Surroundings) -> Finding:
    """Say how the processor's clocks are governed: a slow ramp shows up as jitter."""
    files = sorted((surroundings.roots.sys / "devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_governor"))
    governors = sorted({text for path in files if (text := read_text(path))})
    if not governors:
        cure = "nothing to do here: the host or the firmware decides"
        return limited("processor clocks", "no governor to see (usual in a virtual machine)", cure)
    text = f"governor {', '.join(governors)} on {len(files)} cores"
    if governors == ["performance"]:
        return ok("processor clocks", text)
    cure = "for repeatable figures: powerprofilesctl set performance, or cpupower frequency-set -g performance"
    return limited("processor clocks", text, cure)


def find_link_power(surroundings: Surroundings) -> Finding:
    """Say whether PCIe links are put to sleep (ASPM): waking one costs microseconds at each upload."""
    policy = read_text(surroundings.roots.sys / "module/pcie_aspm/parameters/policy")
    if policy is None:
        return ok("PCIe power saving", "no ASPM policy on this machine")
    chosen = policy.partition("[")[2].partition("]")[0] or policy
    if chosen in ("default", "performance"):
        return ok("PCIe power saving", f"ASPM policy {chosen}")
    cure = "for repeatable figures: echo performance | sudo tee /sys/module/pcie_aspm/parameters/policy"
    return limited("PCIe power saving", f"ASPM policy {chosen}", cure)


def find_power_source(surroundings: Surroundings) -> Finding:
    """Say whether the machine runs on its battery."""
    supplies = sorted((surroundings.roots.sys / "class/power_supply").glob("*"))
    mains = [supply for supply in supplies if read_text(supply / "type") == "Mains"]
    if any(read_text(supply / "online") == "1" for supply in mains) or not mains:
        return ok("power source", "mains" if mains else "no battery seen")
    return limited("power source", "battery: clocks are held down", "plug the machine in before you measure")


def find_render_nodes(surroundings: Surroundings, may_use: Callable[[Path], bool] | None = None) -> Finding:
    """Say whether GPU device files exist and may be opened."""
    if sys.platform == "win32":
        return ok("GPU device files", "not used on Windows")
    may_use = may_use or (lambda path: os.access(path, os.R_OK | os.W_OK))
    dev = surroundings.roots.dev
    nodes = [*sorted((dev / "dri").glob("renderD*")), *sorted(dev.glob("nvidia[0-9]*"))]
    if not nodes:
        cure = "install the GPU's kernel driver, or hand the device into the container (--device /dev/dri)"
        return limited("GPU device files", "none under /dev/dri: Vulkan renders in software", cure)
    closed = [node for node in nodes if not may_use(node)]
    if closed:
        cure = "join the group that owns it: sudo usermod -aG render,video $USER, then log in again"
        return limited("GPU device files", f"no access to {', '.join(map(str, closed))}", cure)
    return ok("GPU device files", ", ".join(map(str, nodes)))


def find_other_monitors(names: Iterable[str], surroundings: Surroundings) -> Finding:
    """Say which other monitors, overlays and clock tools are active.

    Args:
        names: of the running processes.
    """
    running = sorted(OTHER_MONITORS.intersection(names))
    layers = [f"{switch}={value}" for switch in _LAYER_SWITCHES if (value := surroundings.environ.get(switch, ""))]
    if not running and not layers:
        return ok("other monitors", "none running")
    found = ", ".join([*running, *layers])
    cure = "end them while you measure: they poll the same driver, draw into the frames, or set the same clocks"
    return limited("other monitors", found, cure)


def find_cache(folder: Path) -> Finding:
    """Say whether the sample cache can be used, and what it holds."""
    finding = find_folder("sample cache", folder)
    if finding.cure:
        return finding
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()] if folder.is_dir() else []
    held = f"{len(sizes)} files, {sum(sizes) / _MIB:.1f} MiB" if sizes else "empty, filled at the first run"
    return ok("sample cache", f"{finding.text}; {held}")


def find_folder(topic: str, folder: Path) -> Finding:
    """Say whether a folder of ours can be written to and has room; it need not exist yet."""
    standing = next((path for path in (folder, *folder.parents) if path.exists()), folder)
    if not os.access(standing, os.W_OK):
        return failed(topic, f"{folder}: no right to write in {standing}", f"make {standing} writable, or set HOME")
    free = shutil.disk_usage(standing).free
    text = f"{folder}, {free / 2**30:.1f} GiB free"
    if free < _LEAST_DISK_BYTES:
        return failed(topic, text, f"make room: at least {_LEAST_DISK_BYTES / _MIB:.0f} MiB are needed")
    return ok(topic, text)


def _display_sockets(surroundings: Surroundings) -> list[Path]:
    """Return the sockets that the display variables name on this machine; a remote X11 display has none."""
    environ, top = surroundings.environ, surroundings.roots.top
    sockets = []
    host, _, number = environ.get("DISPLAY", "").rpartition(":")
    if number and host in ("", "unix"):
        sockets.append(top / "tmp/.X11-unix" / f"X{number.partition('.')[0]}")
    wayland = environ.get("WAYLAND_DISPLAY", "")
    if wayland:
        sockets.append(Path(environ.get("XDG_RUNTIME_DIR", "/run")) / wayland)
    return sockets


def _processor_name(surroundings: Surroundings) -> str:
    information = read_text(surroundings.roots.proc / "cpuinfo") or ""
    names = (line.partition(":")[2].strip() for line in information.splitlines() if line.startswith("model name"))
    return next(names, platform.processor())


def _process_names() -> list[str]:
    return [process.info["name"] or "" for process in psutil.process_iter(["name"])]
