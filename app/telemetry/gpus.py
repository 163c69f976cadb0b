"""Which GPU telemetry reads, and what the panel says about it: what is there, what is missing, why, and the cure."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from app.core.clock import NS_PER_S
from app.telemetry.machine import NVIDIA_VENDOR_ID, PciDisplay, Roots, is_wsl2, pci_displays
from app.telemetry.nvml import NvmlProvider, NvmlUnavailableError, normalise_gpu_id
from app.telemetry.provider import Provider
from app.telemetry.simulated import SimulatedProvider

AUTO: Final = "auto"
NO_GPU: Final = "none"
SIMULATED: Final = "simulated"

TRY_SIMULATED: Final = "to try the panel without hardware choose the simulated GPU (--gpu simulated)"

LOAD_CYCLE_S: Final = (40.0, 20.0)
"""Seconds of full load and of rest of the simulated GPU when nothing real drives it: warm-up and cooling show."""


def choose_gpu_provider(
    choice: str,
    *,
    load: Callable[[], float] | None = None,
    roots: Roots | None = None,
) -> tuple[Provider | None, str]:
    """Open the GPU that telemetry reads.

    Args:
        choice: `auto` (the only GPU; never the simulated one), `none`, `simulated`, or the UUID or PCI address of an
            NVIDIA GPU.
        load: what drives the simulated GPU, 0 to 1; None lets it cycle between load and rest.
        roots: kernel file systems.

    Returns:
        The opened provider and "", or None and why there is none, with the cure.
    """
    roots = roots or Roots()
    if choice == NO_GPU:
        return None, "GPU telemetry is switched off (--gpu none)"
    if choice == SIMULATED:
        return SimulatedProvider(load or cycling_load()), ""
    if choice == AUTO:
        return _open("", roots)
    gpu_id = normalise_gpu_id(choice)
    if gpu_id is None:
        return None, (
            f"{choice!r} is no GPU: give auto, none, simulated, a UUID (GPU-…) or a PCI address (0000:01:00.0); "
            "veotuner doctor lists what is there"
        )
    return _open(gpu_id, roots)


def explain_no_gpu(displays: Sequence[PciDisplay], nvml_error: str, *, wsl2: bool) -> str:
    """Return why this machine has no GPU telemetry, and the cure, from what stands on its PCI bus.

    Args:
        displays: display controllers of the PCI bus.
        nvml_error: what NVML said.
        wsl2: the GPU then belongs to Windows and stands on no PCI bus here.
    """
    nvidia = [display for display in displays if display.vendor_id == NVIDIA_VENDOR_ID]
    others = sorted({display.vendor for display in displays} - {"NVIDIA"})
    if wsl2:
        return f"{nvml_error}; under WSL2 the driver is installed in Windows, not in Linux. Else {TRY_SIMULATED}"
    if nvidia:
        driver = nvidia[0].driver or "none"
        return f"an NVIDIA GPU is at {nvidia[0].address} (kernel driver: {driver}), but {nvml_error}"
    if others:
        return (
            f"no NVIDIA GPU on the PCI bus; sensors of {' and '.join(others)} graphics are shown with the host's as "
            f"far as the kernel offers them. Else {TRY_SIMULATED}"
        )
    return f"no GPU on the PCI bus of this machine (usual in a virtual machine or container); {TRY_SIMULATED}"


def cycling_load(now_ns: Callable[[], int] = time.monotonic_ns) -> Callable[[], float]:
    """Return a load that is full for the first of `LOAD_CYCLE_S` and nothing for the second, over and over."""
    origin_ns = now_ns()
    busy_s, rest_s = LOAD_CYCLE_S

    def load() -> float:
        elapsed_s = (now_ns() - origin_ns) / NS_PER_S
        return 1.0 if elapsed_s % (busy_s + rest_s) < busy_s else 0.0

    return load


def _open(gpu_id: str, roots: Roots) -> tuple[Provider | None, str]:
    try:
        return NvmlProvider(gpu_id, roots), ""
    except NvmlUnavailableError as error:
        displays = pci_displays(roots)
        if gpu_id and any(display.vendor_id == NVIDIA_VENDOR_ID for display in displays):
            return None, str(error)
        return None, explain_no_gpu(displays, str(error), wsl2=is_wsl2(roots))
