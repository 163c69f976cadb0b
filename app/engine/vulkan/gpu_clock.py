"""GPU ticks to CLOCK_MONOTONIC: calibrated pairs, taken by a thread of its own, and a robust line through them."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from app.core.clock import NO_STAMP_NS
from app.engine.vulkan import api
from app.engine.vulkan.api import ffi
from app.engine.vulkan.device import CALIBRATED_TIMESTAMPS, Device
from app.engine.vulkan.instance import Instance
from app.engine.vulkan.results import SUCCESS

CALIBRATION_PERIOD_S: Final = 1.0
"""Clocks drift by parts per million, so a second between pairs keeps the error far below a microsecond."""

PAIRS_KEPT: Final = 32
TRIES_PER_PAIR: Final = 4

_DOMAIN_DEVICE: Final = 0
_DOMAIN_CLOCK_MONOTONIC: Final = 1


class ClockPair(NamedTuple):
    """Both clocks read together. `ticks` is masked and unwrapped; `deviation_ns` is how far apart the reads may be."""

    ticks: int
    monotonic_ns: int
    deviation_ns: int


class ClockFit(NamedTuple):
    """monotonic_ns = origin_ns + (ticks − origin_ticks) · ns_per_tick."""

    origin_ticks: int
    origin_ns: int
    ns_per_tick: float


def fit_clock(pairs: Sequence[ClockPair], nominal_ns_per_tick: float) -> ClockFit:
    """Return the line through calibrated pairs: the median of the slopes to the newest pair (Theil–Sen), median offset.

    One pair, or pairs all within a tenth of a second, give the nominal slope.

    Args:
        pairs: oldest first, at least one.
        nominal_ns_per_tick: `timestampPeriod`.
    """
    newest = pairs[-1]
    ticks = np.array([pair.ticks - newest.ticks for pair in pairs], np.float64)
    nanoseconds = np.array([pair.monotonic_ns - newest.monotonic_ns for pair in pairs], np.float64)
    far = ticks * nominal_ns_per_tick < -1e8
    slope = float(np.median(nanoseconds[far] / ticks[far])) if far.any() else nominal_ns_per_tick
    offset = float(np.median(nanoseconds - slope * ticks))
    return ClockFit(newest.ticks, newest.monotonic_ns + round(offset), slope)


class GpuClock:
    """Turns query results into stamps. Without calibrated timestamps every GPU time is missing, never guessed.

    Attributes:
        unavailable: why GPU times are missing, or "".
    """

    def __init__(self, device: Device, instance: Instance) -> None:
        self._device = device
        self._mask = (1 << device.family.timestamp_bits) - 1
        self._period_ns = device.physical.timestamp_period_ns
        self._pairs: deque[ClockPair] = deque(maxlen=PAIRS_KEPT)
        self._fit: ClockFit | None = None
        self._read: Any = None
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.unavailable = self._prepare(instance)
        if not self.unavailable:
            self.calibrate()
            self._thread = threading.Thread(target=self._run, name="gpu-clock", daemon=True)
            self._thread.start()

    def monotonic_ns(self, ticks: int) -> int:
        """Return the CLOCK_MONOTONIC ns of a timestamp query, `NO_STAMP_NS` when there is no calibration."""
        fit = self._fit
        if fit is None:
            return NO_STAMP_NS
        return fit.origin_ns + round(self._signed(ticks - fit.origin_ticks) * fit.ns_per_tick)

    def calibrate(self) -> None:
        """Take a calibrated pair, the best of a few, and fit anew. Called by the clock's own thread once a second."""
        reads = [pair for pair in (self._read_pair() for _ in range(TRIES_PER_PAIR)) if pair is not None]
        if reads:
            self._pairs.append(min(reads, key=lambda pair: pair.deviation_ns))
            self._fit = fit_clock(self._pairs, self._period_ns)

    def close(self) -> None:
        """End the thread; before the device goes."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _prepare(self, instance: Instance) -> str:
        if self._device.family.timestamp_bits == 0:
            return "this device's queue takes no timestamps"
        extension = next((name for name in CALIBRATED_TIMESTAMPS if name in self._device.extensions), "")
        if not extension:
            return "this driver has no calibrated timestamps"
        suffix = extension[3:6]
        domains = self._time_domains(
            getattr(instance.functions, f"vkGetPhysicalDeviceCalibrateableTimeDomains{suffix}")
        )
        if not {_DOMAIN_DEVICE, _DOMAIN_CLOCK_MONOTONIC} <= domains:
            return "this driver does not calibrate against CLOCK_MONOTONIC"
        self._read = getattr(self._device.functions, f"vkGetCalibratedTimestamps{suffix}")
        infos = [
            api.struct("VkCalibratedTimestampInfoKHR", timeDomain=domain)
            for domain in (_DOMAIN_DEVICE, _DOMAIN_CLOCK_MONOTONIC)
        ]
        self._infos = api.array("VkCalibratedTimestampInfoKHR", infos)
        self._stamps = ffi.new("uint64_t[2]")
        self._deviation = ffi.new("uint64_t *")
        return ""

    def _time_domains(self, get_domains: Any) -> set[int]:
        count = ffi.new("uint32_t *")
        if get_domains(self._device.physical.handle, count, ffi.NULL) != SUCCESS:
            return set()
        domains = ffi.new("VkTimeDomainKHR[]", max(1, count[0]))
        if get_domains(self._device.physical.handle, count, domains) != SUCCESS:
            return set()
        return {int(domains[index]) for index in range(count[0])}

    def _read_pair(self) -> ClockPair | None:
        if self._read(self._device.handle, 2, self._infos, self._stamps, self._deviation) != SUCCESS:
            return None
        ticks = int(self._stamps[0]) & self._mask
        if self._pairs:
            ticks = self._pairs[-1].ticks + self._signed(ticks - self._pairs[-1].ticks)
        return ClockPair(ticks, int(self._stamps[1]), int(self._deviation[0]))

    def _signed(self, difference: int) -> int:
        """Return a difference of masked ticks as the nearest one, over a wrap of the counter."""
        difference &= self._mask
        return difference - self._mask - 1 if difference > self._mask >> 1 else difference

    def _run(self) -> None:
        while not self._stop.wait(CALIBRATION_PERIOD_S):
            self.calibrate()
