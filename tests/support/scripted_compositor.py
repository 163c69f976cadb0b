"""A Wayland compositor that does what a test tells it: close requests, odd sizes, faults, silence. It shows nothing.

It speaks the wire protocol itself: a message is object id, length and opcode in one word, then the arguments.
"""

from __future__ import annotations

import contextlib
import shutil
import socket
import struct
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

SOCKET = "wayland-scripted"
GLOBALS: Mapping[str, int] = {
    "wl_compositor": 4,
    "xdg_wm_base": 6,
    "wp_presentation": 1,
    "zxdg_decoration_manager_v1": 1,
    "wp_fifo_manager_v1": 1,
}
PATIENCE_S = 10.0

# Requests by interface and opcode: name, and a letter an argument (n new object, u any other word, s string).
REQUESTS: Mapping[tuple[str, int], tuple[str, str]] = {
    ("wl_display", 0): ("sync", "n"),
    ("wl_display", 1): ("get_registry", "n"),
    ("wl_registry", 0): ("bind", "usun"),
    ("wl_compositor", 0): ("create_surface", "n"),
    ("wl_surface", 0): ("destroy", ""),
    ("wl_surface", 3): ("frame", "n"),
    ("wl_surface", 6): ("commit", ""),
    ("xdg_wm_base", 2): ("get_xdg_surface", "nu"),
    ("xdg_wm_base", 3): ("pong", "u"),
    ("xdg_surface", 0): ("destroy", ""),
    ("xdg_surface", 1): ("get_toplevel", "n"),
    ("xdg_surface", 4): ("ack_configure", "u"),
    ("xdg_toplevel", 0): ("destroy", ""),
    ("xdg_toplevel", 2): ("set_title", "s"),
    ("xdg_toplevel", 3): ("set_app_id", "s"),
    ("zxdg_decoration_manager_v1", 1): ("get_toplevel_decoration", "nu"),
    ("zxdg_toplevel_decoration_v1", 0): ("destroy", ""),
    ("zxdg_toplevel_decoration_v1", 1): ("set_mode", "u"),
    ("wp_presentation", 1): ("feedback", "un"),
}
CREATES: Mapping[str, str] = {
    "sync": "wl_callback",
    "frame": "wl_callback",
    "get_registry": "wl_registry",
    "create_surface": "wl_surface",
    "get_xdg_surface": "xdg_surface",
    "get_toplevel": "xdg_toplevel",
    "get_toplevel_decoration": "zxdg_toplevel_decoration_v1",
    "feedback": "wp_presentation_feedback",
}

Call = tuple[Any, ...]
"""A request as it arrived: interface, name, then the arguments."""


