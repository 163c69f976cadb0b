"""The one place where the session's thread meets Qt: its listener becomes a signal in the GUI thread."""

from __future__ import annotations

from PySide6.QtCore import QObject, Qt, Signal, Slot

from app.ipc.messages import FromEngine
from app.session.session_state import SessionChange


class SessionBridge(QObject):
    """Passes on what the session tells, in order, in the GUI thread.

    `listen` is called on the session's receive thread; everything else here on the GUI thread.

    Signals:
        told(message): a message of the engine, or a `SessionChange`.
    """

    told = Signal(object)
    _arrived = Signal(object)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._arrived.connect(self._pass_on, Qt.ConnectionType.QueuedConnection)

    def listen(self, message: FromEngine | SessionChange) -> None:
        """Take a message on any thread."""
        self._arrived.emit(message)

    @Slot(object)
    def _pass_on(self, message: object) -> None:
        self.told.emit(message)
