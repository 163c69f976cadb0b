"""Passes on at most so many values a second; of those in between only the latest counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from PySide6.QtCore import QObject, QTimer


class LatestSender(QObject):
    """Sends the first value at once, then at most one an interval, and always the last.

    Args:
        send: called in the GUI thread with each value that is passed on.
        interval_ms: shortest time between two.
    """

    def __init__(self, send: Callable[[Any], None], interval_ms: int = 33, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._send = send
        self._waiting: list[Any] = []
        self._rest = QTimer(self)
        self._rest.setSingleShot(True)
        self._rest.setInterval(interval_ms)
        self._rest.timeout.connect(self._send_waiting)

    def offer(self, value: Any) -> None:
        """Send a value now, or when the interval is over unless a later one replaces it."""
        self._waiting = [value]
        if not self._rest.isActive():
            self._send_waiting()

    def stop(self) -> None:
        """Forget what waits; nothing is sent until the next `offer`."""
        self._waiting = []
        self._rest.stop()

    def _send_waiting(self) -> None:
        if self._waiting:
            self._send(self._waiting.pop())
            self._rest.start()
