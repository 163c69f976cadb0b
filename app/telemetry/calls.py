"""Paced calls: each driver call runs on its own cadence, is timed, is isolated from the others, and backs off.

A driver may serialise its calls with the frames of the application that is being measured, so a slow call is a
disturbance: a call above `SLOW_CALL_NS` is made half as often, up to a sixteenth, and returns to its pace when it is
cheap again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, NamedTuple

from app.core.clock import NS_PER_MS, NS_PER_S

SLOW_CALL_NS: Final = 2 * NS_PER_MS
CHEAP_CALL_NS: Final = NS_PER_MS
LONGEST_BACK_OFF: Final = 16
REPEAT_UNAVAILABLE_NS: Final = 10 * NS_PER_S
"""How often the reason of a metric that cannot be read is repeated in the readings."""
EARLY_NS: Final = 100 * NS_PER_MS
"""A turn may come this much early. Polls jitter: without it, a call whose pace equals the poll's is made only at
every other poll."""

NAN: Final = float("nan")


class Verdict(Enum):
    """How a read ended."""

    MEASURED = "measured"
    PENDING = "pending"
    """A rate that needs one more sample; the metric is there."""
    FAILED = "failed"
    """No value this time; tried again at the next turn."""
    UNAVAILABLE = "unavailable"
    """Will not come in this session; never asked again."""


class Outcome(NamedTuple):
    """What a read gave for one metric: a value (NaN unless measured), the reason when there is none, the verdict."""

    value: float
    reason: str = ""
    verdict: Verdict = Verdict.MEASURED


def pending(reason: str) -> Outcome:
    """Return the outcome of a rate that has no second sample yet."""
    return Outcome(NAN, reason, Verdict.PENDING)


def failed(reason: str) -> Outcome:
    """Return the outcome of a read that did not work this time."""
    return Outcome(NAN, reason, Verdict.FAILED)


def unavailable(reason: str) -> Outcome:
    """Return the outcome of a metric that this machine does not have."""
    return Outcome(NAN, reason, Verdict.UNAVAILABLE)


class CallFailedError(Exception):
    """A driver call failed as a whole; `outcome` goes to every metric of the call."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(outcome.reason)
        self.outcome = outcome


@dataclass(frozen=True, slots=True)
class CallCost:
    """What one call has cost since its provider was opened.

    Attributes:
        name: `provider.call`, for example `nvml.temperature`.
        count: calls made, failed ones included.
        total_us, worst_us: wall time inside the call, in µs.
        period_s: how often it is made now; above its own pace while it backs off.
    """

    name: str
    count: int
    total_us: float
    worst_us: float
    period_s: float


class Timed(NamedTuple):
    """One metric's outcome, and the cost of the call in µs: NaN where no call was made or another row carries it."""

    metric: str
    outcome: Outcome
    cost_us: float


def _timed(outcomes: Mapping[str, Outcome], cost_us: float) -> list[Timed]:
    """Return rows of which the first carries the cost, so that costs may be summed over rows."""
    return [Timed(metric, outcome, NAN if row else cost_us) for row, (metric, outcome) in enumerate(outcomes.items())]


