"""Ctrl+C, SIGTERM and a closed terminal ask a run to end in order; a second signal ends the command at once."""

from __future__ import annotations

import signal
import sys
from types import FrameType, TracebackType
from typing import Self

_ENDING = [signal.SIGINT, signal.SIGTERM, *([] if sys.platform == "win32" else [signal.SIGHUP])]


class Interruption:
    """While entered, the first SIGINT, SIGTERM or SIGHUP sets `requested` and the second raises KeyboardInterrupt."""

    def __init__(self) -> None:
        self.requested = False
        self._before: list[tuple[signal.Signals, object]] = []

    def __enter__(self) -> Self:
        for number in _ENDING:
            if signal.getsignal(number) is signal.SIG_IGN:  # nohup, or a background job of a plain shell: so it stays
                continue
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
