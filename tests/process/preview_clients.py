"""Fifteen clients that read a preview stream and one that never does, in a process of their own.

`python preview_clients.py URL TOKEN SECONDS` prints how many pictures each of the fifteen got, as JSON.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import socket
import sys
from collections.abc import Iterator
from urllib.parse import urlsplit

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

READING = 15


async def main(url: str, token: str, seconds: float) -> None:
    os.nice(19)  # the machine that measures has few processors; the clients are not what is measured
    with never_reading(url, token):
        counts = await asyncio.gather(*[pictures_read(url, token, seconds) for _ in range(READING)])
    sys.stdout.write(json.dumps(counts))


async def pictures_read(url: str, token: str, seconds: float) -> int:
    count = 0
    async with connect(url, additional_headers={"Authorization": f"Bearer {token}"}, proxy=None) as client:
        with contextlib.suppress(TimeoutError, ConnectionClosed):
            async with asyncio.timeout(seconds):
                async for _ in client:
                    count += 1
    return count


@contextlib.contextmanager
def never_reading(url: str, token: str) -> Iterator[None]:
    parts = urlsplit(url)
    assert parts.hostname is not None
    with socket.socket() as raw:
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect((parts.hostname, parts.port))
        key = base64.b64encode(os.urandom(16)).decode()
        raw.sendall(
            f"GET {parts.path} HTTP/1.1\r\nHost: test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Sec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        )
        assert raw.recv(12) == b"HTTP/1.1 101"
        yield


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], float(sys.argv[3])))
