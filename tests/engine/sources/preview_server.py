"""A preview stream's server that does what a test says, in a thread; for the client's tests."""

from __future__ import annotations

import base64
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from fractions import Fraction

import av
import numpy as np
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from app.config.source_text import PreviewStreamSpec

TOKEN = "right"  # noqa: S105 - of a test
PATH = "/v1/preview/7"


def jpeg_of(level: int, width: int = 64, height: int = 36) -> bytes:
    """A grey picture."""
    encoder = av.CodecContext.create("mjpeg", "w")
    assert isinstance(encoder, av.VideoCodecContext)
    encoder.width, encoder.height, encoder.pix_fmt = width, height, "yuvj420p"
    encoder.time_base = Fraction(1, 1)
    rows = np.full((height * 3 // 2, width), 128, np.uint8)
    rows[:height] = level
    frame = av.VideoFrame.from_ndarray(rows, format="yuvj420p")
    return b"".join(bytes(packet) for packet in encoder.encode(frame))


JPEG = jpeg_of(100)


def message_of(frame_index: int, timestamp_ms: float, jpeg: bytes = JPEG) -> str:
    data = base64.b64encode(jpeg).decode()
    return json.dumps({"frame_index": frame_index, "timestamp_ms": timestamp_ms, "data": data})


class ScriptedServer:
    """Serves on one port, also after it was stopped and started again.

    Attributes:
        status: HTTP status with which every request is refused; 0 lets in those with the right token.
        asked: requests so far.
    """

    def __init__(self) -> None:
        self.status = 0
        self.asked = 0
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]
        self._clients: list[ServerConnection] = []
        self._server: Server | None = None
        self._thread: threading.Thread | None = None

    @property
    def spec(self) -> PreviewStreamSpec:
        return PreviewStreamSpec(f"ws://127.0.0.1:{self.port}{PATH}", TOKEN)

    def start(self) -> None:
        self._server = serve(
            self._handle, "127.0.0.1", self.port, process_request=self._judge, compression=None, close_timeout=1
        )
        self._thread = threading.Thread(target=self._server.serve_forever, name="scripted-server")
        self._thread.start()

    def stop(self) -> None:
        if self._server is None or self._thread is None:
            return
        for client in list(self._clients):
            client.close(1001)
        self._server.shutdown()
        self._thread.join()
        self._server = self._thread = None

    def wait_for_client(self) -> None:
        deadline = time.monotonic() + 20
        while not self._clients:
            assert time.monotonic() < deadline, "no client came"
            time.sleep(0.002)

    def send(self, message: str | bytes) -> None:
        """Send to every client there is."""
        for client in list(self._clients):
            with contextlib.suppress(ConnectionClosed):
                client.send(message)

    def cut(self) -> None:
        """End every connection without a word."""
        for client in list(self._clients):
            client.socket.shutdown(socket.SHUT_RDWR)

    def _judge(self, connection: ServerConnection, request: Request) -> Response | None:
        self.asked += 1
        if self.status:
            return connection.respond(self.status, "refused by the test\n")
        if request.path != PATH or request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return connection.respond(401, "wrong\n")
        return None

    def _handle(self, connection: ServerConnection) -> None:
        self._clients.append(connection)
        try:
            with contextlib.suppress(ConnectionClosed):
                for _ in connection:
                    pass
        finally:
            self._clients.remove(connection)


class Ticker:
    """Sends pictures at an even rate from a thread until it is closed; server time goes on with them."""

    def __init__(self, server: ScriptedServer, interval_s: float = 0.02) -> None:
        self._server = server
        self._interval_s = interval_s
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ticker")
        self._thread.start()

    def _run(self) -> None:
        index = 0
        while not self._stop.wait(self._interval_s):
            self._server.send(message_of(index, 5_000_000 + index * self._interval_s * 1000))
            index += 1

    def close(self) -> None:
        self._stop.set()
        self._thread.join()


@contextlib.contextmanager
def scripted_server() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextlib.contextmanager
def ticking(server: ScriptedServer, interval_s: float = 0.02) -> Iterator[None]:
    ticker = Ticker(server, interval_s)
    try:
        yield
    finally:
        ticker.close()
