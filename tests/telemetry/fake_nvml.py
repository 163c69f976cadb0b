"""A fake NVML library behind the real pynvml: C function pointers with the prototypes of nvml.h, filled through the
pointers that pynvml passes, so that its marshalling is what the tests run.

Each symbol can be scripted to return any code or to be missing, as in an old driver.
"""

from __future__ import annotations

import ctypes
from collections import Counter
from collections.abc import Callable, Iterator
from ctypes import POINTER, c_char_p, c_int, c_uint, c_ulonglong, c_void_p, cast
from dataclasses import dataclass, field
from typing import Any

import pynvml  # type: ignore[import-untyped]  # the package ships no types
import pytest

SUCCESS = 0
NOT_SUPPORTED = 3
NOT_FOUND = 6
_SLICE_HANDLES = 1000
"""A slice's handle is its number times this, plus its GPU's handle."""


@dataclass
class FakeGpu:
    """What one GPU answers; fields hold (value, value type, return code) by NVML field id.

    `mig_uuids` are its slices by index; "" is a hole.
    """

    name: str = "NVIDIA Test 4000"
    uuid: str = "GPU-11111111-2222-3333-4444-555555555555"
    bus_id: str = "00000000:01:00.0"
    temperature_c: int = 61
    margin_c: int = 22
    clocks_mhz: dict[int, int] = field(default_factory=lambda: {0: 1800, 2: 9501})
    max_clocks_mhz: dict[int, int] = field(default_factory=lambda: {0: 2520, 2: 10501})
    power_mw: int = 123_456
    power_limit_mw: int = 320_000
    busy_percent: tuple[int, int] = (37, 12)
    encoder_percent: int = 5
    decoder_percent: int = 40
    memory_bytes: tuple[int, int] = (16 * 2**30, 3 * 2**30)
    link: tuple[int, int] = (1, 16)
    link_max: tuple[int, int] = (4, 16)
    pcie_kb_per_s: dict[int, int] = field(default_factory=lambda: {0: 1_000, 1: 250_000})
    mig: int = 0
    mig_uuids: tuple[str, ...] = ()
    fields: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        u64 = pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG
        defaults = {82: (74, pynvml.NVML_VALUE_TYPE_UNSIGNED_INT, SUCCESS)}
        defaults |= dict.fromkeys((197, 198, 74, 75, 76, 269, 270, 271), (1000, u64, SUCCESS))
        self.fields = defaults | self.fields


