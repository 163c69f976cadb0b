"""The control channel: framed messages both ways over a private pipe that ends when either process does."""

from __future__ import annotations

import secrets
import sys
import threading
from multiprocessing.connection import Client, Connection, Listener, Pipe

from app.ipc.messages import MAX_MESSAGE_BYTES, Message, decode, encode


class ChannelClosedError(Exception):
    """The other end is gone."""


class Channel:
    """One end. `send` may be called from any thread; `receive` from one thread at a time.

    The end of the other process, however it came, ends a waiting `receive` with `ChannelClosedError`.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._send_lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Send one message.

        Raises:
            ChannelClosedError: the other end is gone.
        """
        data = encode(message)
        try:
            with self._send_lock:
                self._connection.send_bytes(data)
        except (OSError, ValueError) as error:
            raise ChannelClosedError(str(error)) from error

    def receive(self, timeout_s: float | None = None) -> Message | None:
        """Return the next message; None when none came within `timeout_s` (None waits for ever).

        Raises:
            ChannelClosedError: the other end is gone.
            ValueError: the other end sent something that is no message.
        """
        try:
            if not self._connection.poll(timeout_s):
                return None
            return decode(self._connection.recv_bytes(MAX_MESSAGE_BYTES))
        except (OSError, EOFError) as error:
            raise ChannelClosedError(str(error)) from error

    def fileno(self) -> int:
        """Return the descriptor, for an event loop to watch."""
        return self._connection.fileno()

    def close(self) -> None:
        """Close this end."""
        self._connection.close()


class ParentEnd:
    """The parent's half before the child exists: gives the handle to pass on, then becomes a `Channel`."""

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
        """Return the channel, once the child has been spawned; the child's half is closed here."""
        if sys.platform == "win32":
            channel = Channel(self._listener.accept())
            self._listener.close()
            return channel
        self._theirs.close()
        return Channel(self._mine)


def connect_child(handle: str) -> Channel:
    """Return the child's end, from the handle on its command line."""
    if sys.platform == "win32":
        address, _, key = handle.rpartition("|")
        return Channel(Client(address, family="AF_PIPE", authkey=bytes.fromhex(key)))
    return Channel(Connection(int(handle)))
