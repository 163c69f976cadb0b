"""A stream server in this process with the engine's end of its memory, and clients to go with it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from urllib.parse import urlsplit

import numpy as np
from websockets.asyncio.client import ClientConnection, connect

from app.ipc.shared_block import SharedBlock
from app.ipc.stream_messages import FromStream, StartStream, StreamReady, StreamStatus
from app.ipc.thumbnail_block import ThumbnailReader, ThumbnailWriter, thumbnail_block_bytes
from app.stream.server import StreamServer
from app.stream.viewer import Tally

TOKEN = "the-token"  # noqa: S105 - of a test
REQUEST_ID = "run-1"
WAIT_S = 20.0


class Served:
    """What a test sees of a server.

    Attributes:
        writer: the engine's end. reports: what the server told its session. url: where it serves.
        tally: the server's counts, of which `status` tells the session once a second.
    """

    def __init__(self, writer: ThumbnailWriter, reports: list[FromStream], tally: Tally) -> None:
        self.writer = writer
        self.reports = reports
        self.tally = tally
        self.written = 0
        self._random = np.random.default_rng(0)

    @property
    def url(self) -> str:
        (ready,) = [report for report in self.reports if isinstance(report, StreamReady)]
        return ready.url

    @property
    def address(self) -> tuple[str, int]:
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        assert parts.port is not None
        return parts.hostname, parts.port

    def write(self, *, noise: bool = False) -> int:
        """Publish the next thumbnail and return its frame index; noise makes a message of more than half a MiB."""
        width, height = (960, 540) if noise else (64, 36)
        luma = (
            self._random.integers(0, 256, (height, width), np.uint8) if noise else np.zeros((height, width), np.uint8)
        )
        frame_index = self.written
        self.writer.write(frame_index, 0, frame_index * 1_000_000, (luma, luma[::2, ::2], luma[::2, ::2]))
        self.written += 1
        return frame_index

    def connect(self, token: str = TOKEN, url: str = "") -> connect:
        headers = {"Authorization": f"Bearer {token}"}
        return connect(
            url or self.url, additional_headers=headers, proxy=None, compression=None, max_size=None, close_timeout=2
        )

    async def viewers(self, count: int) -> None:
        """Wait until the engine is told of that many."""
        await until(lambda: self.writer.viewers == count)

    async def status(self) -> StreamStatus:
        """Wait for the next report."""
        before = len(self.reports)
        await until(lambda: any(isinstance(report, StreamStatus) for report in self.reports[before:]))
        status = self.reports[-1]
        assert isinstance(status, StreamStatus)
        return status


async def until(is_reached: Callable[[], bool]) -> None:
    async with asyncio.timeout(WAIT_S):
        while not is_reached():  # noqa: ASYNC110 - shared memory and the server's counts ring no bell
            await asyncio.sleep(0.002)


async def next_message(client: ClientConnection) -> dict[str, Any]:
    async with asyncio.timeout(WAIT_S):
        message: dict[str, Any] = json.loads(await client.recv())
        return message


@contextlib.asynccontextmanager
async def serving(stall_s: float = 60.0) -> AsyncIterator[Served]:
    with SharedBlock.create(thumbnail_block_bytes()) as block:
        writer, reader = ThumbnailWriter(block), ThumbnailReader(block)
        reports: list[FromStream] = []
        stop = asyncio.Event()
        server = StreamServer(StartStream(REQUEST_ID, TOKEN), reader, reports.append, stall_s)
        task = asyncio.create_task(server.run(stop))
        try:
            await until(lambda: bool(reports))
            yield Served(writer, reports, server._tally)
        finally:
            stop.set()
            assert await task
            reader.close()
            writer.close()


def serve_for(scenario: Callable[[Served], Awaitable[None]], stall_s: float = 60.0) -> None:
    """Run a scenario against a server of its own."""

    async def run() -> None:
        async with serving(stall_s) as served, asyncio.timeout(60):
            await scenario(served)

    asyncio.run(run())


@contextlib.asynccontextmanager
async def client_that_never_reads(served: Served) -> AsyncIterator[socket.socket]:
    """A client that completes its handshake and then leaves everything in its small receive buffer."""
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_connect(raw, served.address)
        key = base64.b64encode(os.urandom(16)).decode()
        request = (
            f"GET /v1/preview/{REQUEST_ID} HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {TOKEN}\r\n\r\n"
        )
        await loop.sock_sendall(raw, request.encode())
        answer = await loop.sock_recv(raw, 1024)
        assert answer.startswith(b"HTTP/1.1 101")
        yield raw
