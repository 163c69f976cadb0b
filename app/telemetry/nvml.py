"""NVIDIA GPUs through NVML (nvidia-ml-py): read-only, one device, found by UUID or PCI address and never by index.

Each driver call stands alone: one that fails takes only its own metrics with it. What the device cannot do is found
out once, when it is opened, and not asked again. The pace of each call follows field reports: NVML serialises calls in
the driver and can hold up the frames of the program that is being measured.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import pynvml  # type: ignore[import-untyped]  # the package ships no types

from app.core.clock import NS_PER_S
from app.telemetry.calls import NAN, CallCost, CallSet, Outcome, Timed, failed
from app.telemetry.machine import Roots, is_asleep, is_wsl2
from app.telemetry.nvml_calls import NvmlCalls
from app.telemetry.nvml_errors import DeviceGoneError, Meaning, meaning_of, sentence
from app.telemetry.provider import Reading, readings_of

FIRST_REOPEN_NS: Final = NS_PER_S
LONGEST_REOPEN_NS: Final = 64 * NS_PER_S

Handle = Any
"""A ctypes pointer to NVML's device structure."""

_UUID: Final = re.compile(r"(GPU|MIG)-[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RAW_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}")
_PCI: Final = re.compile(r"([0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]")

_ASLEEP: Final = "the GPU is asleep; reading it would wake it"

_RECOVERY_ACTIONS: Final = {
    1: "reset the GPU",
    2: "reboot",
    3: "drain peer-to-peer traffic",
    4: "drain the GPU and reset it",
}
"""Field 230 of NVML: what the driver recommends after a fault; 0 is nothing."""


class NvmlUnavailableError(Exception):
    """NVML or the device asked for cannot be used; the text says why and what to do."""


