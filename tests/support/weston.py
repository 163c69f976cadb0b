"""A real Wayland compositor for the session: Weston without a screen, which paces and stamps presents all the same."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.leaks import session_process

WIDTH, HEIGHT = 960, 540
SOCKET = "wayland-veotuner"
START_LIMIT_S = 20.0
STOP_LIMIT_S = 10.0

# With the default repaint window, Weston 10 re-arms its timer late and refreshes every 25.5 ms; with 16 ms it takes
# 17.4–17.6 ms. It calls both 16.67 ms. Without panel, a window as large as the output lies exactly on it.
SETTINGS = """\
[core]
repaint-window=16
idle-time=0
shell={shell}
[shell]
panel-position=none
locking=false
[input-method]
path=
"""


class Weston:
    """A headless Weston in a runtime folder of its own; the software renderer draws its output of 960×540.

    Attributes:
        process: the compositor. folder: XDG_RUNTIME_DIR for its clients. display: WAYLAND_DISPLAY for them.

    Raises:
        RuntimeError: Weston is not installed, or ended before it had a socket.
    """

    def __init__(self, shell: str = "desktop-shell.so") -> None:
        program = shutil.which("weston")
        if program is None:
            raise RuntimeError("Weston is not installed: run `make test`, which installs it (package weston)")
        # Not pytest's folder: the path of a socket may be 107 characters long. mkdtemp makes it 0700, as Weston wants.
        self.folder = Path(tempfile.mkdtemp(prefix="veotuner-weston-"))
        self.display = SOCKET
        self._log = self.folder / "log"
        settings = self.folder / "weston.ini"
        settings.write_text(SETTINGS.format(shell=shell))
        # --debug lets any client take a picture of the output.
        command = [
            program, "--backend=headless-backend.so", _software_renderer(program), f"--width={WIDTH}",
            f"--height={HEIGHT}", f"--socket={SOCKET}", f"--config={settings}", f"--log={self._log}", "--debug",
        ]  # fmt: skip
        with (self.folder / "output").open("w") as output:
            self.process = subprocess.Popen(command, env=self.environment(), stdout=output, stderr=output)
        self._wait_for_socket()

    def environment(self) -> dict[str, str]:
        """Return the environment of its clients."""
        return os.environ | {"XDG_RUNTIME_DIR": str(self.folder), "WAYLAND_DISPLAY": self.display}

    def photograph(self, path: Path) -> None:
        """Write a picture of what the output shows as PNG."""
        folder = path.parent / "photographs"
        folder.mkdir(exist_ok=True)
        subprocess.run(["weston-screenshooter"], env=self.environment(), cwd=folder, check=True, timeout=20)
        (picture,) = folder.iterdir()
        picture.rename(path)

    def processes(self) -> list[psutil.Process]:
        """Return the compositor and its own clients (the desktop's background)."""
        server = psutil.Process(self.process.pid)
        return [server, *server.children(recursive=True)]

    def close(self) -> None:
        """End the compositor and remove its folder. A second call does nothing."""
        self.process.terminate()
        try:
            self.process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(STOP_LIMIT_S)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _wait_for_socket(self) -> None:
        deadline_s = time.monotonic() + START_LIMIT_S
        while not (self.folder / SOCKET).is_socket():
            if self.process.poll() is not None or time.monotonic() > deadline_s:
                text = self._log.read_text(errors="replace") if self._log.exists() else "it wrote no log"
                self.close()
                raise RuntimeError(f"Weston had no socket after {START_LIMIT_S:.0f} s; its log:\n{text}")
            time.sleep(0.02)


@pytest.fixture(scope="session")
def weston() -> Iterator[Weston]:
    """A running Weston; `wayland_display` points a test to it."""
    server = Weston()
    with contextlib.ExitStack() as stack:
        stack.callback(server.close)
        for process in _settled(server):
            stack.enter_context(session_process(process.pid))
        yield server


@pytest.fixture
def wayland_display(weston: Weston, monkeypatch: pytest.MonkeyPatch) -> Weston:
    """The session's Weston, which WAYLAND_DISPLAY and XDG_RUNTIME_DIR name during this test."""
    use(weston, monkeypatch)
    return weston


@pytest.fixture
def own_weston(monkeypatch: pytest.MonkeyPatch) -> Iterator[Weston]:
    """A Weston of this test's own, to be killed or stopped, which WAYLAND_DISPLAY and XDG_RUNTIME_DIR name."""
    server = Weston()
    use(server, monkeypatch)
    yield server
    server.close()


def use(server: Weston, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let clients that this test starts in this process or another find the server."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(server.folder))
    monkeypatch.setenv("WAYLAND_DISPLAY", server.display)


def _software_renderer(program: str) -> str:
    """Return the option that makes Weston draw what it shows; its name changed after Weston 10."""
    options = subprocess.run([program, "--help"], capture_output=True, text=True, check=True).stdout
    return "--renderer=pixman" if "--renderer=" in options else "--use-pixman"


def _settled(server: Weston) -> list[psutil.Process]:
    """Return the server's processes once the desktop's client, which it starts last, is there."""
    deadline_s = time.monotonic() + START_LIMIT_S
    while len(found := server.processes()) < 2 and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return found
