"""Which telemetry a run gets: the host always, a GPU as asked for; what is missing is told, with its reason."""

from __future__ import annotations

import time
from typing import NamedTuple

from app.core.errors import InvalidInputError, Problem
from app.ipc.messages import EngineEvent
from app.telemetry.gpus import AUTO, NO_GPU, choose_gpu_provider
from app.telemetry.host import HostProvider
from app.telemetry.provider import Provider
from app.telemetry.sampler import Sampler
from app.telemetry.window_cost import WindowCostProvider


class StartedTelemetry(NamedTuple):
    """A running sampler, the label of its GPU or why there is none, and what a person should know about it."""

    sampler: Sampler
    gpu: str
    notices: tuple[EngineEvent, ...]


def start_telemetry(gpu: str, preferred_uuid: str | None, window_pid: int | None = None) -> StartedTelemetry:
    """Start reading the host and a GPU.

    Args:
        gpu: `auto`, `none`, `simulated`, or the UUID or PCI address of a GPU.
        preferred_uuid: the GPU that the configuration names, taken first by `auto`.
        window_pid: the process that shows the run in a window, if there is one.

    Raises:
        InvalidInputError: a GPU was named that cannot be read.
    """
    provider, why_missing = choose_gpu_provider(gpu, prefer=(preferred_uuid or "",))
    if provider is None and gpu not in (AUTO, NO_GPU):
        hint = "give --gpu auto, or none for a run without GPU readings"
        raise InvalidInputError([Problem("gpu", gpu, f"cannot be read: {why_missing}", hint)])
    providers: list[Provider] = [HostProvider()]
    if window_pid is not None:
        providers.append(WindowCostProvider(window_pid))
    if provider is not None:
        providers.append(provider)
    sampler = Sampler(providers)
    sampler.start()
    if provider is not None:
        return StartedTelemetry(sampler, provider.label, ())
    text = f"no GPU readings: {why_missing}"
    notices = () if gpu == NO_GPU else (EngineEvent("info", "gpu_telemetry", text, time.monotonic_ns()),)
    return StartedTelemetry(sampler, f"none: {why_missing}", notices)
