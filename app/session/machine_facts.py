"""The machine a run was made on, for its manifest and report. Nothing that names a person, a host or a network."""

from __future__ import annotations

import contextlib
import os
import platform
import re
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import psutil

LIBRARIES: Final = ("numpy", "av", "vulkan", "pyarrow", "PySide6-Essentials", "pyqtgraph", "nvidia-ml-py")
"""Libraries whose version can change a measured number or a picture on the screen."""


def machine_facts() -> dict[str, Any]:
    """Return what this machine is: system, kernel, processor, memory, display session, interpreter and libraries."""
    return {
        "system": _system(),
        "kernel": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "processor": _processor(),
        "physical_cores": psutil.cpu_count(logical=False),
        "logical_cores": psutil.cpu_count(),
        "memory_bytes": psutil.virtual_memory().total,
        "display_session": _display_session(),
        "python": f"{platform.python_implementation()} {platform.python_version()}",
        "libraries": {name: _version(name) for name in LIBRARIES},
    }


def _system() -> str:
    with contextlib.suppress(OSError, AttributeError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return f"{platform.system()} {platform.version()}"


def _processor() -> str:
    with contextlib.suppress(OSError):
        model = re.search(r"^(?:model name|Model)\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
        if model:
            return model[1].strip()
    return platform.processor() or "unknown"


def _display_session() -> str:
    if platform.system() == "Windows":
        return "windows"
    names = [
        name for name, variable in (("wayland", "WAYLAND_DISPLAY"), ("x11", "DISPLAY")) if os.environ.get(variable)
    ]
    return "+".join(names) or "none"


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
