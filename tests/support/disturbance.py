"""Tells a fault of the engine from a machine that stood still: some claims hold only while the clock's wake-ups come.

The gate runs on shared machines whose processors are taken away for tens of milliseconds at a time. A test that claims
"nothing is lost" is run again when, and only when, it failed while a witness beside it saw that happen.
"""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import ParamSpec, Self

DISTURBED_NS = 5_000_000
"""Oversleeping by more than this is no ordinary wake-up: those come within 0.3 ms here."""

TRIES = 6
_PERIOD_S = 0.002

P = ParamSpec("P")


class Witness:
    """A thread that sleeps in small steps and keeps the worst oversleeping it saw, in ns."""

    def __init__(self) -> None:
        self.worst_ns = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="witness")

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.is_set():
            before_ns = time.monotonic_ns()
            time.sleep(_PERIOD_S)
            self.worst_ns = max(self.worst_ns, time.monotonic_ns() - before_ns - round(_PERIOD_S * 1e9))


def again_if_disturbed(test: Callable[P, None]) -> Callable[P, None]:
    """Run a test anew, up to `TRIES` times, when it failed while the machine stood still."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        for _ in range(TRIES - 1):
            with Witness() as witness:
                try:
                    test(*args, **kwargs)
                except AssertionError:
                    if witness.worst_ns < DISTURBED_NS:
                        raise
                else:
                    return
        test(*args, **kwargs)

    return run
