"""Which telemetry a run gets: the host always, a GPU as asked for; what is missing is told, with its reason."""

from __future__ import annotations

import time

from app.ipc.messages import EngineEvent
from app.telemetry.gpus import choose_gpu_provider
from app.telemetry.host import HostProvider
from app.telemetry.sampler import Sampler


def start_telemetry(gpu: str) -> tuple[Sampler, list[EngineEvent]]:
    """Return a running sampler, and what a person should know about it.

    Args:
        gpu: `auto`, `none`, `simulated` or the UUID of a GPU.

    Raises:
        VeoTunerError: the GPU named does not exist.
    """
    provider, why_missing = choose_gpu_provider(gpu)
    sampler = Sampler([HostProvider()] if provider is None else [HostProvider(), provider])
    sampler.start()
    if provider is not None or gpu == "none":
        return sampler, []
    return sampler, [EngineEvent("info", "gpu_telemetry", f"no GPU readings: {why_missing}", time.monotonic_ns())]