@dataclass(frozen=True, slots=True)
class GpuIdentity:
    """Which GPU this is.

    Attributes:
        name: product name. uuid: `GPU-…`. pci_address: `0000:01:00.0`; each "" when the driver does not tell.
        driver_version: of the NVIDIA driver; "" when it does not tell.
        mig_enabled: the GPU is partitioned: busy-time readings do not exist then.
        mig_uuids: `MIG-…` of its slices.
    """

    name: str
    uuid: str
    pci_address: str
    driver_version: str
    mig_enabled: bool
    mig_uuids: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Return name and address as one phrase."""
        return f"{self.name or 'NVIDIA GPU'} ({', '.join(filter(None, (self.pci_address, self.uuid)))})"


def normalise_gpu_id(text: str) -> str | None:
    """Return an id as NVML wants it, or None when it is neither a UUID nor a PCI address.

    Takes `GPU-…`/`MIG-…` UUIDs, the bare or undashed hexadecimal of Vulkan's deviceUUID, and `[domain:]bus:dev.fn`.
    """
    text = text.strip()
    if _UUID.fullmatch(text):
        return text[:4].upper() + text[4:].lower()
    if _RAW_UUID.fullmatch(text):
        digits = text.replace("-", "").lower()
        return "GPU-" + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    if _PCI.fullmatch(text):
        domain, bus, device = ("0000:" + text).split(":")[-3:]
        return f"{int(domain, 16):08x}:{bus.lower()}:{device}"
    return None


def list_gpus(roots: Roots | None = None) -> list[GpuIdentity]:
    """Return the identity of every GPU that NVML sees; initialises NVML and shuts it down again.

    Raises:
        NvmlUnavailableError: there is no usable NVML.
    """
    wsl2 = is_wsl2(roots or Roots())
    _initialise(wsl2)
    try:
        return [_identity(handle) for handle in _handles(wsl2)]
    finally:
        _shut_down()


class NvmlProvider:
    """Readings of one NVIDIA GPU.

    Args:
        gpu_id: UUID or PCI address in the form of `normalise_gpu_id`; "" takes the only GPU there is.
        roots: kernel file systems, to tell WSL2 and a sleeping GPU.
        now_ns: CLOCK_MONOTONIC; the first sample of every running counter is taken here.
        cost_clock: measures calls, in ns.

    Raises:
        NvmlUnavailableError: no NVML, no such GPU, or several GPUs and no id.
    """

    def __init__(
        self,
        gpu_id: str = "",
        roots: Roots | None = None,
        now_ns: int | None = None,
        cost_clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        self._roots = roots or Roots()
        self._wsl2 = is_wsl2(self._roots)
        self._cost_clock = cost_clock
        _initialise(self._wsl2)
        self._is_initialised = True
        try:
            handle = _find(gpu_id, self._wsl2)
            self.identity = _identity(handle)
        except BaseException:
            self.close()
            raise
        self._calls = self._new_calls(handle)
        self._gone: Meaning | None = None
        self._reopen_at_ns = 0
        self._reopen_after_ns = FIRST_REOPEN_NS
        # The first look finds out what the device can do; its readings are handed over with the first poll.
        self._first: list[Reading] = []
        self._first = self.poll(time.monotonic_ns() if now_ns is None else now_ns)

    @property
    def name(self) -> str:
        """Return `nvml`."""
        return "nvml"

    @property
    def label(self) -> str:
        """Return product name, PCI address and UUID."""
        return self.identity.label

    @property
    def device(self) -> str:
        """Return the UUID, or the PCI address when the driver tells no UUID."""
        return self.identity.uuid or self.identity.pci_address

    def capabilities(self) -> Mapping[str, str]:
        """Return "" for each metric this GPU gives, else the reason."""
        if self._gone is not None:
            return dict.fromkeys(self._calls.metrics(), sentence(self._gone))
        if self._is_asleep():
            return dict.fromkeys(self._calls.metrics(), _ASLEEP)
        return self._calls.capabilities()

    def poll(self, now_ns: int) -> list[Reading]:
        """Return what is due; with the GPU gone, one missing reading a metric while it is looked for with back-off."""
        first, self._first = self._first, []
        return first + self._poll(now_ns)

    def call_costs(self) -> list[CallCost]:
        """Return what each NVML call has cost since the GPU was opened or found again."""
        return self._calls.costs()

    def close(self) -> None:
        """Shut NVML down: an open handle keeps a laptop's GPU awake."""
        if self._is_initialised:
            self._is_initialised = False
            _shut_down()

    def _poll(self, now_ns: int) -> list[Reading]:
        if self._gone is not None and not self._reopen(now_ns):
            return self._all_missing(failed(sentence(self._gone)), now_ns)
        if self._is_asleep():
            return self._all_missing(failed(_ASLEEP), now_ns)
        try:
            timed = self._calls.run_due(now_ns)
        except DeviceGoneError as gone:
            self._lose(gone.meaning, now_ns)
            return self._all_missing(failed(sentence(self._gone or gone.meaning)), now_ns)
        self._reopen_after_ns = FIRST_REOPEN_NS
        return readings_of(self, timed, now_ns)

    def _is_asleep(self) -> bool:
        return is_asleep(self._roots, self.identity.pci_address)

    def _new_calls(self, handle: Handle) -> CallSet:
        calls = NvmlCalls(handle, wsl2=self._wsl2, mig_enabled=self.identity.mig_enabled)
        return CallSet(calls.paced_calls(), self._cost_clock)

    def _lose(self, meaning: Meaning, now_ns: int) -> None:
        action = _recovery_action(self.identity.uuid, self._wsl2)
        self._gone = meaning._replace(cure=f"the driver recommends: {action}") if action else meaning
        self._reopen_at_ns = now_ns + self._reopen_after_ns
        self.close()

    def _reopen(self, now_ns: int) -> bool:
        """Try to find the same GPU again when its time has come; tell whether it is there."""
        if now_ns < self._reopen_at_ns:
            return False
        self._reopen_after_ns = min(self._reopen_after_ns * 2, LONGEST_REOPEN_NS)
        self._reopen_at_ns = now_ns + self._reopen_after_ns
        try:
            _initialise(self._wsl2)
            self._is_initialised = True
            self._calls = self._new_calls(_find(self.device, self._wsl2))
        except NvmlUnavailableError:
            self.close()
            return False
        # The back-off starts anew only after a whole poll has worked: a lost GPU is often found and lost again at once.
        self._gone = None
        return True

    def _all_missing(self, outcome: Outcome, now_ns: int) -> list[Reading]:
        return readings_of(self, [Timed(metric, outcome, NAN) for metric in self._calls.metrics()], now_ns)


def _initialise(wsl2: bool) -> None:
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        raise _unavailable(error.value, wsl2) from None


def _shut_down() -> None:
    try:
        pynvml.nvmlShutdown()
    except pynvml.NVMLError:
        # The library may already have torn itself down with a lost GPU; there is nothing left to release.
        return


