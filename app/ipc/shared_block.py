"""Anonymous shared memory that dies with its last holder.

A named block in /dev/shm outlives a SIGKILL of its owner; a memory file without a name cannot. So the parent makes
one, hands the descriptor to the engine at spawn, and there is nothing to clean up on any end.
"""

from __future__ import annotations

import mmap
import os
import secrets
import sys
import tempfile
from types import TracebackType
from typing import Self


class SharedBlock:
    """A fixed-size block of memory shared between a parent and the process it spawns.

    The parent calls `create`, passes `handle` on the child's command line (and, on POSIX, `descriptor` in the child's
    inherited descriptors); the child calls `attach`. Close it after every view onto `memory` is gone.
    """

    def __init__(self, memory: mmap.mmap, descriptor: int | None, handle: str) -> None:
        self.memory = memory
        self.descriptor = descriptor
        self.handle = handle

    @classmethod
    def create(cls, size_bytes: int) -> Self:
        """Make a zero-filled block of `size_bytes`."""
        if sys.platform == "win32":  # a named mapping of the paging file; the system frees it with the last handle
            name = f"veotuner-{secrets.token_hex(8)}"
            return cls(mmap.mmap(-1, size_bytes, name), None, f"{name}:{size_bytes}")
        descriptor = _nameless_file()
        os.ftruncate(descriptor, size_bytes)
        return cls(mmap.mmap(descriptor, size_bytes), descriptor, f"{descriptor}:{size_bytes}")

    @classmethod
    def attach(cls, handle: str) -> Self:
        """Open in the child what the parent made.

        Raises:
            ValueError: the handle is not of the form that `create` gives.
            OSError: the descriptor was not inherited.
        """
        name, _, size = handle.rpartition(":")
        if sys.platform == "win32":
            return cls(mmap.mmap(-1, int(size), name), None, handle)
        descriptor = int(name)
        return cls(mmap.mmap(descriptor, int(size)), descriptor, handle)

    def close(self) -> None:
        """Unmap and close; the memory is freed when the last process has done so."""
        self.memory.close()
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _nameless_file() -> int:
    if sys.platform != "linux":
        with tempfile.TemporaryFile() as file:
            return os.dup(file.fileno())
    else:
        return os.memfd_create("veotuner", os.MFD_CLOEXEC)
