"""What the rule of a governor answers: its next state, what it does, and why."""

from __future__ import annotations

from enum import StrEnum
from typing import Generic, NamedTuple, TypeVar

State = TypeVar("State")


class Action(StrEnum):
    """What a governor does at one look."""

    HOLD = "hold"
    """Leave everything as it is."""
    LOWER = "lower"
    """Brake, or brake harder."""
    RAISE = "raise"
    """Brake less than before."""
    RELEASE = "release"
    """Brake no longer."""


class Verdict(NamedTuple, Generic[State]):
    """The answer of one look. `reason` is a sentence with the measurements that led to it; "" when nothing changes."""

    state: State
    action: Action = Action.HOLD
    reason: str = ""
