"""What the engine process writes on its standard error, kept within bounds.

A validation layer or a driver can write megabytes; a full disk is no price for a log. The last lines stay in memory
so that a crash can be told with them.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

MAX_FILE_BYTES: Final = 1 << 20
MAX_LINE_BYTES: Final = 4096
LAST_LINES: Final = 40


class EngineLog:
    """Reads a pipe to its end in a thread of its own, keeps the last lines and copies the first MiB to a file.

    Args:
        pipe: the child's standard error; closed at its end.
        path: where the copy goes; None for no copy. A file that cannot be written costs the copy, not the run.
    """

    def __init__(self, pipe: IO[bytes], path: Path | None) -> None:
        self._pipe = pipe
        self._path = path
        self._lines: deque[str] = deque(maxlen=LAST_LINES)
        # A daemon: a grandchild that keeps the pipe open must not keep this process from ending.
        self._thread = threading.Thread(target=self._follow, name="engine-stderr", daemon=True)
        self._thread.start()

    def last_lines(self) -> list[str]:
        """Return the newest lines, oldest first; safe from any thread."""
        return list(self._lines)

    def join(self, timeout_s: float) -> None:
        """Wait until the child's standard error has ended, at most `timeout_s`."""
        self._thread.join(timeout_s)

    def _follow(self) -> None:
        with self._pipe, ExitStack() as files:
            copy: IO[bytes] | None = None
            written = 0
            while line := self._pipe.readline(MAX_LINE_BYTES):
                if written == 0:  # an engine with nothing to say leaves no empty file
                    copy = self._open_copy(files)
                self._lines.append(line.decode(errors="replace").rstrip())
                written += _append(copy, line) if written < MAX_FILE_BYTES else 0

    def _open_copy(self, files: ExitStack) -> IO[bytes] | None:
        if self._path is None:
            return None
        try:
            return files.enter_context(self._path.open("wb", buffering=0))
        except OSError as error:
            self._lines.append(f"(no engine log on disk: {error})")
            return None


def _append(copy: IO[bytes] | None, line: bytes) -> int:
    """Write a line and return how much of the file's allowance it used; all of it when nothing can be written."""
    if copy is None:
        return MAX_FILE_BYTES
    try:
        copy.write(line)
    except OSError:  # disk full: the lines in memory are what a crash message needs
        return MAX_FILE_BYTES
    return len(line)
