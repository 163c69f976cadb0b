"""The preview stream's server as a child process, beside the engine: started, watched, started again when it dies."""

from __future__ import annotations

import contextlib
import re
import secrets
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from app.config.source_text import BEARER_TOKEN, PreviewStreamSpec, source_text
from app.core.errors import EngineError
from app.ipc.channel import ChannelClosedError, ParentEnd
from app.ipc.shared_block import SharedBlock
from app.ipc.stream_messages import (
    LOOPBACK,
    FromStream,
    StartStream,
    StopStream,
    StreamChannel,
    StreamFailed,
    StreamReady,
    StreamStatus,
)
from app.ipc.thumbnail_block import ThumbnailReader, thumbnail_block_bytes
from app.session.child_python import exit_text, inherited_descriptors, module_command, start_child
from app.session.engine_log import EngineLog

STOP_GRACE_S: Final = 4.0
"""How long the server may take to close its clients; then it is killed."""

RESTART_DELAYS_S: Final = (0.25, 1.0, 4.0)
"""Waits before a server that died is started again; after the last it is given up."""

STEADY_S: Final = 60.0
"""A server that lived so long begins anew with the shortest wait."""

_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9._~-]{1,64}")

Listener = Callable[[FromStream], None]


class StreamProcess:
    """One preview stream and the server process that serves it; the engine writes into `block` and knows no more.

    A server that dies takes nothing with it: it is told by a `StreamFailed`, and another one is started on the same
    memory and the same port (`StreamReady` tells it), so that clients find it again. `start`, `stop` and `close`
    belong to one thread; the properties may be read from any.

    Args:
        request_id: names the run in the address: 1–64 letters, digits, `.`, `_`, `~`, `-`; "" makes one.
        token: bearer token of every client; "" makes one.
        host: address to listen on. port: TCP port, 0 for a free one.
        listener: told what the server says, on a thread of this class; must return soon.
        command: another program that speaks the protocol; `--channel` and `--thumbnails` are added to it.

    Raises:
        EngineError: the request id or the token holds characters that an address or a header cannot.
    """

    def __init__(
        self,
        request_id: str = "",
        token: str = "",
        host: str = LOOPBACK,
        port: int = 0,
        listener: Listener | None = None,
        command: Sequence[str] | None = None,
    ) -> None:
        self._start = StartStream(request_id or secrets.token_hex(4), token or secrets.token_urlsafe(24), host, port)
        _check(self._start)
        self._listener = listener
        self._command = command
        self.block = SharedBlock.create(thumbnail_block_bytes())
        self._server: _Server | None = None
        self._url = ""
        self._status: StreamStatus | None = None
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def request_id(self) -> str:
        """The request that is served."""
        return self._start.request_id

    @property
    def token(self) -> str:
        """The bearer token that a client must show."""
        return self._start.token

    @property
    def url(self) -> str:
        """Address of the preview stream; "" while no server is ready."""
        return self._url

    @property
    def source_text(self) -> str:
        """What another VeoTuner opens this stream with, token and all; "" while no server is ready."""
        return source_text(PreviewStreamSpec(self._url, self.token)) if self._url else ""

    @property
    def status(self) -> StreamStatus | None:
        """What the server said last; None before it did, and after it died."""
        return self._status

    @property
    def pid(self) -> int | None:
        """Process id of the server; None while there is none."""
        server = self._server
        return None if server is None else server.process.pid

    def start(self) -> None:
        """Start the server, also again after `stop`; returns at once, listener and `url` tell when it is ready.

        Raises:
            EngineError: the process could not be started, or the stream was closed.
        """
        if self.block.memory.closed:
            raise EngineError("the preview stream ended with its run; start the run anew")
        self._stopping.clear()
        self._server = _Server(self._start, self.block, self._command)
        # A daemon: the server ends by itself with the channel, so an interpreter that ends need not wait for it.
        self._thread = threading.Thread(target=self._watch, name="stream-watch", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the server and wait for it, at most some seconds; the engine may write on. Does nothing without one."""
        self._stopping.set()
        server = self._server
        if server is not None:
            server.ask_to_stop()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def close(self) -> None:
        """End the server and free the memory; an engine that still runs keeps its own hold on it."""
        self.stop()
        self.block.close()

    # --- the watching thread ------------------------------------------------------------------------------------------

    def _watch(self) -> None:
        server = self._server
        delays = iter(RESTART_DELAYS_S)
        while server is not None:
            started_s = time.monotonic()
            cannot_serve = self._follow(server)
            failure = server.bury()
            self._server, self._url, self._status = None, "", None
            self._forget_viewers()
            if self._stopping.is_set() or cannot_serve:
                return
            if time.monotonic() - started_s > STEADY_S:
                delays = iter(RESTART_DELAYS_S)
            delay_s = next(delays, None)
            self._tell_death(failure, delay_s)
            if delay_s is None or self._stopping.wait(delay_s):
                return
            server = self._restart()

    def _forget_viewers(self) -> None:
        """Let the engine make no thumbnails for the clients of a server that died."""
        with contextlib.closing(ThumbnailReader(self.block)) as reader:
            reader.set_viewers(0)

    def _follow(self, server: _Server) -> bool:
        """Take what the server says until it is gone; tell whether it said that it cannot serve."""
        cannot_serve = False
        while True:
            try:
                message = server.channel.receive()
            except (ChannelClosedError, ValueError):
                return cannot_serve
            if isinstance(message, StreamReady):
                # The same port again after a restart, or nobody would find it.
                self._start = replace(self._start, port=message.port)
                self._url = message.url
            elif isinstance(message, StreamStatus):
                self._status = message
            cannot_serve = cannot_serve or isinstance(message, StreamFailed)
            if isinstance(message, FromStream):
                self._tell(message)

    def _restart(self) -> _Server | None:
        try:
            self._server = server = _Server(self._start, self.block, self._command)
        except EngineError as error:
            self._tell(StreamFailed(str(error)))
            return None
        if self._stopping.is_set():  # `close` may have looked for a server just before this one was there
            server.ask_to_stop()
        return server

    def _tell_death(self, failure: str, delay_s: float | None) -> None:
        after = "it is started again" if delay_s is not None else "it is given up; restart the run to have it back"
        self._tell(StreamFailed(f"the preview stream's server {failure}; {after}"))

    def _tell(self, message: FromStream) -> None:
        if self._listener is not None:
            self._listener(message)


class _Server:
    """One server process with this end of its channel; it has been told what to serve."""

    def __init__(self, start: StartStream, block: SharedBlock, command: Sequence[str] | None) -> None:
        end = ParentEnd()
        arguments = [*(command or module_command("app.stream")), "--channel", end.handle, "--thumbnails", block.handle]
        try:
            self.process = start_child(arguments, (*end.inherited, *inherited_descriptors(block)))
        except OSError as error:
            if end.inherited:
                end.connection().close()
            raise EngineError(
                f"the preview stream's server could not be started: {error}; is {arguments[0]} still there?"
            ) from error
        assert self.process.stderr is not None
        self.channel = StreamChannel(end.connection())
        self._log = EngineLog(self.process.stderr, None)
        self._send(start)

    def ask_to_stop(self) -> None:
        """Ask it to end, and see to it that it does."""
        self._send(StopStream())
        try:
            self.process.wait(STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def bury(self) -> str:
        """Wait for the end of the process and return how it came; its channel has ended."""
        try:
            code = self.process.wait(STOP_GRACE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.channel.close()
        self._log.join(1.0)
        last = [line for line in self._log.last_lines() if line.strip()][-1:]
        return exit_text(code) + "".join(f"; its last words: {line}" for line in last)

    def _send(self, message: StartStream | StopStream) -> None:
        try:
            self.channel.send(message)
        except ChannelClosedError:
            return  # it is gone, which the watching thread sees too


def _check(start: StartStream) -> None:
    if not _REQUEST_ID.fullmatch(start.request_id):
        raise EngineError(
            f"the request id “{start.request_id}” cannot stand in an address; use letters, digits, “.”, “_”, “~”, “-”"
        )
    if not BEARER_TOKEN.fullmatch(start.token):
        raise EngineError("the preview stream's token cannot stand in a header; use letters, digits and “._~+/-”")
