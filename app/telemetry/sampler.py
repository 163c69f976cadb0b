"""The sampler: one thread that polls every provider on a grid of deadlines, outside the frame path.

Nothing here is ever called from the frame path; readers take readings from bounded feeds. A provider that breaks ends
neither the thread nor the other providers: its readings go missing, with the reason.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Protocol

from app.core.clock import NS_PER_S
from app.telemetry.calls import CallCost
from app.telemetry.provider import Provider, Reading

SHORTEST_PERIOD_S: Final = 0.5
"""Faster polling was seen to hold a driver's lock and to delay render threads, and drivers renew values no faster."""

FEED_CAPACITY: Final = 20_000
"""Readings a feed keeps for a reader that is late: several minutes of a GPU and a host of many cores."""

_LOG: Final = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SamplerCost:
    """What telemetry has cost since it was started.

    Attributes:
        calls: driver calls and file reads made.
        total_us, mean_us, worst_us: wall time inside them, in µs; NaN before the first call.
        worst_call: name of the call that took `worst_us`, "" before the first.
        cpu_ratio: CPU time of the sampler's thread ÷ wall time since its start; 1.0 is one core. NaN in the first
            period.
        polls: polls made.
        skipped: deadlines that passed while a poll was still running.
        worst_late_us: furthest that a poll began after its deadline, in µs; NaN before the first.
        by_call: every call's own cost.
    """

    calls: int = 0
    total_us: float = 0.0
    mean_us: float = math.nan
    worst_us: float = math.nan
    worst_call: str = ""
    cpu_ratio: float = math.nan
    polls: int = 0
    skipped: int = 0
    worst_late_us: float = math.nan
    by_call: tuple[CallCost, ...] = ()


class Wait(Protocol):
    """How the sampler's thread waits; injected so that tests never sleep."""

    def now_ns(self) -> int:
        """Return CLOCK_MONOTONIC in ns."""
        ...

    def wait_until(self, deadline_ns: int, stop: threading.Event) -> bool:
        """Return True as soon as `stop` is set, False at the deadline."""
        ...


class MonotonicWait:
    """Waits on the stop event with the time that is left to an absolute deadline."""

    def now_ns(self) -> int:
        """Return CLOCK_MONOTONIC in ns."""
        return time.monotonic_ns()

    def wait_until(self, deadline_ns: int, stop: threading.Event) -> bool:
        """Return True as soon as `stop` is set, False at the deadline."""
        return stop.wait(max(deadline_ns - time.monotonic_ns(), 0) / NS_PER_S)


class TelemetryFeed:
    """Readings for one reader, oldest first; bounded, the oldest are dropped and counted. Safe between threads."""

    def __init__(self, capacity: int = FEED_CAPACITY) -> None:
        self._readings: deque[Reading] = deque()
        self._capacity = capacity
        self._dropped = 0
        self._lock = threading.Lock()

    @property
    def dropped(self) -> int:
        """Return how many readings were dropped because nobody read them in time."""
        with self._lock:
            return self._dropped

    def read(self) -> list[Reading]:
        """Return everything since the last read, and forget it."""
        with self._lock:
            readings = list(self._readings)
            self._readings.clear()
        return readings

    def put(self, readings: Sequence[Reading]) -> None:
        """Append readings; called by the sampler."""
        with self._lock:
            self._readings.extend(readings)
            excess = max(len(self._readings) - self._capacity, 0)
            for _ in range(excess):
                self._readings.popleft()
            self._dropped += excess


