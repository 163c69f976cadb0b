"""How another part of this program is started as a process of its own: the engine, the stream server, the window."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import app
from app.ipc.shared_block import SharedBlock

_CREATE_NEW_PROCESS_GROUP: Final = 0x200  # subprocess.CREATE_NEW_PROCESS_GROUP exists on Windows only


def module_command(module: str, *arguments: str) -> list[str]:
    """Return the command that runs a module of this package with this interpreter.

    `-P` keeps the current folder off the module path: a user's folder may hold an `app` or a `numpy.py` of its own.
    """
    return [sys.executable, "-P", "-m", module, *arguments]


def module_environment() -> dict[str, str]:
    """Return the environment for `module_command`: this process's, able to import this very copy of the package."""
    root = str(Path(app.__file__).resolve().parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{inherited}" if inherited else root}


def start_child(
    arguments: list[str], inherited: tuple[int, ...], variables: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a process that has a channel to this one, in a session of its own, with its standard error on a pipe.

    Args:
        arguments: the command.
        inherited: descriptors that it gets; on Windows it opens what it needs by name.
        variables: environment variables besides those of this process.

    Raises:
        OSError: it could not be started.
    """
    # faulthandler puts the stack of a crash in a driver's C code into the log.
    environment = {**module_environment(), "PYTHONFAULTHANDLER": "1", **(variables or {})}
    if sys.platform == "win32":
        return subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=environment,
            creationflags=_CREATE_NEW_PROCESS_GROUP,
        )  # fmt: skip
    return subprocess.Popen(
        arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,  # stdout belongs to this process's result (`--json -`)
        stderr=subprocess.PIPE,
        env=environment,
        pass_fds=inherited,
        start_new_session=True,
    )


def inherited_descriptors(*blocks: SharedBlock) -> tuple[int, ...]:
    """Return what a child must inherit to attach these blocks; nothing on Windows, where it opens them by name."""
    return tuple(block.descriptor for block in blocks if block.descriptor is not None)


def exit_text(code: int) -> str:
    """Return how a process ended, from its exit code: `ended by signal 9 (SIGKILL)`."""
    if code >= 0:
        return f"ended with exit code {code}"
    try:
        return f"ended by signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"ended by signal {-code}"
