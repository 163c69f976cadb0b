"""A real X server for the session, without a window manager and with a software Vulkan driver."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from typing import IO

import pytest

from tests.support.leaks import session_process

SCREEN = "1920x1080x24"


class XServer:
    """An Xvfb on a number that it found free itself; `display` is its name (`:7`).

    Raises:
        RuntimeError: Xvfb is not installed, or ended before it had a display.
    """

    def __init__(self, screen: str = SCREEN) -> None:
        program = shutil.which("Xvfb")
        if program is None:
            raise RuntimeError("Xvfb is not installed: run `make test`, which installs it (package xvfb)")
        read_end, write_end = os.pipe()
        # -noreset: without it the server starts over, and forgets its state, when its last client leaves.
        command = [program, "-displayfd", str(write_end), "-screen", "0", screen, "-nolisten", "tcp", "-noreset"]
        self.process = subprocess.Popen(command, pass_fds=(write_end,), stderr=subprocess.PIPE)
        os.close(write_end)
        with os.fdopen(read_end) as reader:
            number = reader.readline().strip()
        if not number:
            raise RuntimeError(f"Xvfb ended with code {self.process.wait()}: {_text(self.process.stderr)}")
        self.display = f":{number}"

    def close(self) -> None:
        """End the server and wait until it is gone."""
        self.process.terminate()
        self.process.communicate(timeout=10)


@pytest.fixture(scope="session")
def x_display() -> Iterator[str]:
    """Name of a running X server, 1920×1080 at 24 bits; DISPLAY and Qt's platform point to it for the session."""
    server = XServer()
    os.environ["DISPLAY"] = server.display
    os.environ["QT_QPA_PLATFORM"] = "xcb"
    with session_process(server.process.pid):
        yield server.display
    server.close()


def _text(stream: IO[bytes] | None) -> str:
    return "" if stream is None else stream.read().decode(errors="replace").strip()
