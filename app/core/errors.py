"""Errors that a person reads: each is one sentence with a cure.

Exit codes of the command line are decided in `app.cli`, from the class of the error.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


class VeoTunerError(Exception):
    """Base of every error that is meant for the user.

    `str(error)` is the whole sentence; nothing else needs to be printed, and no traceback is shown.
    """


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with an input, as fields; `sentence` is the only place where it becomes text.

    Attributes:
        path: dotted key path (`frame_queue_depth`, `encoder.cq`), or "" for the whole input.
        value: the offending value as the user wrote it, or "" when there is none.
        expected: the allowed range or set with its unit (`1–64 frames`).
        hint: what to do.
        file: the file, or None for a command line or a live edit.
        line: 1-based line, or None when unknown.
        column: 1-based column, or None when unknown.
    """

    path: str
    value: str
    expected: str
    hint: str
    file: Path | None = None
    line: int | None = None
    column: int | None = None

    def sentence(self) -> str:
        """Return the message, for example `frame_queue_depth: 0 is outside 1–64 frames (line 3, column 24); use 1…`."""
        where = f" (line {self.line}, column {self.column})" if self.line is not None else ""
        value = f"{self.value} " if self.value else ""
        subject = f"{self.path}: " if self.path else ""
        return f"{subject}{value}{self.expected}{where}; {self.hint}"


class InvalidInputError(VeoTunerError):
    """Something the user gave cannot be used; carries every problem found, not only the first."""

    def __init__(self, problems: list[Problem]) -> None:
        if not problems:
            raise ValueError("an InvalidInputError needs at least one problem")
        self.problems = tuple(problems)
        super().__init__("\n".join(_with_file(problem) for problem in problems))


class SourceError(VeoTunerError):
    """A source cannot be opened or broke off: the text names the file, the fault and the cure."""


class SinkError(VeoTunerError):
    """A sink (virtual display, swapchain) cannot be made or was lost."""


class EngineError(VeoTunerError):
    """The engine process could not start, broke off, or did not answer in time."""


class RecordingError(VeoTunerError):
    """A run directory cannot be written or read."""


def _with_file(problem: Problem) -> str:
    return f"{problem.file}: {problem.sentence()}" if problem.file else problem.sentence()
