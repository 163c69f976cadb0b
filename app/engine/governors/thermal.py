"""Thermal guard: a ceiling on the frame rate that falls with the GPU temperature."""

from __future__ import annotations

import math
from typing import NamedTuple

from app.config.governors import ThermalGuard
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.governors.verdict import Action, Verdict


class ThermalState(NamedTuple):
    """Where the thermal guard stands.

    Attributes:
        ratio: the ceiling as a part of the full rate, from the rule's floor to 1.
        set_at_c: the temperature that set it, on the slope of the rule; infinite when any temperature may raise it.
        moved_ns: when it last moved, CLOCK_MONOTONIC; `NO_STAMP_NS` when it never did.
    """

    ratio: float = 1.0
    set_at_c: float = math.inf
    moved_ns: int = NO_STAMP_NS


def ceiling_ratio(rule: ThermalGuard, temperature_c: float) -> float:
    """Return the part of the full rate that a temperature allows: 1 up to `start_c`, then falling, never under the
    floor.
    """
    return min(1.0, max(rule.floor_ratio, 1.0 - (temperature_c - rule.start_c) / rule.span_c))


def thermal_ceiling(
    rule: ThermalGuard, state: ThermalState, temperature_c: float | None, now_ns: int
) -> Verdict[ThermalState]:
    """Return the next ceiling of the thermal guard.

    It falls as soon as the temperature asks for less. It rises only after the temperature has fallen `hysteresis_c`
    below the one that set it. It moves at most once in `dwell_s`.

    The hysteresis is measured in °C and not in parts of the rate, whose range ends at 1: of a ceiling of 97 % the rate
    can rise by 3 % only, so a hysteresis of 12 % (3 °C of a span of 25 °C) would never let it go. The temperature that
    set the ceiling is taken on the slope: above its lower end all temperatures allow the same.

    Args:
        temperature_c: GPU core temperature; None or NaN (sensor missing) leaves the ceiling where it is.
        now_ns: CLOCK_MONOTONIC.
    """
    if temperature_c is None or math.isnan(temperature_c) or now_ns - state.moved_ns < rule.dwell_s * NS_PER_S:
        return Verdict(state)
    ratio = ceiling_ratio(rule, temperature_c)
    if ratio < state.ratio:
        return Verdict(_moved(rule, ratio, temperature_c, now_ns), Action.LOWER, _sentence(temperature_c, ratio))
    if ratio == state.ratio or temperature_c > state.set_at_c - rule.hysteresis_c:
        return Verdict(state)
    action = Action.RELEASE if ratio == 1.0 else Action.RAISE
    return Verdict(_moved(rule, ratio, temperature_c, now_ns), action, _sentence(temperature_c, ratio))


def under_new_rule(rule: ThermalGuard, state: ThermalState) -> ThermalState:
    """Return the state with which another rule goes on: kept for now, free to move either way at the next look."""
    return ThermalState(max(state.ratio, rule.floor_ratio))


def _moved(rule: ThermalGuard, ratio: float, temperature_c: float, now_ns: int) -> ThermalState:
    lower_end_c = rule.start_c + (1.0 - rule.floor_ratio) * rule.span_c
    return ThermalState(ratio, min(temperature_c, lower_end_c), now_ns)


def _sentence(temperature_c: float, ratio: float) -> str:
    ceiling = "no ceiling" if ratio == 1.0 else f"ceiling {ratio:.0%} of the full rate"
    return f"GPU {temperature_c:.1f} °C: {ceiling}"
