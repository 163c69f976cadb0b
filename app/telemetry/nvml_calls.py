"""The NVML calls that are polled, one small reader each, with their pace.

Units leave here as the metric ids say: mW become W, KB/s bytes/s, percent a ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import pynvml  # type: ignore[import-untyped]  # the package ships no types

from app.core.clock import NS_PER_S
from app.telemetry.calls import CallFailedError, Outcome, PacedCall, Verdict, failed, unavailable
from app.telemetry.counters import RunningCounter, link_limit_bytes_per_s
from app.telemetry.nvml_errors import Handling, failure_of, meaning_of, outcome_of
from app.telemetry.provider import THROTTLE_CAUSES

FAST_NS: Final = NS_PER_S
"""Clocks, power, busy time and counters: the driver renews them no faster (0.1 s polling was found pointless)."""
SLOW_NS: Final = 2 * NS_PER_S
"""Temperatures, link and codec load: slow by nature, and some of these go through the GPU's power controller."""
RARE_NS: Final = 10 * NS_PER_S
"""Limits that change only with a setting or a driver."""
PCIE_SAMPLE_NS: Final = 5 * NS_PER_S
"""Each of the two calls blocks for the 20 ms that the driver samples, so they are made seldom, and only where the
driver has no byte counters."""

FASTEST_LINK_BYTES_PER_S: Final = link_limit_bytes_per_s(6, 32)
"""No link carries more; it bounds the byte counters as long as the GPU's own link is unknown."""

_NS_COUNTER_PER_S: Final = float(NS_PER_S)
"""A counter of throttled nanoseconds grows by at most one second a second."""

_MEMORY_TEMPERATURE: Final = pynvml.NVML_FI_DEV_MEMORY_TEMP
_THROTTLE_FIELDS: Final = dict(
    zip(
        (
            pynvml.NVML_FI_DEV_PERF_POLICY_POWER,
            pynvml.NVML_FI_DEV_PERF_POLICY_THERMAL,
            pynvml.NVML_FI_DEV_PERF_POLICY_SYNC_BOOST,
            pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN,
            pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN,
            pynvml.NVML_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN,
        ),
        THROTTLE_CAUSES,
        strict=True,
    )
)
_PCIE_FIELDS: Final = {
    pynvml.NVML_FI_DEV_PCIE_COUNT_TX_BYTES: "pcie_tx_bytes_per_s",
    pynvml.NVML_FI_DEV_PCIE_COUNT_RX_BYTES: "pcie_rx_bytes_per_s",
}
FIELD_METRICS: Final[dict[int, str]] = {
    _MEMORY_TEMPERATURE: "memory_temperature_c",
    **_PCIE_FIELDS,
    **{field: f"throttle_ns.{cause}" for field, cause in _THROTTLE_FIELDS.items()},
}
"""Field ids read in one batch → metric."""

_VALUE_TYPES: Final[dict[int, tuple[str, int]]] = {
    pynvml.NVML_VALUE_TYPE_DOUBLE: ("dVal", 64),
    pynvml.NVML_VALUE_TYPE_UNSIGNED_INT: ("uiVal", 32),
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG: ("ulVal", 64),
    pynvml.NVML_VALUE_TYPE_UNSIGNED_LONG_LONG: ("ullVal", 64),
    pynvml.NVML_VALUE_TYPE_SIGNED_LONG_LONG: ("sllVal", 64),
    pynvml.NVML_VALUE_TYPE_SIGNED_INT: ("siVal", 32),
    pynvml.NVML_VALUE_TYPE_UNSIGNED_SHORT: ("usVal", 16),
}
"""NVML value type → member of its union, and width of a counter of that type."""

_PLAUSIBLE: Final[dict[str, tuple[float, float]]] = {
    "gpu_temperature_c": (-60, 200),
    "memory_temperature_c": (-60, 200),
    "thermal_margin_c": (-200, 200),
    "gpu_clock_mhz": (0, 20_000),
    "gpu_clock_max_mhz": (1, 20_000),
    "memory_clock_mhz": (0, 50_000),
    "memory_clock_max_mhz": (1, 50_000),
    "power_w": (0, 5_000),
    "power_limit_w": (1, 5_000),
    "gpu_utilisation_ratio": (0, 1),
    "memory_utilisation_ratio": (0, 1),
    "encoder_utilisation_ratio": (0, 1),
    "decoder_utilisation_ratio": (0, 1),
    "pcie_link_generation": (1, 6),
    "pcie_link_width": (1, 32),
    "pcie_link_generation_max": (1, 6),
    "pcie_link_width_max": (1, 32),
}
"""What a driver may answer; some return −1 as unsigned or old registers, which would wreck a graph's axis."""

