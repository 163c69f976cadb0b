"""A simulated GPU: physics of first order, so that panels, guards and reports can be tried without hardware.

It is labelled as simulated wherever it is shown and is never chosen unasked.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from app.core.clock import NS_PER_S
from app.telemetry.calls import CallCost
from app.telemetry.counters import link_limit_bytes_per_s
from app.telemetry.provider import GPU_METRICS, THROTTLE_CAUSES, Reading

STEP_NS: Final = NS_PER_S // 10
"""The simulation advances on a grid of its own, so that its state does not depend on how often it is polled."""

LONGEST_CATCH_UP_STEPS: Final = 3_000
"""After a longer silence (five minutes, many time constants) the simulation starts anew from there."""


@dataclass(frozen=True, slots=True)
class SimulatedBoard:
    """Parameters of the simulated GPU; a mid-range desktop board by default.

    Attributes:
        idle_clock_mhz, boost_clock_mhz: ends of the graphics clock's range.
        idle_memory_clock_mhz, memory_clock_mhz: memory clock at rest and under any load.
        clock_slew_mhz_per_s: how fast the clock follows the load (DVFS).
        idle_w, full_w, limit_w: power at rest, at full load and boost clock, and the power limit.
        ambient_c: temperature without power.
        resistance_c_per_w: rise over ambient for each W, in the steady state.
        time_constant_s: of the first-order thermal model.
        slowdown_c: above it the clock is held down.
        throttle_mhz_per_c: how far, for each °C above.
        load_pcie_ratio: share of the link in use at full load.
        noise_ratio: relative standard deviation of power.
        memory_bytes: GPU memory. pcie_generation, pcie_width: of its link, which never changes.
    """

    idle_clock_mhz: float = 300.0
    boost_clock_mhz: float = 1950.0
    clock_slew_mhz_per_s: float = 1500.0
    idle_memory_clock_mhz: float = 405.0
    memory_clock_mhz: float = 7000.0
    idle_w: float = 18.0
    full_w: float = 240.0
    limit_w: float = 220.0
    ambient_c: float = 28.0
    resistance_c_per_w: float = 0.26
    time_constant_s: float = 30.0
    slowdown_c: float = 83.0
    throttle_mhz_per_c: float = 60.0
    load_pcie_ratio: float = 0.4
    noise_ratio: float = 0.01
    memory_bytes: int = 8 * 2**30
    pcie_generation: int = 4
    pcie_width: int = 16


@dataclass(slots=True)
class BoardState:
    """Where the simulated board stands.

    Attributes:
        temperature_c, clock_mhz, power_w, load: now; load is 0 to 1.
        throttled_ns: time held down since the start, by cause.
    """

    temperature_c: float
    clock_mhz: float
    power_w: float
    load: float
    throttled_ns: dict[str, int]


def initial_state(board: SimulatedBoard) -> BoardState:
    """Return the board at rest, at its idle temperature."""
    idle_c = board.ambient_c + board.resistance_c_per_w * board.idle_w
    return BoardState(idle_c, board.idle_clock_mhz, board.idle_w, 0.0, dict.fromkeys(THROTTLE_CAUSES, 0))


def step(board: SimulatedBoard, state: BoardState, load: float, noise: float) -> None:
    """Advance the board by `STEP_NS`.

    Args:
        load: demand, 0 to 1.
        noise: factor on dynamic power, 1 without noise.
    """
    step_s = STEP_NS / NS_PER_S
    ceiling_mhz, causes = _clock_ceiling(board, state)
    wanted_mhz = board.idle_clock_mhz + (board.boost_clock_mhz - board.idle_clock_mhz) * load
    for cause in causes if wanted_mhz > ceiling_mhz else ():
        state.throttled_ns[cause] += STEP_NS
    state.clock_mhz = _approach(state.clock_mhz, min(wanted_mhz, ceiling_mhz), board.clock_slew_mhz_per_s * step_s)
    # Dynamic power goes with load and, since voltage follows the clock, about with its cube.
    dynamic_w = (board.full_w - board.idle_w) * load * (state.clock_mhz / board.boost_clock_mhz) ** 3
    state.power_w = board.idle_w + max(dynamic_w * noise, 0.0)
    settled_c = board.ambient_c + board.resistance_c_per_w * state.power_w
    state.temperature_c += (settled_c - state.temperature_c) * -math.expm1(-step_s / board.time_constant_s)
    state.load = load


class SimulatedProvider:
    """Readings of the simulated GPU.

    Args:
        load: gives the demand on the GPU now, 0 to 1; called on the thread that polls. Anything outside is clamped.
        board: its parameters.
        seed: of the noise; the same seed, loads and times give the same readings.
        now_ns: CLOCK_MONOTONIC at which the simulation starts.
    """

    def __init__(
        self, load: Callable[[], float], board: SimulatedBoard | None = None, seed: int = 0, now_ns: int | None = None
    ) -> None:
        self._load = load
        self._board = board or SimulatedBoard()
        self._random = random.Random(seed)  # noqa: S311  # noise of a simulation, not a secret
        self._state = initial_state(self._board)
        self._at_ns = now_ns
        self._last_throttled_ns: dict[str, int] | None = None

    @property
    def name(self) -> str:
        """Return `simulated`."""
        return "simulated"

    @property
    def label(self) -> str:
        """Return `Simulated GPU`, in every list and title where a real one would stand."""
        return "Simulated GPU"

    @property
    def device(self) -> str:
        """Return `Simulated GPU`: a simulated device has no UUID."""
        return "Simulated GPU"

    def capabilities(self) -> Mapping[str, str]:
        """Return the metrics, all present but memory temperature, which this kind of board does not measure."""
        return dict.fromkeys(GPU_METRICS, "") | {"memory_temperature_c": _NO_MEMORY_SENSOR}

    def poll(self, now_ns: int) -> list[Reading]:
        """Advance the simulation to `now_ns` and return every reading."""
        self._advance(now_ns)
        values = self._values()
        return [Reading(metric, *values[metric], now_ns, math.nan, self.name, self.device) for metric in GPU_METRICS]

    def call_costs(self) -> list[CallCost]:
        """Return nothing: no driver is called."""
        return []

    def close(self) -> None:
        """Do nothing: nothing is open."""

    def _advance(self, now_ns: int) -> None:
        if self._at_ns is None or now_ns - self._at_ns > LONGEST_CATCH_UP_STEPS * STEP_NS:
            self._at_ns = now_ns
        steps, load = (now_ns - self._at_ns) // STEP_NS, self._load_now()
        for _ in range(steps):
            step(self._board, self._state, load, self._random.gauss(1.0, self._board.noise_ratio))
        self._at_ns += steps * STEP_NS

    def _load_now(self) -> float:
        load = self._load()
        return 0.0 if math.isnan(load) else min(max(load, 0.0), 1.0)

    def _values(self) -> dict[str, tuple[float, str]]:
        board, state = self._board, self._state
        limit = link_limit_bytes_per_s(board.pcie_generation, board.pcie_width)
        memory_mhz = board.memory_clock_mhz if state.load > 0 else board.idle_memory_clock_mhz
        values = {
            "gpu_temperature_c": state.temperature_c,
            "thermal_margin_c": board.slowdown_c - state.temperature_c,
            "gpu_clock_mhz": state.clock_mhz,
            "gpu_clock_max_mhz": board.boost_clock_mhz,
            "memory_clock_mhz": memory_mhz,
            "memory_clock_max_mhz": board.memory_clock_mhz,
            "power_w": state.power_w,
            "power_limit_w": board.limit_w,
            "gpu_utilisation_ratio": state.load,
            "memory_utilisation_ratio": state.load * 0.6,
            "encoder_utilisation_ratio": 0.0,
            "decoder_utilisation_ratio": state.load * 0.3,
            "gpu_memory_used_bytes": board.memory_bytes * (0.05 + 0.3 * state.load),
            "gpu_memory_total_bytes": float(board.memory_bytes),
            "pcie_tx_bytes_per_s": limit * board.load_pcie_ratio * 0.1 * state.load,
            "pcie_rx_bytes_per_s": limit * board.load_pcie_ratio * state.load,
            "pcie_link_generation": float(board.pcie_generation),
            "pcie_link_width": float(board.pcie_width),
            "pcie_link_generation_max": float(board.pcie_generation),
            "pcie_link_width_max": float(board.pcie_width),
            "pcie_limit_bytes_per_s": limit,
        }
        return {
            "memory_temperature_c": (math.nan, _NO_MEMORY_SENSOR),
            **{metric: (value, "") for metric, value in values.items()},
            **self._throttle_values(),
        }

    def _throttle_values(self) -> dict[str, tuple[float, str]]:
        last, self._last_throttled_ns = self._last_throttled_ns, dict(self._state.throttled_ns)
        if last is None:
            return {f"throttle_ns.{cause}": (math.nan, "needs a second sample") for cause in THROTTLE_CAUSES}
        return {
            f"throttle_ns.{cause}": (float(now - last[cause]), "") for cause, now in self._state.throttled_ns.items()
        }


_NO_MEMORY_SENSOR: Final = "this board has no memory sensor (simulated)"


def _clock_ceiling(board: SimulatedBoard, state: BoardState) -> tuple[float, tuple[str, ...]]:
    """Return the highest clock that heat and the power limit allow, and which of them hold it down."""
    ceiling_mhz, causes = board.boost_clock_mhz, []
    if state.temperature_c > board.slowdown_c:
        ceiling_mhz -= (state.temperature_c - board.slowdown_c) * board.throttle_mhz_per_c
        causes += ["thermal", "sw_thermal"]
    if state.load > 0:
        budget = (board.limit_w - board.idle_w) / ((board.full_w - board.idle_w) * state.load)
        power_mhz = board.boost_clock_mhz * budget ** (1 / 3)
        if power_mhz < board.boost_clock_mhz:
            ceiling_mhz = min(ceiling_mhz, power_mhz)
            causes.append("power")
    return max(ceiling_mhz, board.idle_clock_mhz), tuple(causes)


def _approach(value: float, target: float, most: float) -> float:
    return value + min(max(target - value, -most), most)
