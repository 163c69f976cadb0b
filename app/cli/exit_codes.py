"""Exit codes of every command, decided here from what happened."""

from __future__ import annotations

from typing import Final

OK: Final = 0
FAILED: Final = 1
"""Could not run, ran and broke off, or the input is invalid; standard error says which."""
USAGE: Final = 2
"""The command line itself cannot be understood."""
CRASHED: Final = 70
"""A fault of this program (EX_SOFTWARE of sysexits.h); a crash log was written."""
INTERRUPTED: Final = 130
"""Ctrl+C or SIGTERM: the run was ended in order, results printed (128 + SIGINT)."""
