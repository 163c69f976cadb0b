"""Tests run in a home of their own: nothing reads or writes the user's files, settings or caches."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import pytest

_XDG_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_CACHE_HOME": ".cache",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_RUNTIME_DIR": "run",
}

# What would make output or behaviour depend on who runs the tests.
_UNWANTED = ("FORCE_COLOR", "CLICOLOR_FORCE", "WAYLAND_DISPLAY", "QT_SCALE_FACTOR", "QT_STYLE_OVERRIDE")

_software_driver_key = pytest.StashKey[str]()
_home_key = pytest.StashKey[Path]()


def pytest_configure(config: pytest.Config) -> None:
    """Set the environment before any module under test is imported, because some read it at import."""
    home = Path(tempfile.mkdtemp(prefix="veotuner-test-home-"))
    config.stash[_home_key] = home
    os.environ["HOME"] = str(home)
    for variable, folder in _XDG_FOLDERS.items():
        (home / folder).mkdir(parents=True, mode=0o700)
        os.environ[variable] = str(home / folder)
    for variable in _UNWANTED:
        os.environ.pop(variable, None)
    os.environ["LC_ALL"] = "C.UTF-8"
    os.environ["MPLCONFIGDIR"] = str(config.rootpath / "build" / "matplotlib")  # its font list takes seconds to make
    config.stash[_software_driver_key] = _choose_software_vulkan()


def pytest_unconfigure(config: pytest.Config) -> None:
    """Remove the home; the process ends here, so its environment need not be put back."""
    shutil.rmtree(config.stash[_home_key], ignore_errors=True)


def pytest_report_header(config: pytest.Config) -> str:
    return f"Vulkan driver: {config.stash[_software_driver_key]}"


def software_drivers() -> list[Path]:
    """Return the loader's manifests of lavapipe, Mesa's Vulkan on the processor."""
    return sorted(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json"))


def _choose_software_vulkan() -> str:
    """Let the loader see lavapipe only, so that a test means the same with and without a GPU.

    A caller who set VK_DRIVER_FILES wants another driver tested and gets it.
    """
    chosen = os.environ.get("VK_DRIVER_FILES")
    if chosen:
        return f"{chosen} (from VK_DRIVER_FILES)"
    manifests = software_drivers()
    if not manifests:
        return "none of the software kind found; install mesa-vulkan-drivers (make setup does)"
    os.environ["VK_DRIVER_FILES"] = str(manifests[0])
    return str(manifests[0])
