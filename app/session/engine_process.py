"""The engine as a child process: spawned with its channel and frame ring, ended within finite time, never a zombie."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Final

from app.core.errors import EngineError
from app.ipc.channel import Channel, ChannelClosedError, ParentEnd
from app.ipc.frame_ring import FrameRingReader, ring_bytes
from app.ipc.messages import Message, ToEngine
from app.ipc.shared_block import SharedBlock
from app.session.child_python import exit_text, inherited_descriptors, module_command, start_child
from app.session.engine_log import EngineLog

TERMINATE_WAIT_S: Final = 1.0
"""How long an engine that did not end by itself may take over SIGTERM before it is killed."""


class EngineProcess:
    """One engine process with the parent's ends of its channel and ring.

    `send` and `kill` may be called from any thread, `receive` from one thread. Make it with `spawn`, end it with `end`
    and free it with `close`; the ring stays readable between the two, also after a SIGKILL of the engine.

    An engine that hangs does not read its channel. So that no caller ever waits for it, above all not the GUI thread,
    messages leave through a thread of their own.
    """

    def __init__(self, process: subprocess.Popen[bytes], channel: Channel, block: SharedBlock, log: EngineLog) -> None:
        self._process = process
        self._channel = channel
        self._block = block
        self.log = log
        self._outgoing: SimpleQueue[ToEngine | None] = SimpleQueue()
        # A daemon: a channel that nobody reads must not keep this process from ending.
        self._sender = threading.Thread(target=self._send_all, name="session-send", daemon=True)
        self._sender.start()

    @classmethod
    def spawn(
        cls,
        log_path: Path | None = None,
        command: Sequence[str] | None = None,
        thumbnails: SharedBlock | None = None,
        variables: Mapping[str, str] | None = None,
    ) -> EngineProcess:
        """Start an engine process.

        It leads a session of its own, so that Ctrl+C in a terminal reaches this process only and the run can end in
        order; it ends by itself when the channel does, so it cannot outlive this process.

        Args:
            log_path: where its standard error is copied; None keeps only the last lines in memory.
            command: another program that speaks the protocol; `--channel` and `--ring` are added to it.
            thumbnails: block that the engine fills for the preview stream, given as `--thumbnails`; stays the caller's.
            variables: environment variables besides those of this process, see `device_variables`.

        Raises:
            EngineError: the process could not be started.
        """
        block = SharedBlock.create(ring_bytes())
        end = ParentEnd()
        arguments = [*(command or module_command("app.engine")), "--channel", end.handle, "--ring", block.handle]
        blocks = [block]
        if thumbnails is not None:
            arguments += ["--thumbnails", thumbnails.handle]
            blocks.append(thumbnails)
        try:
            process = start_child(arguments, (*end.inherited, *inherited_descriptors(*blocks)), variables)
        except OSError as error:
            block.close()
            if end.inherited:
                end.connect().close()
            raise EngineError(f"the engine could not be started: {error}; is {arguments[0]} still there?") from error
        assert process.stderr is not None
        return cls(process, end.connect(), block, EngineLog(process.stderr, log_path))

    @property
    def pid(self) -> int:
        """Process id."""
        return self._process.pid

    @property
    def is_running(self) -> bool:
        """Tell whether the process has not ended yet."""
        return self._process.poll() is None

    def send(self, message: ToEngine) -> None:
        """Send one message, in order and without waiting; to an engine that is gone it is lost, as `receive` tells."""
        self._outgoing.put(message)

    def receive(self, timeout_s: float) -> Message | None:
        """Return the next message, None after `timeout_s`.

        Raises:
            ChannelClosedError: the engine is gone.
            ValueError: it sent something that is no message.
        """
        return self._channel.receive(timeout_s)

    def open_reader(self) -> FrameRingReader:
        """Return a follower of the frame ring, from its oldest record on.

        Raises:
            EngineError: the engine has not opened its ring yet (it does so before `EngineReady`).
        """
        try:
            return FrameRingReader(self._block)
        except ValueError as error:
            raise EngineError(f"no frames can be read: {error}") from error

    def kill(self) -> None:
        """End the process at once, whatever it is doing."""
        self._process.kill()

    def end(self, grace_s: float) -> int:
        """Wait for the process, help it after `grace_s`, and return its exit code (negative: by that signal)."""
        for stop in (self._process.terminate, self._process.kill):
            try:
                return self._process.wait(grace_s)
            except subprocess.TimeoutExpired:
                stop()
                grace_s = TERMINATE_WAIT_S
        return self._process.wait()

    def describe_end(self) -> str:
        """Return how the process ended, with its last words: `the engine ended by signal 9 (SIGKILL)`."""
        code = self._process.poll()
        how = "is still running" if code is None else exit_text(code)
        self.log.join(1.0)
        last = [line for line in self.log.last_lines() if line.strip()][-1:]
        return f"the engine {how}" + "".join(f"; its last words: {line}" for line in last)

    def close(self) -> None:
        """Free channel and ring; the process has ended. Readers still open keep the memory until they are closed."""
        self._outgoing.put(None)
        self._sender.join()
        self._channel.close()
        self.log.join(1.0)
        _release(self._block)

    def _send_all(self) -> None:
        with contextlib.suppress(ChannelClosedError):
            while (message := self._outgoing.get()) is not None:
                self._channel.send(message)


def _release(block: SharedBlock) -> None:
    try:
        block.close()
    except BufferError:  # a plot still holds a reader: the mapping goes with it, the descriptor goes now
        if block.descriptor is not None:
            os.close(block.descriptor)
            block.descriptor = None
