"""Receives the session's commands, and ends the engine when the session is gone."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from typing import Final

from app.engine.doorbell import Doorbell
from app.ipc.channel import Channel, ChannelClosedError
from app.ipc.messages import StopRun, ToEngine

ORPHAN_GRACE_S: Final = 1.2
"""How long an orderly end may take after the parent died; then the process ends at once (a driver call may hang)."""

ORPHAN_EXIT_CODE: Final = 75


class Inbox:
    """A thread blocked in C on the channel; the present loop takes what came with `take`."""

    def __init__(self, channel: Channel, doorbell: Doorbell) -> None:
        self._channel = channel
        self._doorbell = doorbell
        self._commands: deque[ToEngine] = deque()
        self._thread = threading.Thread(target=self._receive, name="inbox", daemon=True)
        self._thread.start()

    def take(self) -> ToEngine | None:
        """Return the next command, or None; never waits."""
        return self._commands.popleft() if self._commands else None

    def _receive(self) -> None:
        while True:
            try:
                message = self._channel.receive()
            except (ChannelClosedError, ValueError):
                break
            if isinstance(message, ToEngine):
                self._commands.append(message)
                self._doorbell.ring()
        self._commands.append(StopRun())
        self._doorbell.ring()
        time.sleep(ORPHAN_GRACE_S)
        os._exit(ORPHAN_EXIT_CODE)
