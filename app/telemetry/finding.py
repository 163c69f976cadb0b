"""A finding: one thing that `veotuner doctor` looked at, how it is, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How a thing is; what the words mean in JSON too."""

    OK = "ok"
    """There, and good for measurements."""
    LIMITED = "limited"
    """Missing or in the way; the main job runs without it, with less."""
    FAILED = "failed"
    """The main job (play, measure, write preset and report) cannot run until this is cured."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        topic: what was looked at, a few words.
        status: how it is.
        text: what was found.
        cure: what to do; "" exactly when the status is OK.
    """

    topic: str
    status: Status
    text: str
    cure: str = ""

    def __post_init__(self) -> None:
        if (self.status is Status.OK) == bool(self.cure):
            raise ValueError(f"{self.topic}: a finding has a cure exactly when it is not ok")


def ok(topic: str, text: str) -> Finding:
    """Return a finding of something that is as it should be."""
    return Finding(topic, Status.OK, text)


def limited(topic: str, text: str, cure: str) -> Finding:
    """Return a finding of something that the main job does without."""
    return Finding(topic, Status.LIMITED, text, cure)


def failed(topic: str, text: str, cure: str) -> Finding:
    """Return a finding that keeps the main job from running."""
    return Finding(topic, Status.FAILED, text, cure)
