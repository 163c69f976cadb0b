"""The sampler: a grid of deadlines, faults that stay where they are, bounded feeds, and its own cost."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NS_PER_MS, NS_PER_S
from app.telemetry.calls import CallCost
from app.telemetry.host import HostProvider
from app.telemetry.provider import Reading
from app.telemetry.sampler import Sampler, TelemetryFeed, next_deadline_ns
from app.telemetry.simulated import SimulatedProvider

HALF_S = NS_PER_S // 2


class SteppedTime:
    """Time that stands until the test lets it go on; records the deadlines that were waited for."""

    def __init__(self) -> None:
        self.now = 0
        self.deadlines: list[int] = []
        self._steps = threading.Semaphore(0)
        self._idle = threading.Semaphore(0)

    def now_ns(self) -> int:
        return self.now

    def wait_until(self, deadline_ns: int, stop: threading.Event) -> bool:
        self.deadlines.append(deadline_ns)
        self._idle.release()
        while not self._steps.acquire(timeout=0.02):
            if stop.is_set():
                return True
        self.now = max(self.now, deadline_ns)
        return stop.is_set()

    def step(self) -> None:
        """Let the thread pass one deadline and wait until it asks for the next."""
        self._idle.acquire()
        self._steps.release()
        self._idle.acquire()
        self._idle.release()


class ScriptedProvider:
    """A provider whose polls are scripted."""

    def __init__(self, name: str = "scripted", act: Callable[[int], None] = lambda _: None) -> None:
        self.name = self.label = self.device = name
        self.act = act
        self.polled_at: list[int] = []
        self.closed = 0
        self.costs: list[CallCost] = []

    def capabilities(self) -> Mapping[str, str]:
        return {"m": ""}

    def poll(self, now_ns: int) -> list[Reading]:
        self.polled_at.append(now_ns)
        self.act(now_ns)
        return [Reading("m", float(len(self.polled_at)), "", now_ns, 1.0, self.name, self.device)]

    def call_costs(self) -> list[CallCost]:
        return self.costs

    def close(self) -> None:
        self.closed += 1


def fail(_: int) -> None:
    raise ZeroDivisionError("a bug in a provider")


@given(
    origin=st.integers(0, 2**60),
    period=st.integers(1, 10**12),
    later=st.integers(-(10**13), 10**13),
)
def test_the_next_deadline_is_the_first_point_of_the_grid_after_now(origin: int, period: int, later: int) -> None:
    now = origin + later
    deadline = next_deadline_ns(origin, period, now)
    assert (deadline - origin) % period == 0
    assert deadline > now
    assert deadline > origin
    assert deadline - period <= max(now, origin)


@pytest.mark.parametrize("period_s", [0.0, 0.1, 0.499, -1.0, math.nan])
def test_a_period_below_half_a_second_is_refused(period_s: float) -> None:
    with pytest.raises(ValueError, match="below"):
        Sampler([], period_s)


def test_deadlines_keep_to_the_grid_and_missed_ones_are_skipped_not_made_up_for() -> None:
    wait = SteppedTime()

    def dawdle(_: int) -> None:
        if len(provider.polled_at) == 3:
            wait.now += 1_700 * NS_PER_MS

    provider = ScriptedProvider(act=dawdle)
    sampler = Sampler([provider], wait=wait, thread_clock=lambda: 0)
    sampler.start()
    for _ in range(5):
        wait.step()
    assert sampler.stop()
    assert provider.polled_at == [0, HALF_S, 2 * HALF_S, 6 * HALF_S, 7 * HALF_S]
    assert sampler.cost().skipped == 3
    assert sampler.cost().polls == 5


def test_a_provider_that_breaks_ends_neither_the_thread_nor_the_others(caplog: pytest.LogCaptureFixture) -> None:
    wait, broken, well = SteppedTime(), ScriptedProvider("broken", fail), ScriptedProvider("well")
    sampler = Sampler([broken, well], wait=wait)
    feed = sampler.subscribe()
    sampler.start()
    for _ in range(20):
        wait.step()
    readings = feed.read()
    missing = [reading for reading in readings if reading.provider == "broken"]
    assert missing
    assert all(math.isnan(reading.value) and "a bug in a provider" in reading.reason for reading in missing)
    assert len([reading for reading in readings if reading.provider == "well"]) == 20
    assert len(broken.polled_at) == 4, "it rests 1, 2, 4 s before it is asked again"
    assert len(caplog.records) == 1, "the same fault is logged once"
    broken.act = lambda _: None
    for _ in range(20):
        wait.step()
    assert feed.read()[-2].value > 0
    assert sampler.stop()
    assert (broken.closed, well.closed) == (1, 1)


def test_a_provider_that_cannot_close_leaves_the_others_closed(caplog: pytest.LogCaptureFixture) -> None:
    broken, well = ScriptedProvider("broken"), ScriptedProvider("well")
    broken.close = lambda: fail(0)  # type: ignore[method-assign]  # the fault under test
    assert Sampler([broken, well]).stop()
    assert well.closed == 1
    assert "broken failed to close" in caplog.text


def test_every_feed_gets_everything_from_its_subscription_on() -> None:
    wait = SteppedTime()
    sampler = Sampler([ScriptedProvider()], wait=wait)
    early = sampler.subscribe()
    sampler.start()
    wait.step()
    late = sampler.subscribe()
    wait.step()
    assert [reading.value for reading in early.read() if reading.metric == "m"] == [1, 2]
    assert [reading.value for reading in late.read() if reading.metric == "m"] == [1, 2], (
        "the latest at subscription, then everything"
    )
    assert early.read() == []
    sampler.unsubscribe(late)
    wait.step()
    assert late.read() == []
    assert sampler.stop()


@given(st.lists(st.integers(0, 30), max_size=20), st.integers(1, 40))
def test_a_feed_keeps_the_newest_and_counts_what_it_drops(batches: list[int], capacity: int) -> None:
    feed = TelemetryFeed(capacity)
    put = 0
    for size in batches:
        feed.put([Reading("m", float(put + n), "", 0, 0.0, "p", "d") for n in range(size)])
        put += size
    kept = [reading.value for reading in feed.read()]
    assert kept == [float(n) for n in range(max(put - capacity, 0), put)]
    assert feed.dropped == put - len(kept)


def test_the_sampler_shows_what_it_costs() -> None:
    wait, provider = SteppedTime(), ScriptedProvider()
    cpu = iter(range(0, 10**12, NS_PER_MS))  # the clock is asked twice a poll, so 2 ms of CPU each
    sampler = Sampler([provider], wait=wait, thread_clock=lambda: next(cpu))
    feed = sampler.subscribe()
    assert math.isnan(sampler.cost().worst_us)
    provider.costs = [CallCost("p.cheap", 9, 90.0, 30.0, 0.5), CallCost("p.dear", 1, 410.0, 410.0, 1.0)]
    sampler.start()
    for _ in range(5):
        wait.step()
    assert sampler.stop()
    cost = sampler.cost()
    assert (cost.calls, cost.total_us, cost.mean_us) == (10, 500.0, 50.0)
    assert (cost.worst_us, cost.worst_call) == (410.0, "p.dear")
    assert cost.cpu_ratio == pytest.approx(5 * 0.002 / 2.0), "five polls in two seconds"
    own = [reading.value for reading in feed.read() if reading.metric == "self_cpu_ratio.sampler"]
    assert own == [0.004] * 4, "2 ms in half a second, from the second poll on"
    assert cost.worst_late_us == 0
    assert cost.by_call == tuple(provider.costs)


def test_stopping_twice_or_before_starting_closes_once() -> None:
    provider = ScriptedProvider()
    sampler = Sampler([provider])
    assert sampler.stop()
    assert sampler.stop()
    assert provider.closed == 1


def test_a_call_that_hangs_does_not_hold_up_the_program() -> None:
    release, entered = threading.Event(), threading.Event()

    def hang(_: int) -> None:
        entered.set()
        release.wait()

    provider = ScriptedProvider(act=hang)
    sampler = Sampler([provider])
    sampler.start()
    entered.wait()
    assert not sampler.stop(timeout_s=0.05)
    assert provider.closed == 0, "a provider in the middle of a call is not closed under it"
    release.set()
    assert sampler.stop()
    assert provider.closed == 1


def test_a_real_sampler_starts_at_once_and_leaves_no_thread() -> None:
    for _ in range(20):
        sampler = Sampler([HostProvider(), SimulatedProvider(lambda: 0.5)])
        feed = sampler.subscribe()
        sampler.start()
        deadline = time.monotonic() + 10
        while not (readings := feed.read()) and time.monotonic() < deadline:
            time.sleep(0.001)
        assert {"host", "simulated"} <= {reading.provider for reading in readings}
        assert sampler.stop()
        assert not sampler.is_running
