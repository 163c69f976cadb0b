"""Sentences and messages of the governors' decisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from app.core.vocabulary import Governor
from app.engine.governors.lane_governor import LaneGovernor
from app.engine.governors.verdict import Action
from app.ipc.messages import GovernorDecision

_KEYS: Final = {
    Governor.PREVIEW_FPS: "preview_fps",
    Governor.THERMAL: "thermal_guard",
    Governor.COMPENSATION: "frame_compensation",
    Governor.BANDWIDTH: "bandwidth_guard",
}
"""The option by which a user knows each governor."""


class Move(NamedTuple):
    """A governor moved its ceiling. `lane_index`: of the source that it concerns; None for all."""

    governor: Governor
    action: Action
    reason: str
    lane_index: int | None = None


def switched_off(governor: Governor, lane_index: int | None = None) -> Move:
    """Return the move of a governor that was switched off while it braked."""
    return Move(governor, Action.RELEASE, f"{_KEYS[governor]} was switched off: no ceiling", lane_index)


def rate_decision(
    move: Move, lanes: Sequence[LaneGovernor], preview_fps: float, refresh_hz: float | None, at_ns: int
) -> GovernorDecision:
    """Return the message about a move, after the rates were combined anew.

    Its rate is that of the source concerned; when all are, of the first one whose rate this governor sets. With several
    sources the sentence names the source, or the rates of all.
    """
    lane = _lane_concerned(move, lanes)
    who = f"source {move.lane_index + 1}: " if move.lane_index is not None and len(lanes) > 1 else ""
    reason = f"{who}{move.reason}{_rates(move, lanes, preview_fps)}"
    if move.lane_index is not None or len(lanes) == 1:
        reason += _in_force(move.governor, lane, refresh_hz)
    return GovernorDecision(move.governor.label, at_ns, _action(move, lane), lane.wanted_hz or None, reason)


def _lane_concerned(move: Move, lanes: Sequence[LaneGovernor]) -> LaneGovernor:
    if move.lane_index is not None:
        return lanes[move.lane_index]
    with_rate = [lane for lane in lanes if lane.ceilings] or list(lanes)
    return next((lane for lane in with_rate if lane.governor is move.governor), with_rate[0])


def _action(move: Move, lane: LaneGovernor) -> str:
    ceiling_hz = _ceiling_hz(move.governor, lane)
    if move.action is Action.RELEASE or math.isinf(ceiling_hz):
        return "no ceiling"
    return f"ceiling {ceiling_hz:.4g} fps"


def _rates(move: Move, lanes: Sequence[LaneGovernor], preview_fps: float) -> str:
    """Return what a part of the full rate comes to, for each full rate there is."""
    if move.governor is not Governor.THERMAL or move.action is Action.RELEASE:
        return ""
    ceilings = {lane.full_rate_hz(preview_fps): _ceiling_hz(move.governor, lane) for lane in lanes if lane.ceilings}
    return ", " + " and ".join(f"{ceiling:.4g} of {full:.4g}" for full, ceiling in ceilings.items()) + " fps"


def _in_force(governor: Governor, lane: LaneGovernor, refresh_hz: float | None) -> str:
    """Return what holds instead when the rate is not the ceiling that this governor has set."""
    wanted = lane.wanted
    if wanted.governor not in (governor, Governor.NONE):
        return f"; {_KEYS[wanted.governor]} keeps it at {wanted.rate_hz:.4g} fps"
    if wanted.governor is governor and wanted.rate_hz < _ceiling_hz(governor, lane):
        return f"; {wanted.rate_hz:.4g} fps is taken, which is even on {refresh_hz:.4g} Hz"
    return ""


def _ceiling_hz(governor: Governor, lane: LaneGovernor) -> float:
    return next((ceiling.rate_hz for ceiling in lane.ceilings if ceiling.governor is governor), math.inf)
