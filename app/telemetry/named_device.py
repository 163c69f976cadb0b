"""The GPU or slice of one that a configuration names: it is there and used, or the run is refused; never replaced.

A slice made by MIG (multi-instance GPU) has a UUID of its own, which CUDA reads; its sensors are those of its GPU.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from app.config.sections import Device
from app.core.errors import InvalidInputError, Problem
from app.telemetry.machine import Roots
from app.telemetry.nvml import GpuIdentity, NvmlUnavailableError, list_gpus

_UUID: Final = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
_ASK_DOCTOR: Final = "veotuner doctor lists what is there; null asks for none"

NO_VULKAN_ON_SLICES: Final = (
    "device.mig_uuid acts on CUDA, so on hardware decoding and encoding: data-centre GPUs have no Vulkan graphics in "
    "a slice, and what is shown is converted by the Vulkan device that device.vulkan_device chooses"
)


class NamedDevice(NamedTuple):
    """What a configuration's device keys come to.

    Attributes:
        gpu_uuid: of the GPU whose sensors are read; "" when the configuration names none, or nobody can tell it.
        notices: what a person should know about it.
    """

    gpu_uuid: str
    notices: tuple[str, ...] = ()


def find_named_device(device: Device, roots: Roots | None = None, *, may_ask: bool = True) -> NamedDevice:
    """Look the named GPU and slice up.

    Args:
        roots: kernel file systems.
        may_ask: False leaves the driver alone: names are checked for their form only, and a notice says so. It is left
            alone too where the configuration names nothing.

    Raises:
        InvalidInputError: a name is malformed, or NVML does not list it; the text lists what is there. Without NVML a
            GPU cannot be read and is refused, while a slice is left to CUDA, with a notice.
    """
    _refuse(list(_malformed(device)))
    slice_notices = (NO_VULKAN_ON_SLICES,) if device.mig_uuid else ()
    named = [uuid for uuid in (device.gpu_uuid, device.mig_uuid) if uuid]
    if not named:
        return NamedDevice("")
    if not may_ask:
        return NamedDevice("", (f"device {', '.join(named)} is not checked: no GPU is read", *slice_notices))
    try:
        gpus = list_gpus(roots)
    except NvmlUnavailableError as error:
        _refuse(list(_unreadable(device, str(error))))
        unchecked = f"device.mig_uuid {device.mig_uuid} cannot be checked here: {error}"
        return NamedDevice("", (unchecked, *slice_notices))
    _refuse(list(_unknown(device, gpus)))
    return NamedDevice(next(gpu.uuid for gpu in gpus if _is_named(gpu, device)), slice_notices)


def _malformed(device: Device) -> Iterator[Problem]:
    named = (("gpu_uuid", "GPU", device.gpu_uuid), ("mig_uuid", "MIG", device.mig_uuid))
    for key, kind, value in named:
        if value is not None and not re.fullmatch(f"{kind}-{_UUID}", value):
            expected = f"is no UUID of the form {kind}-xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx"
            yield Problem(f"device.{key}", value, expected, _ASK_DOCTOR)


def _unreadable(device: Device, why: str) -> Iterator[Problem]:
    if device.gpu_uuid is not None:
        yield Problem("device.gpu_uuid", device.gpu_uuid, f"cannot be found: {why}", _ASK_DOCTOR)


def _unknown(device: Device, gpus: Sequence[GpuIdentity]) -> Iterator[Problem]:
    if device.gpu_uuid is not None and not any(_same(gpu.uuid, device.gpu_uuid) for gpu in gpus):
        here = "; ".join(gpu.label for gpu in gpus) or "none"
        yield Problem("device.gpu_uuid", device.gpu_uuid, f"is no GPU of this machine; GPUs here: {here}", _ASK_DOCTOR)
    elif device.mig_uuid is not None and not any(_is_named(gpu, device) for gpu in gpus):
        where = "this machine" if device.gpu_uuid is None else f"the GPU {device.gpu_uuid}"
        here = "; ".join(f"{uuid} of {gpu.label}" for gpu in gpus for uuid in gpu.mig_uuids) or "none"
        yield Problem("device.mig_uuid", device.mig_uuid, f"is no slice of {where}; slices here: {here}", _ASK_DOCTOR)


def _is_named(gpu: GpuIdentity, device: Device) -> bool:
    by_gpu = device.gpu_uuid is None or _same(gpu.uuid, device.gpu_uuid)
    return by_gpu and (device.mig_uuid is None or any(_same(uuid, device.mig_uuid) for uuid in gpu.mig_uuids))


def _same(one: str, other: str) -> bool:
    return one.lower() == other.lower()


def _refuse(problems: list[Problem]) -> None:
    if problems:
        raise InvalidInputError(problems)
