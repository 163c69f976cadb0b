"""The control channel: framed messages both ways over a private pipe that ends when either process does."""

from __future__ import annotations

import secrets
import sys
import threading
from multiprocessing.connection import Client, Connection, Listener, Pipe
from typing import Generic

from app.ipc.message_codec import MAX_MESSAGE_BYTES, MessageCodec, MessageT
from app.ipc.messages import ENGINE_MESSAGES, Message


class ChannelClosedError(Exception):
    """The other end is gone."""


class MessageChannel(Generic[MessageT]):
    """One end, for messages of one kind of child. `send` may be called from any thread; `receive` from one at a time.

    The end of the other process, however it came, ends a waiting `receive` with `ChannelClosedError`.
    """

    def __init__(self, connection: Connection, codec: MessageCodec[MessageT]) -> None:
        self._connection = connection
        self._codec = codec
        self._send_lock = threading.Lock()

    def send(self, message: MessageT) -> None:
        """Send one message.

        Raises:
            ChannelClosedError: the other end is gone.
            ValueError: the message is too long.
        """
        data = self._codec.encode(message)
        try:
            with self._send_lock:
                self._connection.send_bytes(data)
        except (OSError, ValueError) as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> MessageT | None:
        """Return the next message; None when none came within `timeout_s` (None waits for ever).

        Raises:
            ChannelClosedError: the other end is gone.
            ValueError: the other end sent something that is no message.
        """
        try:
            if not self._connection.poll(timeout_s):
                return None
            return self._codec.decode(self._connection.recv_bytes(MAX_MESSAGE_BYTES))
        except (OSError, EOFError) as error:
            raise ChannelClosedError(str(error)) from error

    def fileno(self) -> int:
        """Return the descriptor, for an event loop to watch."""
        return self._connection.fileno()

    def close(self) -> None:
        """Close this end."""
        self._connection.close()


class Channel(MessageChannel[Message]):
    """One end of the channel between a session and its engine."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(connection, ENGINE_MESSAGES)


class ParentEnd:
    """The parent's half before the child exists: gives the handle to pass on, then becomes a channel."""

    def __init__(self) -> None:
        if (
            sys.platform == "win32"
        ):  # a descriptor is no handle there: the child connects to a private named pipe with a secret
            self._key = secrets.token_bytes(32)
            self._listener = Listener(family="AF_PIPE", authkey=self._key)
            self.handle = f"{self._listener.address!s}|{self._key.hex()}"
            self.inherited: tuple[int, ...] = ()
        else:
            self._mine, self._theirs = Pipe()
            self.inherited = (self._theirs.fileno(),)
            self.handle = str(self._theirs.fileno())

    def connect(self) -> Channel:
        """Return the channel to an engine, once it has been spawned; the child's half is closed here."""
        return Channel(self.connection())

    def connection(self) -> Connection:
        """Return the connection under a channel, once the child has been spawned; the child's half is closed here."""
        if sys.platform == "win32":
            connection = self._listener.accept()
            self._listener.close()
            return connection
        self._theirs.close()
        return self._mine


def connect_child(handle: str) -> Channel:
    """Return an engine's end, from the handle on its command line."""
    return Channel(child_connection(handle))


def child_connection(handle: str) -> Connection:
    """Return the connection under the child's end of a channel, from the handle on its command line."""
    if sys.platform == "win32":
        address, _, key = handle.rpartition("|")
        return Client(address, family="AF_PIPE", authkey=bytes.fromhex(key))
    return Connection(int(handle))