def _find(gpu_id: str, wsl2: bool) -> Handle:
    if not gpu_id:
        return _only_handle(wsl2)
    by_pci = _PCI.fullmatch(gpu_id)
    look_up = pynvml.nvmlDeviceGetHandleByPciBusId if by_pci else pynvml.nvmlDeviceGetHandleByUUID
    try:
        return look_up(gpu_id)
    except pynvml.NVMLError as error:
        if error.value in (pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_INVALID_ARGUMENT):
            known = ", ".join(_identity(handle).label for handle in _handles(wsl2)) or "none"
            raise NvmlUnavailableError(f"no NVIDIA GPU has the id {gpu_id}; GPUs here: {known}") from None
        raise _unavailable(error.value, wsl2) from None


def _only_handle(wsl2: bool) -> Handle:
    handles = _handles(wsl2)
    if len(handles) == 1:
        return handles[0]
    if not handles:
        raise NvmlUnavailableError(
            "the NVIDIA driver is loaded but sees no GPU; check that the card is listed by lspci"
        )
    names = "; ".join(_identity(handle).label for handle in handles)
    raise NvmlUnavailableError(f"there are {len(handles)} NVIDIA GPUs, choose one by its UUID: {names}")


def _handles(wsl2: bool) -> list[Handle]:
    """Return a handle of each GPU that answers. The index serves to enumerate and is not kept: reboots change it."""
    try:
        count = pynvml.nvmlDeviceGetCount()
    except pynvml.NVMLError as error:
        raise _unavailable(error.value, wsl2) from None
    found = []
    for index in range(count):
        try:
            found.append(pynvml.nvmlDeviceGetHandleByIndex(index))
        except pynvml.NVMLError as error:
            # One blocked or lost GPU does not hide the others, unless the whole library is in trouble.
            if count == 1:
                raise _unavailable(error.value, wsl2) from None
    return found


def _unavailable(code: int, wsl2: bool) -> NvmlUnavailableError:
    return NvmlUnavailableError(sentence(meaning_of(code, wsl2=wsl2)))


def _identity(handle: Handle) -> GpuIdentity:
    mig_enabled = _mig_enabled(handle)
    return GpuIdentity(
        name=_text(pynvml.nvmlDeviceGetName, handle),
        uuid=_text(pynvml.nvmlDeviceGetUUID, handle),
        pci_address=_pci_address(handle),
        driver_version=_text(pynvml.nvmlSystemGetDriverVersion),
        mig_enabled=mig_enabled,
        mig_uuids=tuple(_mig_uuids(handle)) if mig_enabled else (),
    )


def _text(read: Callable[..., str], *arguments: Handle) -> str:
    try:
        return read(*arguments)
    except (pynvml.NVMLError, UnicodeDecodeError):
        return ""


def _pci_address(handle: Handle) -> str:
    """Return the PCI address as sysfs spells it: NVML's domain has eight digits, the kernel's four."""
    try:
        bus_id = pynvml.nvmlDeviceGetPciInfo(handle).busId
    except pynvml.NVMLError:
        return ""
    text = (bus_id.decode(errors="replace") if isinstance(bus_id, bytes) else str(bus_id)).lower()
    return text.removeprefix("0000") if len(text.partition(":")[0]) == 8 else text


def _mig_enabled(handle: Handle) -> bool:
    try:
        return bool(pynvml.nvmlDeviceGetMigMode(handle)[0] == pynvml.NVML_DEVICE_MIG_ENABLE)
    except pynvml.NVMLError:
        return False


def _mig_uuids(handle: Handle) -> list[str]:
    try:
        most = pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)
    except pynvml.NVMLError:
        return []
    found = []
    for index in range(most):
        try:
            found.append(pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index)))
        except pynvml.NVMLError:
            continue  # indexes have holes
    return found


def _recovery_action(uuid: str, wsl2: bool) -> str:
    """Return what the driver recommends for a GPU that has failed, "" when it says nothing."""
    try:
        handle = _find(uuid, wsl2)
        field = pynvml.nvmlDeviceGetFieldValues(handle, [pynvml.NVML_FI_DEV_GET_GPU_RECOVERY_ACTION])[0]
    except (pynvml.NVMLError, NvmlUnavailableError):
        return ""
    return _RECOVERY_ACTIONS.get(int(field.value.uiVal), "") if field.nvmlReturn == pynvml.NVML_SUCCESS else ""
