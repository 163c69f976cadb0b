"""Which telemetry a run gets: the host always, a GPU as asked for; what is missing is told, with its reason."""

from __future__ import annotations

import time
from typing import NamedTuple

from app.config.sections import Device
from app.core.errors import InvalidInputError, Problem
from app.ipc.messages import EngineEvent
from app.telemetry.gpus import AUTO, NO_GPU, SIMULATED, choose_gpu_provider
from app.telemetry.host import HostProvider
from app.telemetry.named_device import find_named_device
from app.telemetry.provider import Provider
from app.telemetry.sampler import Sampler
from app.telemetry.window_cost import WindowCostProvider


class StartedTelemetry(NamedTuple):
    """A running sampler, the label of its GPU or why there is none, and what a person should know about it."""

    sampler: Sampler
    gpu: str
    notices: tuple[EngineEvent, ...]


def start_telemetry(gpu: str, device: Device, window_pid: int | None = None) -> StartedTelemetry:
    """Start reading the host and a GPU.

    Args:
        gpu: `auto`, `none`, `simulated`, or the UUID or PCI address of a GPU.
        device: what the configuration names; `auto` reads that GPU and no other. It must exist, unless `none` or
            `simulated` leaves the driver alone.
        window_pid: the process that shows the run in a window, if there is one.

    Raises:
        InvalidInputError: a GPU or a slice was named that is not there, or cannot be read.
    """
    named = find_named_device(device, may_ask=gpu not in (NO_GPU, SIMULATED))
    provider, why_missing = choose_gpu_provider(named.gpu_uuid if gpu == AUTO and named.gpu_uuid else gpu)
    if provider is None and (named.gpu_uuid or gpu not in (AUTO, NO_GPU)):
        raise InvalidInputError([_unreadable(gpu, named.gpu_uuid, why_missing)])
    notices = [_notice("warning", "device", text) for text in named.notices]
    if provider is None and gpu != NO_GPU:
        notices.append(_notice("info", "gpu_telemetry", f"no GPU readings: {why_missing}"))
    sampler = _start_sampler(provider, window_pid)
    return StartedTelemetry(sampler, provider.label if provider else f"none: {why_missing}", tuple(notices))


def _start_sampler(provider: Provider | None, window_pid: int | None) -> Sampler:
    providers: list[Provider] = [HostProvider()]
    if window_pid is not None:
        providers.append(WindowCostProvider(window_pid))
    if provider is not None:
        providers.append(provider)
    sampler = Sampler(providers)
    sampler.start()
    return sampler


def _unreadable(gpu: str, configured: str, why: str) -> Problem:
    if gpu == AUTO:
        return Problem("device.gpu_uuid", configured, f"cannot be read: {why}", "name another GPU, or set it to null")
    return Problem("gpu", gpu, f"cannot be read: {why}", "give --gpu auto, or none for a run without GPU readings")


def _notice(severity: str, kind: str, text: str) -> EngineEvent:
    return EngineEvent(severity, kind, text, time.monotonic_ns())
