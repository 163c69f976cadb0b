"""Ctrl+C and SIGTERM ask a run to end in order; a second one ends the command at once."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Self


class Interruption:
    """While entered, the first SIGINT or SIGTERM sets `requested` and the second raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.requested = False
        self._before: list[tuple[signal.Signals, object]] = []

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before.append((number, signal.signal(number, self._on_signal)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before:
            signal.signal(number, handler)  # type: ignore[arg-type]  # what signal.signal returned it takes back

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True
