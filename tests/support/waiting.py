"""Waiting for what another thread or process brings about."""

from __future__ import annotations

import time
from collections.abc import Callable

PAUSE_S = 0.002


def wait_until(is_reached: Callable[[], bool], timeout_s: float = 20.0) -> None:
    """Return as soon as it is reached; a test that waits in vain fails here."""
    deadline_s = time.monotonic() + timeout_s
    while not is_reached():
        assert time.monotonic() < deadline_s, f"it did not come about in {timeout_s:g} s"
        time.sleep(PAUSE_S)
