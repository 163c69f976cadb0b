"""Messages of the control channel between a session and its stream server process.

As in `app.ipc.messages`: frozen dataclasses in the wire form of `app.ipc.message_codec`, no negotiation.
The access token travels here because a command line can be read by every user of the machine.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Final, get_args

from app.ipc.channel import MessageChannel
from app.ipc.message_codec import MessageCodec

LOOPBACK: Final = "127.0.0.1"

MAX_CLIENTS: Final = 16
"""Clients that a server takes at once."""


# --- session → stream server -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StartStream:
    """First message: what to serve.

    Attributes:
        request_id: the one request that is running; any other gives 404.
        token: bearer token that every client must show; kept out of `repr`, so that no log or traceback holds it.
        host: address to listen on. port: TCP port; 0 takes a free one.
    """

    request_id: str
    token: str = field(repr=False)
    host: str = LOOPBACK
    port: int = 0


@dataclass(frozen=True, slots=True)
class StopStream:
    """Close every client in order and exit."""


# --- stream server → session -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class StreamReady:
    """The server accepts clients. `port` is the one it listens on, `url` the whole address of the preview stream."""

    port: int
    url: str


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """Once a second: whom the server serves and what that costs.

    Attributes:
        at_ns: CLOCK_MONOTONIC.
        clients: connected now.
        sent: messages handed to clients since the server started, every client counted.
        dropped: messages that a newer one replaced because its client had not taken the last one yet.
        refused: connections refused since the server started (401, 404, 503).
        cut: clients cut off for not reading, or for sending too much.
        torn: thumbnails that the engine wrote over while they were being copied; each was tried again.
        cpu_ratio: CPU time of the server process per wall time since the last status (1.0 = one core).
        resident_bytes: resident memory of the server process.
    """

    at_ns: int
    clients: int
    sent: int
    dropped: int
    refused: int
    cut: int
    torn: int
    cpu_ratio: float
    resident_bytes: int


@dataclass(frozen=True, slots=True)
class StreamFailed:
    """The server cannot serve, or is gone. `text` is a whole sentence with a cure."""

    text: str


ToStream = StartStream | StopStream
FromStream = StreamReady | StreamStatus | StreamFailed
StreamMessage = ToStream | FromStream

STREAM_MESSAGES: Final = MessageCodec[StreamMessage](get_args(StreamMessage))


class StreamChannel(MessageChannel[StreamMessage]):
    """One end of the channel between a session and its stream server."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, STREAM_MESSAGES)
