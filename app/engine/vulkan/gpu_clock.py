"""GPU ticks to CLOCK_MONOTONIC: calibrated pairs, taken by a thread of its own, and a robust line through them.

Clocks step: CLOCK_MONOTONIC stands still while the machine sleeps and the GPU's counter may not, or starts anew. Two
pairs that agree with each other and not with the line begin a new one; a single one is a reading gone wrong.
"""

from __future__ import annotations

import threading
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

STEP_NS: Final = 50_000
"""A pair this far off the line, beside its own deviation and what drift may do, is no noise."""

MOST_DRIFT: Final = 200e-6
"""Quartz clocks differ by some tens of parts per million; a line through few pairs is trusted no further than this."""

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


class ClockState(NamedTuple):
    """How the GPU's clock stands to CLOCK_MONOTONIC.

    Attributes:
        offset_ns: how far the line of now has moved from the first one (at its nominal rate), now.
        drift_ppm: rate against the nominal tick period, parts per million; positive where the GPU's clock is slow.
        residual_ns: median distance of the pairs from the line.
        pairs: how many pairs the line rests on. restarts: how often a clock was found to have stepped.
    """

    offset_ns: float
    drift_ppm: float
    residual_ns: float
    pairs: int
    restarts: int


class ClockHistory(NamedTuple):
    """Pairs so far, oldest first, the line through them, and a pair off the line that waits for a second one.

    Attributes:
        first: the first line of all. restarts: how many others were begun anew.
    """

    pairs: tuple[ClockPair, ...]
    fit: ClockFit
    first: ClockFit
    suspect: ClockPair | None = None
    restarts: int = 0


def begin_history(pair: ClockPair, nominal_ns_per_tick: float) -> ClockHistory:
    """Return the history of one pair."""
    fit = fit_clock([pair], nominal_ns_per_tick)
    return ClockHistory((pair,), fit, fit)


def follow_clock(history: ClockHistory, pair: ClockPair, nominal_ns_per_tick: float) -> ClockHistory:
    """Return the history after another pair: the line follows drift, passes over a lone wild pair, and starts anew
    behind a step.
    """
    newest = history.pairs[-1]
    if _is_near(pair, history.fit, newest, nominal_ns_per_tick):
        pairs = (*history.pairs, pair)[-PAIRS_KEPT:]
        return history._replace(pairs=pairs, fit=fit_clock(pairs, nominal_ns_per_tick), suspect=None)
    suspect = history.suspect
    if suspect is not None:
        alone = fit_clock([suspect], nominal_ns_per_tick)
        if _is_near(pair, alone, suspect, nominal_ns_per_tick):
            pairs = (suspect, pair)
            fit = fit_clock(pairs, nominal_ns_per_tick)
            return ClockHistory(pairs, fit, history.first, restarts=history.restarts + 1)
    return history._replace(suspect=pair)


def clock_state(history: ClockHistory, nominal_ns_per_tick: float) -> ClockState:
    """Return offset, drift and residual of a history."""
    ticks, fit = history.pairs[-1].ticks, history.fit
    first = history.first._replace(ns_per_tick=nominal_ns_per_tick)
    residuals = [abs(pair.monotonic_ns - _predict_ns(fit, pair.ticks)) for pair in history.pairs]
    return ClockState(
        offset_ns=_predict_ns(fit, ticks) - _predict_ns(first, ticks),
        drift_ppm=(fit.ns_per_tick / nominal_ns_per_tick - 1) * 1e6,
        residual_ns=float(np.median(residuals)),
        pairs=len(history.pairs),
        restarts=history.restarts,
    )


def _is_near(pair: ClockPair, fit: ClockFit, newest: ClockPair, nominal_ns_per_tick: float) -> bool:
    apart_ns = abs(pair.ticks - newest.ticks) * nominal_ns_per_tick
    # A second that passed on one clock alone is a step, so the shorter of the two spans bounds what drift can do.
    apart_ns = min(apart_ns, abs(pair.monotonic_ns - newest.monotonic_ns))
    limit_ns = STEP_NS + pair.deviation_ns + MOST_DRIFT * apart_ns
    return abs(pair.monotonic_ns - _predict_ns(fit, pair.ticks)) <= limit_ns


def _predict_ns(fit: ClockFit, ticks: int) -> int:
    return fit.origin_ns + round((ticks - fit.origin_ticks) * fit.ns_per_tick)


class GpuClock:
    """Turns query results into stamps. Without calibrated timestamps every GPU time is missing, never guessed.

    Attributes:
        unavailable: why GPU times are missing, or "".
    """

    def __init__(self, device: Device, instance: Instance) -> None:
        self._device = device
        self._mask = (1 << device.family.timestamp_bits) - 1
        self._period_ns = device.physical.timestamp_period_ns
        self._history: ClockHistory | None = None
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

    @property
    def state(self) -> ClockState | None:
        """Return how the clocks stand to each other, None without calibration. From any thread."""
        history = self._history
        return None if history is None else clock_state(history, self._period_ns)

    def calibrate(self) -> None:
        """Take a calibrated pair and fit anew. Called by the clock's own thread once a second.

        A pair off the line is asked for again at once, so that a step is followed without delay.
        """
        self._take_pair()
        if self._history is not None and self._history.suspect is not None:
            self._take_pair()

    def close(self) -> None:
        """End the thread; before the device goes."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _take_pair(self) -> None:
        """Take the best of a few reads: the one whose two clocks were read closest together."""
        reads = [pair for pair in (self._read_pair() for _ in range(TRIES_PER_PAIR)) if pair is not None]
        if not reads:
            return
        best = min(reads, key=lambda pair: pair.deviation_ns)
        known = self._history
        history = begin_history(best, self._period_ns) if known is None else follow_clock(known, best, self._period_ns)
        self._history, self._fit = history, history.fit

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
        if self._history is not None:
            newest = self._history.pairs[-1].ticks
            ticks = newest + self._signed(ticks - newest)
        return ClockPair(ticks, int(self._stamps[1]), int(self._deviation[0]))

    def _signed(self, difference: int) -> int:
        """Return a difference of masked ticks as the nearest one, over a wrap of the counter."""
        difference &= self._mask
        return difference - self._mask - 1 if difference > self._mask >> 1 else difference

    def _run(self) -> None:
        while not self._stop.wait(CALIBRATION_PERIOD_S):
            self.calibrate()
