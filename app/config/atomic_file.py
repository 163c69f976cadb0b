"""Writing a file so that a crash at any point leaves the old one or the new one whole."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
import time
import uuid
from pathlib import Path
from typing import Final

BACKUP_SUFFIX: Final = ".bak"
_TEMPORARY_SUFFIX: Final = ".veotuner-tmp"
_ABANDONED_AFTER_S: Final = 3600.0
"""A save takes milliseconds: a temporary file of that age belongs to one that was killed."""


def write_atomically(path: Path, data: bytes, keep_backup: bool = False) -> None:
    """Replace a file's contents, or make it, in one step that survives a crash and a power cut.

    A temporary file in the same folder is written and synchronised, then renamed over the target, then the folder is
    synchronised. A symbolic link is followed: the file it leads to is replaced and the link stays. Permission bits
    are kept, and the owner where the process may set it.

    Args:
        keep_backup: the previous version stays beside it as `NAME.bak`, replaced in one step too.

    Raises:
        OSError: nothing was changed, except that the backup may already be the present version.
    """
    target = Path(os.path.realpath(path))
    previous = _previous(target)
    _remove_abandoned(target)
    temporary = _temporary_beside(target)
    try:
        _write_new(temporary, data, previous)
        if keep_backup and previous is not None:
            _replace_backup(target)
        os.replace(temporary, target)  # noqa: PTH105 - one module for every step, so that tests can break each
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - a step that tests break, as above
        raise
    _sync_folder(target.parent)


def backup_path(path: Path) -> Path:
    """Return where `write_atomically` keeps the previous version of a file."""
    target = Path(os.path.realpath(path))
    return target.with_name(target.name + BACKUP_SUFFIX)


def _previous(target: Path) -> os.stat_result | None:
    """Return what is known of the present file, None where there is none.

    Raises:
        OSError: it is no ordinary file, or protected against writing (a rename would not have minded).
    """
    try:
        previous = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(previous.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(previous.st_mode):
        raise OSError(errno.EINVAL, "not an ordinary file", str(target))
    if not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, "the file is write-protected", str(target))
    return previous


def _temporary_prefix(target: Path) -> str:
    # Cut, so that a name near the limit of 255 bytes leaves room for what is added.
    return f".{target.name[:40]}."


def _temporary_beside(target: Path) -> Path:
    return target.with_name(f"{_temporary_prefix(target)}{uuid.uuid4().hex}{_TEMPORARY_SUFFIX}")


def _write_new(temporary: Path, data: bytes, previous: os.stat_result | None) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_NOFOLLOW", 0)
    # 0o666 less the umask for a new file, as any editor would make it.
    descriptor = os.open(temporary, flags, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if previous is not None:
            _copy_owner_and_mode(descriptor, temporary, previous)
        os.fsync(descriptor)


def _copy_owner_and_mode(descriptor: int, temporary: Path, previous: os.stat_result) -> None:
    if sys.platform != "win32":
        # Another owner can be kept by root only; a save by someone else makes the file theirs, as with any editor.
        with contextlib.suppress(PermissionError):
            os.fchown(descriptor, previous.st_uid, previous.st_gid)
    # After the owner: changing that clears the set-id bits.
    os.chmod(temporary, stat.S_IMODE(previous.st_mode))  # noqa: PTH101 - a step that tests break, as above


def _replace_backup(target: Path) -> None:
    """Make the present version the backup too, by a second name that is renamed over the old backup."""
    temporary = _temporary_beside(target)
    try:
        try:
            os.link(target, temporary)
        except OSError:
            # No hard links there (FAT, some network shares): a synchronised copy serves.
            _write_new(temporary, target.read_bytes(), target.stat())
        os.replace(temporary, backup_path(target))  # noqa: PTH105 - a step that tests break, as above
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)  # noqa: PTH108 - a step that tests break, as above
        raise


def _sync_folder(folder: Path) -> None:
    """Make the rename itself durable. Windows journals it and cannot open a folder."""
    if sys.platform == "win32":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _remove_abandoned(target: Path) -> None:
    """Remove what killed saves of this file left behind."""
    with contextlib.suppress(OSError):
        for entry in os.scandir(target.parent):
            if not entry.name.startswith(_temporary_prefix(target)) or not entry.name.endswith(_TEMPORARY_SUFFIX):
                continue
            with contextlib.suppress(OSError):
                if time.time() - entry.stat(follow_symlinks=False).st_mtime > _ABANDONED_AFTER_S:
                    os.unlink(entry.path)  # noqa: PTH108 - a step that tests break, as above