class FakeNvml:
    """Stands where `pynvml.nvmlLib` stands.

    Attributes:
        gpus: in the order of the driver's index.
        errors: symbol → code that it returns instead of answering.
        missing: symbols that this driver does not have.
        calls: how often each symbol was called.
    """

    def __init__(self, *gpus: FakeGpu) -> None:
        self.gpus = list(gpus)
        self.errors: dict[str, int] = {}
        self.missing: set[str] = set()
        self.calls: Counter[str] = Counter()
        prototypes = self._prototypes() | self._mig_prototypes()
        self._functions = {name: self._function(name, *how) for name, how in prototypes.items()}

    def __getattr__(self, name: str) -> Any:
        functions = self.__dict__.get("_functions", {})
        if name not in functions or name in self.missing:
            raise AttributeError(name)
        return functions[name]

    @property
    def symbols(self) -> list[str]:
        return list(self._functions)

    def _function(self, name: str, arguments: tuple[Any, ...], answer: Callable[..., int]) -> Any:
        def call(*values: Any) -> int:
            self.calls[name] += 1
            code = self.errors.get(name, SUCCESS)
            return code or answer(*values)

        return ctypes.CFUNCTYPE(c_int, *arguments)(call)

    def _prototypes(self) -> dict[str, tuple[tuple[Any, ...], Callable[..., int]]]:
        device, out = c_void_p, c_void_p
        return {
            "nvmlInitWithFlags": ((c_uint,), lambda _: SUCCESS),
            "nvmlShutdown": ((), lambda: SUCCESS),
            "nvmlSystemGetDriverVersion": ((out, c_uint), lambda p, n: _put_text(p, n, "595.45.04")),
            "nvmlDeviceGetCount_v2": ((out,), lambda p: _put(p, c_uint, len(self.gpus))),
            "nvmlDeviceGetHandleByIndex_v2": ((c_uint, out), self._by_index),
            "nvmlDeviceGetHandleByUUID": ((c_char_p, out), lambda text, p: self._by("uuid", text, p)),
            "nvmlDeviceGetHandleByPciBusId_v2": ((c_char_p, out), lambda text, p: self._by("bus_id", text, p)),
            "nvmlDeviceGetName": ((device, out, c_uint), lambda d, p, n: _put_text(p, n, self._gpu(d).name)),
            "nvmlDeviceGetUUID": ((device, out, c_uint), lambda d, p, n: _put_text(p, n, self._uuid(d))),
            "nvmlDeviceGetPciInfo_v3": ((device, out), self._pci),
            "nvmlDeviceGetTemperatureV": ((device, out), self._temperature_v),
            "nvmlDeviceGetTemperature": (
                (device, c_uint, out),
                lambda d, _, p: _put(p, c_uint, self._gpu(d).temperature_c),
            ),
            "nvmlDeviceGetMarginTemperature": ((device, out), self._margin),
            "nvmlDeviceGetClockInfo": (
                (device, c_uint, out),
                lambda d, k, p: _put(p, c_uint, self._gpu(d).clocks_mhz[k]),
            ),
            "nvmlDeviceGetMaxClockInfo": (
                (device, c_uint, out),
                lambda d, k, p: _put(p, c_uint, self._gpu(d).max_clocks_mhz[k]),
            ),
            "nvmlDeviceGetPowerUsage": ((device, out), lambda d, p: _put(p, c_uint, self._gpu(d).power_mw)),
            "nvmlDeviceGetEnforcedPowerLimit": (
                (device, out),
                lambda d, p: _put(p, c_uint, self._gpu(d).power_limit_mw),
            ),
            "nvmlDeviceGetUtilizationRates": ((device, out), self._utilisation),
            "nvmlDeviceGetEncoderUtilization": (
                (device, out, out),
                lambda d, p, q: _put_two(p, q, self._gpu(d).encoder_percent, 167_000),
            ),
            "nvmlDeviceGetDecoderUtilization": (
                (device, out, out),
                lambda d, p, q: _put_two(p, q, self._gpu(d).decoder_percent, 167_000),
            ),
            "nvmlDeviceGetMemoryInfo": ((device, out), self._memory),
            "nvmlDeviceGetCurrPcieLinkGeneration": ((device, out), lambda d, p: _put(p, c_uint, self._gpu(d).link[0])),
            "nvmlDeviceGetCurrPcieLinkWidth": ((device, out), lambda d, p: _put(p, c_uint, self._gpu(d).link[1])),
            "nvmlDeviceGetMaxPcieLinkGeneration": (
                (device, out),
                lambda d, p: _put(p, c_uint, self._gpu(d).link_max[0]),
            ),
            "nvmlDeviceGetMaxPcieLinkWidth": ((device, out), lambda d, p: _put(p, c_uint, self._gpu(d).link_max[1])),
            "nvmlDeviceGetPcieThroughput": (
                (device, c_uint, out),
                lambda d, counter, p: _put(p, c_uint, self._gpu(d).pcie_kb_per_s[counter]),
            ),
            "nvmlDeviceGetFieldValues": ((device, c_int, out), self._field_values),
        }

    def _mig_prototypes(self) -> dict[str, tuple[tuple[Any, ...], Callable[..., int]]]:
        device, out = c_void_p, c_void_p
        slots = ((device, out), lambda d, p: _put(p, c_uint, len(self._gpu(d).mig_uuids)))
        return {
            "nvmlDeviceGetMigMode": ((device, out, out), lambda d, p, q: _put_two(p, q, self._gpu(d).mig, 0)),
            "nvmlDeviceGetMaxMigDeviceCount": slots,
            "nvmlDeviceGetMigDeviceHandleByIndex": ((device, c_uint, out), self._slice_by_index),
        }

    def _gpu(self, handle: int) -> FakeGpu:
        return self.gpus[handle - 1]

    def _uuid(self, handle: int) -> str:
        number, of_gpu = divmod(handle, _SLICE_HANDLES)
        return self._gpu(of_gpu).mig_uuids[number - 1] if number else self._gpu(handle).uuid

    def _slice_by_index(self, handle: int, index: int, out: int) -> int:
        uuids = self._gpu(handle).mig_uuids
        here = index < len(uuids) and uuids[index]
        return _put(out, c_void_p, (index + 1) * _SLICE_HANDLES + handle) if here else NOT_FOUND

    def _by_index(self, index: int, out: int) -> int:
        return _put(out, c_void_p, index + 1) if index < len(self.gpus) else NOT_FOUND

    def _by(self, key: str, text: bytes, out: int) -> int:
        for index, gpu in enumerate(self.gpus):
            if getattr(gpu, key).lower() == text.decode().lower():
                return _put(out, c_void_p, index + 1)
        return NOT_FOUND

    def _pci(self, handle: int, out: int) -> int:
        cast(out, POINTER(pynvml.nvmlPciInfo_t)).contents.busId = self._gpu(handle).bus_id.encode()
        return SUCCESS

    def _temperature_v(self, handle: int, out: int) -> int:
        told = cast(out, POINTER(pynvml.c_nvmlTemperature_v1_t)).contents
        assert told.version == 0x100000C
        told.temperature = self._gpu(handle).temperature_c
        return SUCCESS

    def _margin(self, handle: int, out: int) -> int:
        cast(out, POINTER(pynvml.c_nvmlMarginTemperature_v1_t)).contents.marginTemperature = self._gpu(handle).margin_c
        return SUCCESS

    def _utilisation(self, handle: int, out: int) -> int:
        busy = cast(out, POINTER(pynvml.c_nvmlUtilization_t)).contents
        busy.gpu, busy.memory = self._gpu(handle).busy_percent
        return SUCCESS

    def _memory(self, handle: int, out: int) -> int:
        memory = cast(out, POINTER(pynvml.c_nvmlMemory_t)).contents
        memory.total, memory.used = self._gpu(handle).memory_bytes
        memory.free = max(memory.total - memory.used, 0)
        return SUCCESS

    def _field_values(self, handle: int, count: int, out: int) -> int:
        values = cast(out, POINTER(pynvml.c_nvmlFieldValue_t))
        for value in (values[index] for index in range(count)):
            number, kind, code = self._gpu(handle).fields.get(value.fieldId, (0, 0, NOT_SUPPORTED))
            value.nvmlReturn, value.valueType = code, kind
            if kind == pynvml.NVML_VALUE_TYPE_UNSIGNED_INT:
                value.value.uiVal = number
            elif kind == pynvml.NVML_VALUE_TYPE_DOUBLE:
                value.value.dVal = number
            else:
                value.value.ullVal = number
        return SUCCESS


