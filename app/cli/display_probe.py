"""Is there a display to open a window on? Asked without loading Qt, by knocking at the display's own socket."""

from __future__ import annotations

import os
import re
import socket
import sys
from pathlib import Path
from typing import Final

KNOCK_TIMEOUT_S: Final = 2.0


def has_display() -> bool:
    """Tell whether a Wayland compositor or X server answers; always so on Windows."""
    if sys.platform == "win32":
        return True
    return _wayland_answers(os.environ) or _x_answers(os.environ.get("DISPLAY", ""))


def _wayland_answers(environment: os._Environ[str]) -> bool:
    name = environment.get("WAYLAND_DISPLAY", "")
    return bool(name) and _answers(str(Path(environment.get("XDG_RUNTIME_DIR", "/run")) / name))


def _x_answers(display: str) -> bool:
    """Knock at `host:number.screen`; without a host at the local socket, which Linux also has in its abstract space."""
    parts = re.fullmatch(r"(?P<host>[^:]*):(?P<number>\d+)(\.\d+)?", display)
    if parts is None:
        return False
    if parts["host"] not in ("", "unix"):
        return _answers((parts["host"], 6000 + int(parts["number"])))
    path = f"/tmp/.X11-unix/X{parts['number']}"  # noqa: S108 - where X servers put it
    return _answers(path) or (sys.platform == "linux" and _answers(f"\0{path}"))


def _answers(address: str | tuple[str, int]) -> bool:
    family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as knock:
        knock.settimeout(KNOCK_TIMEOUT_S)
        try:
            knock.connect(address)
        except OSError:
            return False
    return True
