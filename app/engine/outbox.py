"""Sends the engine's messages from a thread of its own, so that the frame path never waits for the parent."""

from __future__ import annotations

import queue
import threading

from app.ipc.channel import Channel, ChannelClosedError
from app.ipc.messages import FromEngine


class Outbox:
    """`post` from any thread costs a queue operation; order is kept."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._messages: queue.SimpleQueue[FromEngine | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._send, name="outbox", daemon=True)
        self._thread.start()

    def post(self, message: FromEngine) -> None:
        """Send a message soon."""
        self._messages.put(message)

    def close(self, timeout_s: float) -> None:
        """Send what is left and end the thread, waiting at most `timeout_s`."""
        self._messages.put(None)
        self._thread.join(timeout_s)

    def _send(self) -> None:
        while (message := self._messages.get()) is not None:
            try:
                self._channel.send(message)
            except ChannelClosedError:
                return  # the parent is gone; the inbox notices and ends the engine