InstallNvml = Callable[..., FakeNvml]
"""Puts a fake driver with the given GPUs in place; see the fixture `install_nvml`."""


@pytest.fixture
def install_nvml(monkeypatch: pytest.MonkeyPatch) -> Iterator[InstallNvml]:
    """Return a function that puts a driver with these GPUs in place; without any, one `FakeGpu`."""

    def install(*gpus: FakeGpu) -> FakeNvml:
        fake = FakeNvml(*(gpus or (FakeGpu(),)))
        pynvml._nvmlGetFunctionPointer_cache.clear()
        monkeypatch.setattr(pynvml, "nvmlLib", fake)
        return fake

    pynvml._nvmlGetFunctionPointer_cache.clear()
    yield install
    pynvml._nvmlGetFunctionPointer_cache.clear()


@pytest.fixture
def no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without the NVIDIA driver, also where the tests run on one that has it."""

    def refuse(name: str) -> None:
        raise OSError(f"{name}: cannot open shared object file")

    pynvml._nvmlGetFunctionPointer_cache.clear()
    monkeypatch.setattr(pynvml, "nvmlLib", None)
    monkeypatch.setattr(pynvml, "CDLL", refuse)


def _put(pointer: int, kind: Any, value: int) -> int:
    cast(pointer, POINTER(kind))[0] = value
    return SUCCESS


def _put_two(first: int, second: int, value: int, other: int) -> int:
    _put(first, c_uint, value)
    return _put(second, c_uint, other)


def _put_text(pointer: int, size: int, text: str) -> int:
    raw = text.encode() + b"\0"
    if len(raw) > size:
        return pynvml.NVML_ERROR_INSUFFICIENT_SIZE  # type: ignore[no-any-return]  # a plain int of an untyped module
    ctypes.memmove(pointer, raw, len(raw))
    return SUCCESS


assert ctypes.sizeof(c_ulonglong) == 8
