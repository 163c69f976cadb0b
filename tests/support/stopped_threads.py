"""Stops single threads of a child process where they are, as a debugger does, while its other threads run on."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

_SEIZE, _INTERRUPT, _DETACH = 0x4206, 0x4207, 17
"""Requests of ptrace(2), from <sys/ptrace.h>."""

_EVERY_CHILD = 0x40000000
"""`__WALL`: also threads that are no children of their own."""

_libc = ctypes.CDLL(None, use_errno=True)
_libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
_libc.ptrace.restype = ctypes.c_long


def thread_ids(process: int) -> set[int]:
    """Return the ids of a process's threads."""
    return {int(task.name) for task in Path(f"/proc/{process}/task").iterdir()}


@contextlib.contextmanager
def stopped(threads: Iterable[int]) -> Iterator[None]:
    """Keep threads stopped; call and leave it in the same thread of the parent (or as root).

    Raises:
        OSError: the kernel does not let this process trace them.
    """
    held: list[int] = []
    try:
        for thread in threads:
            _trace(_SEIZE, thread)
            held.append(thread)
            _trace(_INTERRUPT, thread)
            os.waitpid(thread, _EVERY_CHILD)
        yield
    finally:
        for thread in held:
            with contextlib.suppress(ProcessLookupError):  # its process was ended meanwhile
                _trace(_DETACH, thread)


def _trace(request: int, thread: int) -> None:
    if _libc.ptrace(request, thread, None, None) == -1:
        error = ctypes.get_errno()
        raise OSError(error, f"ptrace: {os.strerror(error)}")
