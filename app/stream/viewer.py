"""One client of the preview stream: what it is sent, and what it may not do."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Any, Final

from websockets.asyncio.server import ServerConnection
from websockets.exceptions import ConnectionClosed
from websockets.frames import CloseCode
from websockets.protocol import State

from app.stream.tasks import run_until_one_ends

MAX_MESSAGE_BYTES: Final = 1024
"""Of a message from a client; the protocol has none, and a larger one is answered with close code 1009."""

MAX_BYTES_PER_S: Final = 8192
"""From a client, pings and all; more is answered with close code 1008."""

STALL_S: Final = 4.0
"""How long a message may wait for a client that does not read before the client is cut off."""

_CUT_CODES: Final = (CloseCode.POLICY_VIOLATION, CloseCode.MESSAGE_TOO_BIG, CloseCode.INTERNAL_ERROR)


@dataclass(slots=True)
class Tally:
    """What a server has done since it started; fields as in `StreamStatus`."""

    sent: int = 0
    dropped: int = 0
    refused: int = 0
    cut: int = 0


class BoundedConnection(ServerConnection):
    """A connection that may not send much: websockets bounds the size of a message, this bounds the rate of all."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._window_began_s = 0.0
        self._window_bytes = 0
        self._closing: asyncio.Task[None] | None = None

    def data_received(self, data: bytes) -> None:
        """Take in what the client sent, and close the connection when that is too much."""
        super().data_received(data)
        now_s = self.loop.time()
        if now_s - self._window_began_s >= 1.0:
            self._window_began_s, self._window_bytes = now_s, 0
        self._window_bytes += len(data)
        if self._window_bytes > MAX_BYTES_PER_S and self.state is State.OPEN and self._closing is None:
            reason = f"more than {MAX_BYTES_PER_S} bytes a second from a client"
            self._closing = self.loop.create_task(self.close(CloseCode.POLICY_VIOLATION, reason))

    @property
    def was_cut(self) -> bool:
        """Tell, of a closed connection, whether this end closed it because of what the client did or did not do."""
        sent = self.protocol.close_sent
        return sent is not None and sent.code in _CUT_CODES and not self.protocol.close_rcvd_then_sent


class Viewer:
    """Hands messages to one client, always the newest: while one is on its way, a single other one waits.

    Args:
        connection: open.
        tally: of the server.
        stall_s: how long one message may take.
    """

    def __init__(self, connection: ServerConnection, tally: Tally, stall_s: float = STALL_S) -> None:
        self._connection = connection
        self._tally = tally
        self._stall_s = stall_s
        self._waiting: bytes | None = None
        self._offered = asyncio.Event()

    def offer(self, message: bytes) -> None:
        """Give the newest message, in place of one that has not gone out yet; never waits."""
        if self._waiting is not None:
            self._tally.dropped += 1
        self._waiting = message
        self._offered.set()

    async def serve(self) -> None:
        """Send until the connection ends, however that comes."""
        with contextlib.suppress(ConnectionClosed):
            await run_until_one_ends(self._send_all(), self._ignore_incoming())

    async def _ignore_incoming(self) -> None:
        async for _ in self._connection:
            pass  # the protocol has nothing for a client to say

    async def _send_all(self) -> None:
        while await self._offered.wait():
            self._offered.clear()
            message, self._waiting = self._waiting, None
            assert message is not None
            try:
                async with asyncio.timeout(self._stall_s):
                    await self._connection.send(message, text=True)
            except TimeoutError:
                self._tally.cut += 1
                self._connection.transport.abort()
                return
            self._tally.sent += 1
