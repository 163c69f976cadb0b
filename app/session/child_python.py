"""How another part of this program is started as a process of its own: the engine, the window."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import app


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