_MIG_REASON: Final = "the GPU is partitioned (MIG is on): the driver reports no busy time"

Handle = Any
"""A ctypes pointer to NVML's device structure."""


class NvmlCalls:
    """The calls on one device handle, with the state that running counters and given-up fields need."""

    def __init__(self, handle: Handle, *, wsl2: bool, mig_enabled: bool) -> None:
        self._handle = handle
        self._wsl2 = wsl2
        self._mig_enabled = mig_enabled
        self._given_up_fields: dict[int, Outcome] = {}
        self._counters = {
            **{field: RunningCounter(FASTEST_LINK_BYTES_PER_S) for field in _PCIE_FIELDS},
            **{field: RunningCounter(_NS_COUNTER_PER_S) for field in _THROTTLE_FIELDS},
        }
        self._link: dict[str, Outcome] = {}
        self._has_temperature_v = True

    def paced_calls(self) -> list[PacedCall]:
        """Return the calls in the order of the poll; the link comes before the counters that it bounds."""
        return [
            self._call("link_generation_max", RARE_NS, self._generation_max, "pcie_link_generation_max"),
            self._call("link_width_max", RARE_NS, self._width_max, "pcie_link_width_max"),
            self._call("link_generation", SLOW_NS, self._generation, "pcie_link_generation"),
            self._call("link_width", SLOW_NS, self._width, "pcie_link_width", "pcie_limit_bytes_per_s"),
            self._call("field_values", FAST_NS, self._field_values, *FIELD_METRICS.values()),
            self._pcie_sample("pcie_tx_sample", pynvml.NVML_PCIE_UTIL_TX_BYTES, "pcie_tx_bytes_per_s"),
            self._pcie_sample("pcie_rx_sample", pynvml.NVML_PCIE_UTIL_RX_BYTES, "pcie_rx_bytes_per_s"),
            self._one("temperature", SLOW_NS, self._temperature, "gpu_temperature_c"),
            self._one("margin", SLOW_NS, pynvml.nvmlDeviceGetMarginTemperature, "thermal_margin_c"),
            self._one("clock_gpu", FAST_NS, _clock(pynvml.NVML_CLOCK_GRAPHICS), "gpu_clock_mhz"),
            self._one("clock_memory", FAST_NS, _clock(pynvml.NVML_CLOCK_MEM), "memory_clock_mhz"),
            self._one("clock_gpu_max", RARE_NS, _max_clock(pynvml.NVML_CLOCK_GRAPHICS), "gpu_clock_max_mhz"),
            self._one("clock_memory_max", RARE_NS, _max_clock(pynvml.NVML_CLOCK_MEM), "memory_clock_max_mhz"),
            self._one("power", FAST_NS, pynvml.nvmlDeviceGetPowerUsage, "power_w", scale=1e-3),
            self._one("power_limit", RARE_NS, pynvml.nvmlDeviceGetEnforcedPowerLimit, "power_limit_w", scale=1e-3),
            self._call("utilisation", FAST_NS, self._utilisation, "gpu_utilisation_ratio", "memory_utilisation_ratio"),
            self._busy("encoder", pynvml.nvmlDeviceGetEncoderUtilization, "encoder_utilisation_ratio"),
            self._busy("decoder", pynvml.nvmlDeviceGetDecoderUtilization, "decoder_utilisation_ratio"),
            self._call("memory", SLOW_NS, self._memory, "gpu_memory_used_bytes", "gpu_memory_total_bytes"),
        ]

    def _call(
        self, name: str, period_ns: int, read: Callable[[int], Mapping[str, Outcome]], *metrics: str
    ) -> PacedCall:
        return PacedCall(f"nvml.{name}", metrics, read, period_ns)

    def _one(
        self, name: str, period_ns: int, read: Callable[[Handle], float], metric: str, scale: float = 1.0
    ) -> PacedCall:
        return self._call(name, period_ns, lambda _: {metric: _plausible(metric, self._ask(read) * scale)}, metric)

    def _busy(self, name: str, read: Callable[[Handle], list[int]], metric: str) -> PacedCall:
        def outcomes(_: int) -> dict[str, Outcome]:
            self._refuse_under_mig()
            return {metric: _plausible(metric, self._ask(read)[0] / 100)}

        return self._call(name, SLOW_NS, outcomes, metric)

    def _pcie_sample(self, name: str, counter: int, metric: str) -> PacedCall:
        def outcomes(_: int) -> dict[str, Outcome]:
            kilobytes_per_s = self._ask(lambda handle: pynvml.nvmlDeviceGetPcieThroughput(handle, counter))
            return {metric: _within_link(kilobytes_per_s * 1000.0)}

        return PacedCall(
            f"nvml.{name}",
            (metric,),
            outcomes,
            PCIE_SAMPLE_NS,
            enabled=lambda: not self._has_byte_counters(),
            known_slow=True,
        )

    def _ask(self, read: Callable[[Handle], Any]) -> Any:
        """Make one call; once more at once when the driver's answer changed size in between.

        Raises:
            CallFailedError: the call gave an error; it concerns only its own metrics.
            DeviceGoneError: the device is gone.
        """
        try:
            try:
                return read(self._handle)
            except pynvml.NVMLError as error:
                if meaning_of(error.value, wsl2=self._wsl2).handling is not Handling.RETRY_NOW:
                    raise
                return read(self._handle)
        except pynvml.NVMLError as error:
            raise failure_of(error.value, wsl2=self._wsl2) from None

    def _temperature(self, handle: Handle) -> int:
        """Return °C by the versioned call; `nvmlDeviceGetTemperature` goes with CUDA 14 but is all old drivers have."""
        if self._has_temperature_v:
            try:
                return int(pynvml.nvmlDeviceGetTemperatureV(handle, pynvml.NVML_TEMPERATURE_GPU))
            except pynvml.NVMLError as error:
                if error.value != pynvml.NVML_ERROR_FUNCTION_NOT_FOUND:
                    raise
                self._has_temperature_v = False
        return int(pynvml.nvmlDeviceGetTemperature(handle, pynvml.NVML_TEMPERATURE_GPU))

    def _utilisation(self, _: int) -> dict[str, Outcome]:
        self._refuse_under_mig()
        busy = self._ask(pynvml.nvmlDeviceGetUtilizationRates)
        return {
            "gpu_utilisation_ratio": _plausible("gpu_utilisation_ratio", busy.gpu / 100),
            "memory_utilisation_ratio": _plausible("memory_utilisation_ratio", busy.memory / 100),
        }

    def _refuse_under_mig(self) -> None:
        if self._mig_enabled:
            raise CallFailedError(unavailable(_MIG_REASON))

    def _memory(self, _: int) -> dict[str, Outcome]:
        memory = self._ask(pynvml.nvmlDeviceGetMemoryInfo)
        if not 0 <= memory.used <= memory.total or memory.total == 0:
            raise CallFailedError(failed(f"the driver answers {memory.used} of {memory.total} bytes in use"))
        return {
            "gpu_memory_used_bytes": Outcome(float(memory.used)),
            "gpu_memory_total_bytes": Outcome(float(memory.total)),
        }

    def _generation_max(self, _: int) -> dict[str, Outcome]:
        return self._link_half("pcie_link_generation_max", pynvml.nvmlDeviceGetMaxPcieLinkGeneration)

    def _width_max(self, _: int) -> dict[str, Outcome]:
        outcomes = self._link_half("pcie_link_width_max", pynvml.nvmlDeviceGetMaxPcieLinkWidth)
        limit = _link_limit(self._link["pcie_link_generation_max"], self._link["pcie_link_width_max"])
        for field in _PCIE_FIELDS:
            self._counters[field].most_per_s = FASTEST_LINK_BYTES_PER_S if limit.reason else limit.value
        return outcomes

    def _generation(self, _: int) -> dict[str, Outcome]:
        return self._link_half("pcie_link_generation", pynvml.nvmlDeviceGetCurrPcieLinkGeneration)

    def _width(self, _: int) -> dict[str, Outcome]:
        outcomes = self._link_half("pcie_link_width", pynvml.nvmlDeviceGetCurrPcieLinkWidth)
        limit = _link_limit(self._link["pcie_link_generation"], self._link["pcie_link_width"])
        return outcomes | {"pcie_limit_bytes_per_s": limit}

    def _link_half(self, metric: str, read: Callable[[Handle], int]) -> dict[str, Outcome]:
        """Return generation or width, and remember it, also when it failed: the link's limit needs both."""
        try:
            self._link[metric] = _plausible(metric, self._ask(read))
        except CallFailedError as failure:
            self._link[metric] = failure.outcome
        return {metric: self._link[metric]}

    def _field_values(self, now_ns: int) -> dict[str, Outcome]:
        wanted = [field for field in FIELD_METRICS if field not in self._given_up_fields]
        found = self._given_up_fields | self._read_fields(wanted, now_ns)
        self._given_up_fields = {f: o for f, o in found.items() if o.verdict is Verdict.UNAVAILABLE}
        if not self._has_byte_counters():
            found = {field: outcome for field, outcome in found.items() if field not in _PCIE_FIELDS}
        return {FIELD_METRICS[field]: outcome for field, outcome in found.items()}

    def _has_byte_counters(self) -> bool:
        return not any(field in self._given_up_fields for field in _PCIE_FIELDS)

    def _read_fields(self, fields: list[int], now_ns: int) -> dict[int, Outcome]:
        """Read a batch in one call; where a driver refuses the whole batch, each field alone."""
        if not fields:
            return {}
        try:
            values = self._ask(lambda handle: pynvml.nvmlDeviceGetFieldValues(handle, fields))
        except CallFailedError as failure:
            if len(fields) == 1:
                return {fields[0]: failure.outcome}
            return {field: self._read_fields([field], now_ns)[field] for field in fields}
        return {field: self._field_outcome(field, value, now_ns) for field, value in zip(fields, values, strict=True)}

    def _field_outcome(self, field: int, value: Any, now_ns: int) -> Outcome:
        if value.nvmlReturn != pynvml.NVML_SUCCESS:
            return outcome_of(int(value.nvmlReturn), wsl2=self._wsl2)
        member, bits = _VALUE_TYPES.get(int(value.valueType), ("", 0))
        if not member:
            return unavailable(f"the driver answers in an unknown value type ({value.valueType})")
        number = getattr(value.value, member)
        if field == _MEMORY_TEMPERATURE:
            return _plausible("memory_temperature_c", number)
        counter = self._counters[field]
        if field not in _PCIE_FIELDS:
            return counter.advance(int(number), now_ns, bits)
        if counter.is_ambiguous(FAST_NS / NS_PER_S, bits):
            return unavailable(f"the driver's {bits}-bit byte counter wraps more than once between two readings")
        return counter.rate(int(number), now_ns, bits)


def _clock(clock_type: int) -> Callable[[Handle], int]:
    return lambda handle: int(pynvml.nvmlDeviceGetClockInfo(handle, clock_type))


def _max_clock(clock_type: int) -> Callable[[Handle], int]:
    return lambda handle: int(pynvml.nvmlDeviceGetMaxClockInfo(handle, clock_type))


def _plausible(metric: str, value: float) -> Outcome:
    low, high = _PLAUSIBLE[metric]
    if low <= value <= high:
        return Outcome(float(value))
    return failed(f"the driver answers {value:g}, outside {low:g} to {high:g}")


def _within_link(bytes_per_s: float) -> Outcome:
    if bytes_per_s <= FASTEST_LINK_BYTES_PER_S:
        return Outcome(bytes_per_s)
    return failed(f"the driver answers {bytes_per_s:g} bytes/s, more than any PCIe link carries")


def _link_limit(generation: Outcome, width: Outcome) -> Outcome:
    for part in (width, generation):
        if part.reason:
            return part
    return Outcome(link_limit_bytes_per_s(int(generation.value), int(width.value)))
