"""The journal's file while it is written: appended line by line, and held by a lock that dies with its writer."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

from app.session.journal import Entry, encode_line

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl


_LOCKED_BYTE = 1 << 40


class JournalFile:
    """Appends entries; each has reached the operating system when `append` returns.

    Raises:
        OSError: the file exists already or cannot be made.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("xb", buffering=0)
        try_lock(self._file)

    def append(self, received_ns: int, entry: Entry) -> None:
        """Write one line.

        Raises:
            OSError: the disk is full or gone; a line may be cut off, which a reader leaves out.
        """
        line = encode_line(received_ns, entry)
        written = self._file.write(line)
        if written != len(line):
            self._file.write(line[written:])  # raises with the reason why the first part was short

    def close(self) -> None:
        """Close, and let go of the lock."""
        self._file.close()


def try_lock(file: IO[bytes]) -> bool:
    """Take the writer's lock on an open journal and tell whether it was free; it goes with the file's close.

    A recording whose lock is taken is being written by a living process and must not be recovered by another.
    """
    try:
        if sys.platform == "win32":
            at = file.seek(0, 1)
            file.seek(_LOCKED_BYTE)  # locks are mandatory there: a byte that no reader ever wants
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(at)
        else:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