class ScriptedCompositor:
    """Serves one client. Its methods send events and may be called from the test's thread.

    Args:
        globals_: what it offers, with versions. size: of the first configure; zero leaves it to the client.
        clock_id: clock of wp_presentation. mute: it answers nothing. configures: it lets windows open.

    Attributes:
        calls: the requests so far, in order. feedbacks, frames: ids of the feedback objects and frame
            callbacks that are still owed an answer.
    """

    def __init__(
        self,
        globals_: Mapping[str, int] = GLOBALS,
        size: tuple[int, int] = (0, 0),
        clock_id: int = 1,
        *,
        mute: bool = False,
        configures: bool = True,
    ) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="veotuner-wayland-"))
        self._globals, self._size, self._clock_id = dict(globals_), size, clock_id
        self._mute, self._configures = mute, configures
        self._objects = {1: "wl_display"}
        self._serial = 0
        self._client: socket.socket | None = None
        self._closing = False
        self.calls: list[Call] = []
        self.feedbacks: list[int] = []
        self.frames: list[int] = []
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(self.folder / SOCKET))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, name="scripted-compositor")
        self._thread.start()

    def configure(self, width: int, height: int, *states: int) -> int:
        """Ask the window for a size and return the serial; zero leaves the size to the client."""
        array = struct.pack(f"=I{len(states)}I", 4 * len(states), *states)
        self._send("xdg_toplevel", 0, struct.pack("=ii", width, height) + array)
        self._serial += 1
        self._send("xdg_surface", 0, struct.pack("=I", self._serial))
        return self._serial

    def ask_to_close(self) -> None:
        self._send("xdg_toplevel", 1, b"")

    def ping(self, serial: int) -> None:
        self._send("xdg_wm_base", 0, struct.pack("=I", serial))

    def fail(self, code: int) -> None:
        """Send a protocol error about the window, which ends the connection."""
        (window,) = (identity for identity, name in self._objects.items() if name == "xdg_toplevel")
        self._send("wl_display", 0, struct.pack("=II", window, code) + _string("told to fail"))

    def present(self, stamp_ns: int, refresh_ns: int = 0) -> None:
        """Say that the oldest picture asked about was shown at a time of the presentation clock."""
        seconds, nanoseconds = divmod(stamp_ns, 10**9)
        body = struct.pack("=7I", seconds >> 32, seconds & 0xFFFFFFFF, nanoseconds, refresh_ns, 0, 0, 0)
        self._send_to(self.feedbacks.pop(0), 1, body)

    def discard(self, position: int = 0) -> None:
        """Say that a picture was never shown."""
        self._send_to(self.feedbacks.pop(position), 2, b"")

    def want_picture(self) -> None:
        """Answer the oldest frame callback, which may still be on its way."""
        deadline_s = time.monotonic() + PATIENCE_S
        while not self.frames and time.monotonic() < deadline_s:
            time.sleep(0.001)
        self._send_to(self.frames.pop(0), 0, struct.pack("=I", 0))

    def wait_for(self, *call: Any) -> Call:
        """Return the first request that begins with these words, waiting for it."""
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            for each in list(self.calls):
                if each[: len(call)] == call:
                    return each
            time.sleep(0.002)
        raise TimeoutError(f"no {call} among {self.calls}")

    def drop(self) -> None:
        """End the connection as a compositor does that dies."""
        assert self._client is not None
        self._client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._closing = True
        if self._client is not None:
            with contextlib.suppress(OSError):
                self._client.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._listener.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            self._client, _ = self._listener.accept()
            with self._client:
                while (head := self._receive(8)) is not None:
                    identity, word = struct.unpack("=II", head)
                    body = self._receive((word >> 16) - 8) or b""
                    if not self._mute:
                        self._take(identity, word & 0xFFFF, body)

    def _receive(self, count: int) -> bytes | None:
        assert self._client is not None
        data = b""
        while len(data) < count:
            part = self._client.recv(count - len(data))
            if not part:
                return None
            data += part
        return data

    def _take(self, identity: int, opcode: int, body: bytes) -> None:
        interface = self._objects[identity]
        name, letters = REQUESTS[interface, opcode]
        arguments = _unpack(letters, body)
        if "n" in letters:
            new = arguments[letters.index("n")]
            self._objects[new] = arguments[1] if name == "bind" else CREATES[name]
        self.calls.append((interface, name, *arguments))
        self._react(interface, name, arguments)
        if name == "destroy":
            del self._objects[identity]

    def _react(self, interface: str, name: str, arguments: list[Any]) -> None:
        if name == "sync":
            self._send_to(arguments[0], 0, struct.pack("=I", 0))
        elif name == "get_registry":
            for number, (each, version) in enumerate(self._globals.items()):
                body = struct.pack("=I", number) + _string(each) + struct.pack("=I", version)
                self._send_to(arguments[0], 0, body)
        elif name == "bind" and arguments[1] == "wp_presentation":
            self._send_to(arguments[3], 0, struct.pack("=I", self._clock_id))
        elif name == "frame":
            self.frames.append(arguments[0])
        elif name == "feedback":
            self.feedbacks.append(arguments[1])
        elif (interface, name) == ("wl_surface", "commit") and self._configures and self._serial == 0:
            self.configure(*self._size)

    def _send(self, interface: str, opcode: int, body: bytes) -> None:
        (identity,) = (identity for identity, name in self._objects.items() if name == interface)
        self._send_to(identity, opcode, body)

    def _send_to(self, identity: int, opcode: int, body: bytes) -> None:
        assert self._client is not None
        with contextlib.suppress(OSError):  # the client may have gone
            self._client.sendall(struct.pack("=II", identity, (8 + len(body)) << 16 | opcode) + body)


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCompositor]:
    """A scripted compositor with every global, which WAYLAND_DISPLAY and XDG_RUNTIME_DIR name."""
    with serving(ScriptedCompositor(), monkeypatch) as compositor:
        yield compositor


@contextlib.contextmanager
def serving(compositor: ScriptedCompositor, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedCompositor]:
    """Let clients of this process find a compositor, and close it at the end."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(compositor.folder))
    monkeypatch.setenv("WAYLAND_DISPLAY", SOCKET)
    try:
        yield compositor
    finally:
        compositor.close()


def _string(text: str) -> bytes:
    data = text.encode() + b"\0"
    return struct.pack("=I", len(data)) + data + b"\0" * (-len(data) % 4)


def _unpack(letters: str, body: bytes) -> list[Any]:
    arguments: list[Any] = []
    at = 0
    for letter in letters:
        (word,) = struct.unpack_from("=I", body, at)
        at += 4
        if letter == "s":
            arguments.append(body[at : at + word - 1].decode())
            at += word + -word % 4
        else:
            arguments.append(word)
    return arguments