def paced_period_ns(base_ns: int, current_ns: int, cost_ns: int) -> int:
    """Return the next period of a call that has just cost `cost_ns`.

    Doubles above `SLOW_CALL_NS` up to `LONGEST_BACK_OFF` times the base, halves back below `CHEAP_CALL_NS`, and stays
    in between, so that a call near the limit does not swing.
    """
    if cost_ns > SLOW_CALL_NS:
        return min(current_ns * 2, base_ns * LONGEST_BACK_OFF)
    if cost_ns < CHEAP_CALL_NS:
        return max(current_ns // 2, base_ns)
    return current_ns


@dataclass(slots=True)
class PacedCall:
    """One driver call (or file read) with the metrics it gives.

    Attributes:
        name: `provider.call`.
        metrics: every metric it may give; `read` may leave out one that another call gives.
        read: takes now in ns, returns outcomes by metric; raises `CallFailedError` when all of it failed.
        period_ns: its own pace; the shortest time between two calls.
        enabled: False while another call gives the same metrics.
        known_slow: its cost is a documented property (the driver samples for 20 ms inside the call) and already in
            its pace: no back-off.
    """

    name: str
    metrics: tuple[str, ...]
    read: Callable[[int], Mapping[str, Outcome]]
    period_ns: int
    enabled: Callable[[], bool] = lambda: True
    known_slow: bool = False
    _due_ns: int | None = field(default=None, init=False)
    _current_ns: int = field(init=False)
    _count: int = field(default=0, init=False)
    _total_ns: int = field(default=0, init=False)
    _worst_ns: int = field(default=0, init=False)
    _outcomes: dict[str, Outcome] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._current_ns = self.period_ns

    @property
    def outcomes(self) -> Mapping[str, Outcome]:
        """The last outcome of each metric; empty before the first call."""
        return self._outcomes

    def is_due(self, now_ns: int) -> bool:
        """Tell whether the call's turn has come."""
        return self.enabled() and (self._due_ns is None or now_ns >= self._due_ns - EARLY_NS)

    def run(self, now_ns: int, cost_clock: Callable[[], int]) -> list[Timed]:
        """Make the call, or only repeat why it cannot be made, and set its next turn."""
        if self._is_given_up():
            self._due_ns = now_ns + REPEAT_UNAVAILABLE_NS
            return _timed(self._outcomes, NAN)
        started_ns = cost_clock()
        outcomes = self._read(now_ns)
        cost_ns = cost_clock() - started_ns
        self._account(cost_ns)
        self._outcomes = dict(outcomes)
        self._due_ns = now_ns + (REPEAT_UNAVAILABLE_NS if self._is_given_up() else self._current_ns)
        return _timed(outcomes, cost_ns / 1e3)

    def cost(self) -> CallCost:
        """Return the cost so far."""
        return CallCost(self.name, self._count, self._total_ns / 1e3, self._worst_ns / 1e3, self._current_ns / NS_PER_S)

    def _is_given_up(self) -> bool:
        return bool(self._outcomes) and all(o.verdict is Verdict.UNAVAILABLE for o in self._outcomes.values())

    def _read(self, now_ns: int) -> Mapping[str, Outcome]:
        try:
            return self.read(now_ns)
        except CallFailedError as failure:
            return dict.fromkeys(self.metrics, failure.outcome)
        except OSError as error:
            return dict.fromkeys(self.metrics, failed(f"the system does not answer: {error}"))

    def _account(self, cost_ns: int) -> None:
        self._count += 1
        self._total_ns += cost_ns
        self._worst_ns = max(self._worst_ns, cost_ns)
        if not self.known_slow:
            self._current_ns = paced_period_ns(self.period_ns, self._current_ns, cost_ns)


class CallSet:
    """The calls of one provider, in the order in which they are made."""

    def __init__(self, calls: Iterable[PacedCall], cost_clock: Callable[[], int] = time.perf_counter_ns) -> None:
        self._calls = tuple(calls)
        self._cost_clock = cost_clock

    def run_due(self, now_ns: int) -> list[Timed]:
        """Make every call whose turn has come; the failure of one never reaches another."""
        return [timed for call in self._calls if call.is_due(now_ns) for timed in call.run(now_ns, self._cost_clock)]

    def metrics(self) -> list[str]:
        """Return every metric that some call may give, without repeats."""
        return list(dict.fromkeys(metric for call in self._calls for metric in call.metrics))

    def capabilities(self) -> dict[str, str]:
        """Return "" for each metric that is there, else the reason of the last read."""
        found: dict[str, str] = dict.fromkeys(self.metrics(), "not read yet")
        for call in self._calls:
            for metric, outcome in call.outcomes.items():
                if call.enabled():
                    found[metric] = outcome.reason if outcome.verdict in _ABSENT else ""
        return found

    def costs(self) -> list[CallCost]:
        """Return what each call that was ever made has cost."""
        return [cost for call in self._calls if (cost := call.cost()).count]


_ABSENT: Final = frozenset({Verdict.FAILED, Verdict.UNAVAILABLE})
