"""What the operating system said about a file, as an error that a person can act on."""

from __future__ import annotations

import errno
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from app.core.errors import InvalidInputError, Problem

_READ_HINTS: Final[Mapping[int, str]] = {
    errno.ENOENT: "check the path, or list the presets that come with VeoTuner with `veotuner presets`",
    errno.EISDIR: "name a file in it",
    errno.EACCES: "ask its owner for the right to read it",
}
_MAKE_WRITABLE: Final = "choose another path, or make the file and its folder writable"
_WRITE_HINTS: Final[Mapping[int, str]] = {
    errno.ENOENT: "make its folder first",
    errno.ENOTDIR: "choose a path whose folders are folders",
    errno.EISDIR: "name a file in it",
    errno.EACCES: _MAKE_WRITABLE,
    errno.EPERM: _MAKE_WRITABLE,
    errno.EROFS: "choose a path on a disk that is not read-only",
    errno.ENOSPC: "free some space on the disk, then save again",
    errno.EDQUOT: "free some of your quota, then save again",
}


def unreadable(path: Path, error: Exception) -> InvalidInputError:
    """Return the error of a file that could not be read."""
    return _file_error(path, "cannot be read", error, _READ_HINTS)


def unwritable(path: Path, error: Exception) -> InvalidInputError:
    """Return the error of a file that could not be written."""
    return _file_error(path, "cannot be written", error, _WRITE_HINTS)


def _file_error(path: Path, fault: str, error: Exception, hints: Mapping[int, str]) -> InvalidInputError:
    number = error.errno if isinstance(error, OSError) else None
    reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
    reason = reason[:1].lower() + reason[1:]
    return InvalidInputError(
        [Problem("", "", f"{fault}: {reason}", hints.get(number or 0, "choose another path"), file=path)]
    )
