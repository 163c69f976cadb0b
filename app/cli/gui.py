"""`veotuner gui`: becomes the window. Nothing of it is imported here: it is another program, with its own arguments."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Final

import typer

from app.session.child_python import module_command, module_environment

PASS_EVERYTHING_ON: Final = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
"""Context of the command: the window reads and explains its own arguments, `--help` included, in one place."""


def gui(context: typer.Context) -> None:
    """Open the window: --source, --config, --run-for and more; `veotuner gui --help` names them all."""
    become_gui(*context.args)


def become_gui(*arguments: str) -> None:
    """Turn this process into the window; where a process cannot be replaced (Windows), exit as the window does."""
    command, environment = module_command("app.gui", *arguments), module_environment()
    if sys.platform == "win32":
        raise typer.Exit(subprocess.run(command, env=environment, check=False).returncode)
    sys.stdout.flush()
    os.execve(command[0], command, environment)  # noqa: S606 - this interpreter with fixed arguments, no shell
