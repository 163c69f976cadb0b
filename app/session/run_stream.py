"""The preview stream of a run: served while `enable_preview` says so."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from app.config.veoconfig import VeoConfig
from app.core.errors import EngineError
from app.ipc.messages import EngineEvent
from app.ipc.shared_block import SharedBlock
from app.ipc.stream_address import address_refused, listen
from app.ipc.stream_messages import FromStream, StreamFailed, StreamReady, StreamStatus
from app.session.session_state import StreamRequest
from app.session.stream_process import StreamProcess


class RunStream:
    """Starts and stops the stream's server as the configuration changes; the engine never notices.

    `follow` and `close` may be called from any thread; what it has to say goes to `tell`, from threads of its own. The
    access token is in none of that.

    Args:
        request: where to listen, and the token.
        tell: takes events for the user.
    """

    def __init__(self, request: StreamRequest, tell: Callable[[EngineEvent], None]) -> None:
        self._tell = tell
        self.server = StreamProcess("", request.token, request.host, request.port, self._heard)
        self._lock = threading.Lock()  # held while the server is started or stopped
        self._wanted = False
        self._served = False
        self._closed = False

    @property
    def block(self) -> SharedBlock:
        """The memory that the engine fills."""
        return self.server.block

    @property
    def status(self) -> StreamStatus | None:
        """What the server said last; None while none runs."""
        return self.server.status

    def follow(self, config: VeoConfig) -> None:
        """Serve from now on, or no longer; returns at once."""
        if config.enable_preview == self._wanted:
            return
        self._wanted = config.enable_preview
        # A daemon: a server that takes seconds to let its clients go must not hold up a change of options.
        threading.Thread(target=self._switch, name="stream-switch", daemon=True).start()

    def close(self) -> None:
        """End the server and let the memory go."""
        self._closed = True
        with self._lock:
            self.server.close()

    def _switch(self) -> None:
        """Bring the server to what is wanted last, whatever was wanted when this thread was started."""
        with self._lock:
            if self._closed or self._wanted == self._served:
                return
            self._served = self._wanted
            try:
                if self._served:
                    self.server.start()
                else:
                    self.server.stop()
                    self._say("info", "the preview stream is no longer served")
            except EngineError as error:
                self._say("error", str(error))

    def _heard(self, message: FromStream) -> None:
        if isinstance(message, StreamReady):
            self._say("info", f"the preview stream is served at {message.url}")
        elif isinstance(message, StreamFailed):
            self._say("error", message.text)

    def _say(self, severity: str, text: str) -> None:
        self._tell(EngineEvent(severity, "preview_stream", text, time.monotonic_ns()))


def check_stream_address(request: StreamRequest) -> None:
    """Find out before a run whether its preview stream can listen where it is asked to.

    Raises:
        EngineError: it cannot.
    """
    try:
        listen(request.host, request.port).close()
    except OSError as error:
        raise EngineError(address_refused(request.host, request.port, error)) from error
