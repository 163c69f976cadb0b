"""Senders of live video: the ffmpeg program, and servers that misbehave."""

from __future__ import annotations

import contextlib
import functools
import http.server
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from tests.engine.sources.videos import Video, write_video

RATE_HZ = 30
GOP = 10
FRAMES = 90
_PATIENCE_S = 20.0


def free_port(kind: socket.SocketKind = socket.SOCK_STREAM) -> int:
    with socket.socket(socket.AF_INET, kind) as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def broadcast(path: Path, options: dict[str, str] | None = None) -> Path:
    """Write what is sent again and again: frames 0–89 with their bar codes, a key frame every third of a second."""
    return write_video(path, Video(frames=FRAMES, rate=RATE_HZ, gop=GOP, options=options or {"bf": "0"}))


@contextlib.contextmanager
def sender(clip: Path, url: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """Send a clip at its own rate, over and over, until the context ends."""
    command = ["ffmpeg", "-v", "quiet", "-re", "-stream_loop", "-1", "-i", str(clip), "-c", "copy", *options, url]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextlib.contextmanager
def http_sender(clip: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Serve MPEG-TS to one client, as soon as it comes."""
    with sender(clip, f"http://127.0.0.1:{port}/", "-f", "mpegts", "-listen", "1") as process:
        _wait_for_listener(process)
        yield process


@contextlib.contextmanager
def tcp_sender(clip: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Serve MPEG-TS over bare TCP to one client."""
    with sender(clip, f"tcp://127.0.0.1:{port}?listen=1", "-f", "mpegts") as process:
        _wait_for_listener(process)
        yield process


def _wait_for_listener(process: subprocess.Popen[bytes]) -> None:
    """Wait without connecting: the one connection that the sender takes is not ours."""
    deadline = time.monotonic() + _PATIENCE_S
    while time.monotonic() < deadline:
        if any(found.status == psutil.CONN_LISTEN for found in psutil.Process(process.pid).net_connections()):
            return
        time.sleep(0.02)
    raise AssertionError("ffmpeg does not listen")


@contextlib.contextmanager
def silent_server(greeting: bytes = b"") -> Iterator[int]:
    """Accept connections, say the greeting, and nothing more; yields the port."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        connections: list[socket.socket] = []

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    connections.append(connection)
                    connection.sendall(greeting)

        thread = threading.Thread(target=accept)
        thread.start()
        try:
            yield listener.getsockname()[1]
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in connections:
                connection.close()


class _QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is the base class's
        """Say nothing."""


@contextlib.contextmanager
def web_server(folder: Path) -> Iterator[int]:
    """Serve the files of a folder; yields the port."""
    handler = functools.partial(_QuietHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()