def next_deadline_ns(origin_ns: int, period_ns: int, now_ns: int) -> int:
    """Return the first point of the grid `origin + k × period` after now, k ≥ 1: lateness never adds up."""
    passed = max((now_ns - origin_ns) // period_ns, 0)
    return origin_ns + (passed + 1) * period_ns


class Sampler:
    """Polls providers on its own thread from `start` to `stop`; runs once.

    Args:
        providers: polled in this order; the sampler owns them from here on and closes them when it stops, so that no
            driver stays open (an open NVML handle keeps a laptop's GPU awake).
        period_s: of the grid, at least `SHORTEST_PERIOD_S`. Providers pace their dearer calls themselves.
        wait: time and waiting.
        thread_clock: CPU time of the calling thread, in ns.

    Raises:
        ValueError: the period is too short.
    """

    def __init__(
        self,
        providers: Sequence[Provider],
        period_s: float = SHORTEST_PERIOD_S,
        *,
        wait: Wait | None = None,
        thread_clock: Callable[[], int] = time.thread_time_ns,
    ) -> None:
        if not period_s >= SHORTEST_PERIOD_S:
            raise ValueError(f"a telemetry period of {period_s} s is below {SHORTEST_PERIOD_S} s")
        self._polled = [_Polled(provider) for provider in providers]
        self._period_ns = round(period_s * NS_PER_S)
        self._wait = wait or MonotonicWait()
        self._thread_clock = thread_clock
        self._stop = threading.Event()
        self._feeds: list[TelemetryFeed] = []
        self._feeds_lock = threading.Lock()
        self._latest: dict[tuple[str, str], Reading] = {}
        self._cost = SamplerCost()
        # A driver call that never returns must not keep the program from ending, hence a daemon.
        self._thread = threading.Thread(target=self._run, name="telemetry-sampler", daemon=True)
        self._is_closed = False

    @property
    def is_running(self) -> bool:
        """Tell whether the thread is alive."""
        return self._thread.is_alive()

    def start(self) -> None:
        """Start the thread; the first poll follows at once.

        Raises:
            RuntimeError: it was started before.
        """
        self._thread.start()

    def stop(self, timeout_s: float = 2.0) -> bool:
        """End the thread and close the providers; also right when it never started, and twice.

        Returns:
            False when a driver call does not return in time: the thread is then left to itself, its provider open.
        """
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout_s)
            if self._thread.is_alive():
                return False
        self._close_providers()
        return True

    def subscribe(self) -> TelemetryFeed:
        """Return a feed of every reading from now on, which starts with the latest of each metric.

        So a reader that comes late knows at once what is read on a slow pace, or not at all and why.
        """
        feed = TelemetryFeed()
        with self._feeds_lock:
            feed.put(list(self._latest.values()))
            self._feeds.append(feed)
        return feed

    def unsubscribe(self, feed: TelemetryFeed) -> None:
        """Put no more readings into a feed; one that is not subscribed is left alone."""
        with self._feeds_lock:
            self._feeds = [other for other in self._feeds if other is not feed]

    def cost(self) -> SamplerCost:
        """Return the cost as of the last poll."""
        return self._cost

    def _run(self) -> None:
        origin_ns = deadline_ns = self._wait.now_ns()
        meter = _ThreadMeter(self._thread_clock)
        while not self._wait.wait_until(deadline_ns, self._stop):
            begun_ns = self._wait.now_ns()
            self._poll(begun_ns, meter)
            self._account(origin_ns, begun_ns - deadline_ns, meter.total_ns())
            following_ns = next_deadline_ns(origin_ns, self._period_ns, self._wait.now_ns())
            self._count_skipped((following_ns - deadline_ns) // self._period_ns - 1)
            deadline_ns = following_ns

    def _poll(self, now_ns: int, meter: _ThreadMeter) -> None:
        readings = [*meter.read(now_ns), *(reading for polled in self._polled for reading in polled.poll(now_ns))]
        with self._feeds_lock:
            self._latest.update({(reading.device, reading.metric): reading for reading in readings})
            for feed in self._feeds:
                feed.put(readings)

    def _account(self, origin_ns: int, late_ns: int, cpu_ns: int) -> None:
        calls = tuple(cost for polled in self._polled for cost in polled.call_costs())
        count = sum(call.count for call in calls)
        total_us = sum(call.total_us for call in calls)
        worst = max(calls, key=lambda call: call.worst_us, default=None)
        elapsed_ns = self._wait.now_ns() - origin_ns
        self._cost = SamplerCost(
            calls=count,
            total_us=total_us,
            mean_us=total_us / count if count else math.nan,
            worst_us=worst.worst_us if worst else math.nan,
            worst_call=worst.name if worst else "",
            cpu_ratio=cpu_ns / elapsed_ns if elapsed_ns >= self._period_ns else math.nan,
            polls=self._cost.polls + 1,
            skipped=self._cost.skipped,
            worst_late_us=_larger(self._cost.worst_late_us, late_ns / 1e3),
            by_call=calls,
        )

    def _count_skipped(self, skipped: int) -> None:
        if skipped > 0:
            self._cost = replace(self._cost, skipped=self._cost.skipped + skipped)

    def _close_providers(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            for polled in self._polled:
                polled.close()


class _ThreadMeter:
    """CPU time of the sampler's own thread, since its start and between polls."""

    def __init__(self, thread_clock: Callable[[], int]) -> None:
        self._clock = thread_clock
        self._start_ns = thread_clock()
        self._last: tuple[int, int] | None = None

    def total_ns(self) -> int:
        return self._clock() - self._start_ns

    def read(self, now_ns: int) -> list[Reading]:
        """Return the share of a core used since the last poll; nothing at the first, which has no interval."""
        last, self._last = self._last, (self._clock(), now_ns)
        if last is None or now_ns <= last[1]:
            return []
        ratio = (self._last[0] - last[0]) / (now_ns - last[1])
        return [Reading("self_cpu_ratio.sampler", ratio, "", now_ns, math.nan, "sampler", "host")]


FIRST_REST_NS: Final = NS_PER_S
LONGEST_REST_NS: Final = 60 * NS_PER_S


class _Polled:
    """A provider behind the thread's boundary: whatever it raises becomes missing readings and a rest."""

    def __init__(self, provider: Provider) -> None:
        self.provider = provider
        self._rest_ns = 0
        self._rests_until_ns = 0
        self._failure = ""

    def poll(self, now_ns: int) -> list[Reading]:
        if now_ns < self._rests_until_ns:
            return []
        try:
            readings = self.provider.poll(now_ns)
        except Exception as error:  # noqa: BLE001  # thread boundary: a fault of one provider must not end the others
            return self._fail(error, now_ns)
        self._rest_ns, self._failure = 0, ""
        return readings

    def call_costs(self) -> Sequence[CallCost]:
        try:
            return self.provider.call_costs()
        except Exception:  # noqa: BLE001  # thread boundary, as above; the poll has already reported the fault
            return ()

    def close(self) -> None:
        try:
            self.provider.close()
        except Exception:  # noqa: BLE001  # thread boundary: the other providers must still be closed
            _LOG.exception("telemetry provider %s failed to close", self.provider.name)

    def _fail(self, error: Exception, now_ns: int) -> list[Reading]:
        reason = f"the {self.provider.name} provider failed: {str(error) or type(error).__name__}"
        if reason != self._failure:
            _LOG.error("%s", reason, exc_info=error)
        self._failure = reason
        self._rest_ns = min(max(self._rest_ns * 2, FIRST_REST_NS), LONGEST_REST_NS)
        self._rests_until_ns = now_ns + self._rest_ns
        return [
            Reading(metric, math.nan, reason, now_ns, math.nan, self.provider.name, self.provider.device)
            for metric in self._metrics()
        ]

    def _metrics(self) -> list[str]:
        try:
            return list(self.provider.capabilities())
        except Exception:  # noqa: BLE001  # thread boundary, as above
            return []


def _larger(value: float, other: float) -> float:
    return other if math.isnan(value) else max(value, other)
