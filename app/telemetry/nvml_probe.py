"""Says what NVML offers on this machine, as JSON: `python -m app.telemetry.nvml_probe`.

Runs as a child of `veotuner doctor`: drivers were seen to crash in NVML under WSL2 and after a GPU fell off the bus.
"""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import Any, Final

from app.telemetry.gpus import explain_no_gpu
from app.telemetry.machine import Roots, is_wsl2, pci_displays
from app.telemetry.nvml import GpuIdentity, NvmlProvider, NvmlUnavailableError, list_gpus

PROBE_SCHEMA: Final = "veotuner-nvml-probe/1"


def probe(roots: Roots | None = None) -> dict[str, Any]:
    """Return `schema`, `fault` (why there is no NVML or no GPU, with the cure; "" otherwise) and `gpus`.

    A GPU has name, uuid, pci_address, driver_version, mig_enabled, mig_uuids, and `capabilities`: metric → "" or
    why it is missing.
    """
    roots = roots or Roots()
    try:
        gpus = list_gpus(roots)
    except NvmlUnavailableError as error:
        fault = explain_no_gpu(pci_displays(roots), str(error), wsl2=is_wsl2(roots))
        return {"schema": PROBE_SCHEMA, "fault": fault, "gpus": []}
    fault = "" if gpus else "the NVIDIA driver is loaded but sees no GPU; check that the card is listed by lspci"
    return {"schema": PROBE_SCHEMA, "fault": fault, "gpus": [_describe(gpu, roots) for gpu in gpus]}


def main() -> int:
    """Print the answer as one line of JSON."""
    sys.stdout.write(json.dumps(probe()) + "\n")
    return 0


def _describe(gpu: GpuIdentity, roots: Roots) -> dict[str, Any]:
    try:
        provider = NvmlProvider(gpu.uuid or gpu.pci_address, roots)
    except NvmlUnavailableError as error:
        return asdict(gpu) | {"capabilities": {}, "fault": str(error)}
    try:
        return asdict(gpu) | {"capabilities": dict(provider.capabilities()), "fault": ""}
    finally:
        provider.close()


if __name__ == "__main__":
    sys.exit(main())
