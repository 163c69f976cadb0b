"""The simulated GPU: physics of first order, repeatable, and labelled as what it is."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.clock import NS_PER_S
from app.telemetry.provider import GPU_METRICS
from app.telemetry.simulated import STEP_NS, SimulatedBoard, SimulatedProvider, initial_state, step

QUIET = SimulatedBoard(noise_ratio=0.0, limit_w=1_000.0, slowdown_c=500.0)
"""A board without noise, power limit or slowdown."""


def run_at(provider: SimulatedProvider, seconds: float) -> dict[str, float]:
    return {reading.metric: reading.value for reading in provider.poll(round(seconds * NS_PER_S))}


def test_it_says_that_it_is_simulated_wherever_it_is_named() -> None:
    provider = SimulatedProvider(lambda: 0.5, now_ns=0)
    assert (provider.name, provider.label, provider.device) == ("simulated", "Simulated GPU", "Simulated GPU")
    assert {reading.device for reading in provider.poll(0)} == {"Simulated GPU"}
    assert set(provider.capabilities()) == {reading.metric for reading in provider.poll(0)} == set(GPU_METRICS)
    assert all("simulated" in why for why in provider.capabilities().values() if why)


def test_temperature_follows_a_first_order_law() -> None:
    state = initial_state(QUIET)
    start_c = state.temperature_c
    # Start at the full clock, so that power is a step.
    state.clock_mhz = QUIET.boost_clock_mhz
    settled_c = QUIET.ambient_c + QUIET.resistance_c_per_w * QUIET.full_w
    for _ in range(round(QUIET.time_constant_s * NS_PER_S / STEP_NS)):
        step(QUIET, state, 1.0, 1.0)
    assert state.temperature_c == pytest.approx(settled_c + (start_c - settled_c) / math.e, abs=1e-6)
    for _ in range(round(20 * QUIET.time_constant_s * NS_PER_S / STEP_NS)):
        step(QUIET, state, 1.0, 1.0)
    assert state.temperature_c == pytest.approx(settled_c, abs=1e-3)


def test_the_clock_ramps_at_its_slew_rate() -> None:
    provider = SimulatedProvider(lambda: 1.0, QUIET, now_ns=0)
    assert run_at(provider, 0.5)["gpu_clock_mhz"] == pytest.approx(QUIET.idle_clock_mhz + 0.5 * 1500)
    assert run_at(provider, 5)["gpu_clock_mhz"] == QUIET.boost_clock_mhz


def test_power_stays_at_its_limit_and_the_time_is_counted() -> None:
    board = SimulatedBoard(noise_ratio=0.0, slowdown_c=500.0)
    provider = SimulatedProvider(lambda: 1.0, board, now_ns=0)
    run_at(provider, 10)
    later = run_at(provider, 11)
    assert later["power_w"] == pytest.approx(board.limit_w)
    assert later["gpu_clock_mhz"] < board.boost_clock_mhz
    assert later["throttle_ns.power"] == NS_PER_S
    assert later["throttle_ns.thermal"] == 0


def test_heat_holds_the_clock_down_near_the_slowdown_temperature() -> None:
    board = SimulatedBoard(noise_ratio=0.0, limit_w=1_000.0)
    provider = SimulatedProvider(lambda: 1.0, board, now_ns=0)
    hot = run_at(provider, 280)
    assert board.slowdown_c < hot["gpu_temperature_c"] < board.slowdown_c + 5
    assert hot["thermal_margin_c"] == pytest.approx(board.slowdown_c - hot["gpu_temperature_c"])
    assert hot["gpu_clock_mhz"] < board.boost_clock_mhz
    assert run_at(provider, 281)["throttle_ns.thermal"] > 0


@settings(max_examples=25)
@given(
    cadence_s=st.lists(st.floats(0.1, 7.0), min_size=1, max_size=20),
    seed=st.integers(0, 2**31),
    load=st.floats(-1, 2) | st.just(math.nan),
)
def test_readings_depend_on_seed_and_time_and_not_on_how_often_it_is_polled(
    cadence_s: list[float], seed: int, load: float
) -> None:
    often = SimulatedProvider(lambda: load, seed=seed, now_ns=0)
    at_s = sum(cadence_s)
    for polls in range(1, len(cadence_s)):
        run_at(often, sum(cadence_s[:polls]))
    values = run_at(often, at_s)
    once = SimulatedProvider(lambda: load, seed=seed, now_ns=0)
    compared = [metric for metric in GPU_METRICS if not metric.startswith("throttle_ns")]
    expected = run_at(once, at_s)
    for metric in compared:
        assert values[metric] == expected[metric] or metric == "memory_temperature_c"
    assert 0 <= values["gpu_utilisation_ratio"] <= 1
    assert values["power_w"] >= 0


def test_another_seed_gives_other_noise() -> None:
    first, second = (SimulatedProvider(lambda: 1.0, seed=seed, now_ns=0) for seed in (1, 2))
    assert run_at(first, 30)["power_w"] != run_at(second, 30)["power_w"]


def test_a_long_silence_costs_no_catching_up() -> None:
    provider = SimulatedProvider(lambda: 1.0, now_ns=0)
    before = run_at(provider, 10)["gpu_temperature_c"]
    assert run_at(provider, 1e6)["gpu_temperature_c"] == pytest.approx(before)
