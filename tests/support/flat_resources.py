"""What is opened and closed over and over must not grow."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable

import psutil

WARM_UP_TURNS = 10
"""Caches and thread pools of drivers fill in the first turns; what grows after that never stops."""

TURNS = 50
MOST_GROWN_BYTES = 16 * 2**20


def assert_resources_stay_flat(reopen: Callable[[int], None]) -> None:
    """Call `reopen` with the number of each turn; file descriptors, threads and memory must not grow."""
    process = psutil.Process()

    def turns(count: int) -> None:
        for turn in range(count):
            reopen(turn)
        gc.collect()

    turns(WARM_UP_TURNS)
    files, threads, resident_bytes = process.num_fds(), threading.active_count(), process.memory_info().rss
    turns(TURNS)
    assert process.num_fds() == files
    assert threading.active_count() == threads
    assert process.memory_info().rss - resident_bytes < MOST_GROWN_BYTES
