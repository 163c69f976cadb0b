"""Drives the real engine process, without a session around it."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

import numpy as np

from app.core.records import FrameArray
from app.core.vocabulary import Fate
from app.ipc.channel import ChannelClosedError, ParentEnd
from app.ipc.frame_ring import FrameCounters, FrameRingReader, ring_bytes
from app.ipc.messages import EngineReady, Message, RunFailed, RunFinished, SetConfig, StartRun, StopRun, ToEngine
from app.ipc.shared_block import SharedBlock

TIMEOUT_S = 60.0
M = TypeVar("M")


class EngineHarness:
    """One engine process. Use as a context manager; `finish` ends it in order and gives what it left."""

    def __init__(
        self,
        source: str | Sequence[str],
        sink: str,
        config: dict[str, Any] | None = None,
        *,
        validation: bool = False,
        encode_to: str = "",
        module: str = "app.engine",
    ) -> None:
        self.config = dict(config or {})
        self.serial = 1
        self.messages: list[Message] = []
        self._block = SharedBlock.create(ring_bytes())
        assert self._block.descriptor is not None
        end = ParentEnd()
        self.process = subprocess.Popen(
            [sys.executable, "-m", module, "--channel", end.handle, "--ring", self._block.handle],
            pass_fds=(*end.inherited, self._block.descriptor),
            start_new_session=True,
        )
        self._channel = end.connect()
        self._reader: FrameRingReader | None = None
        self._chunks: list[FrameArray] = []
        sources = [source] if isinstance(source, str) else list(source)
        self.send(StartRun(self.config, self.serial, sources, sink, validation=validation, encode_to=encode_to))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._channel.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(10)
        if self._reader is not None:
            self._reader.close()
        self._block.close()

    def send(self, message: ToEngine) -> None:
        self._channel.send(message)

    def ready(self) -> EngineReady:
        """Wait for the pipeline; a failed start is an error of the test, with its text."""
        message = self.wait_for((EngineReady, RunFailed))
        assert isinstance(message, EngineReady), message
        self._reader = FrameRingReader(self._block)
        return message

    def wait_for(self, wanted: type[M] | tuple[type[M], ...]) -> M:
        """Return the next message of a type, keeping all others in `messages`."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            message = self._channel.receive(0.2)
            if message is None:
                continue
            self.messages.append(message)
            if isinstance(message, wanted):
                return message
        raise TimeoutError(f"no {wanted} in {TIMEOUT_S} s; got {self.messages}")

    def change(self, **keys: Any) -> int:
        """Send a changed configuration and return its serial."""
        self.config.update(keys)
        self.serial += 1
        self.send(SetConfig(self.config, self.serial))
        return self.serial

    def frames(self) -> FrameArray:
        """Return all records so far."""
        assert self._reader is not None
        batch = self._reader.read()
        assert batch.lapped == 0
        self._chunks.append(batch.frames)
        return np.concatenate(self._chunks)

    def counters(self) -> FrameCounters:
        assert self._reader is not None
        return self._reader.counters()

    def run_until(self, done: Callable[[FrameArray], bool]) -> FrameArray:
        """Wait until the records fulfil a condition."""
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            frames = self.frames()
            if done(frames):
                return frames
            self.drain_messages(0.05)
        raise TimeoutError(f"condition not met after {len(self.frames())} records; messages {self.messages[-5:]}")

    def run_frames(self, count: int) -> FrameArray:
        """Wait for this many more records."""
        target = len(self.frames()) + count
        return self.run_until(lambda frames: len(frames) >= target)

    def finish(self) -> RunFinished:
        """Stop in order, or take the end that came by itself; the balance of the run must be even."""
        told = [message for message in self.messages if isinstance(message, RunFinished)]
        if not told:
            with contextlib.suppress(ChannelClosedError):
                self.send(StopRun())
        finished = told[0] if told else self.wait_for((RunFinished, RunFailed))
        assert isinstance(finished, RunFinished), finished
        assert self.process.wait(10) == 0
        self.check_balance(finished)
        return finished

    def check_balance(self, finished: RunFinished) -> None:
        counters = self.counters()
        assert counters.produced == counters.displayed + sum(counters.lost.values()) + counters.in_flight
        assert counters.in_flight == sum(finished.in_flight_by_place.values()), finished
        frames = self.frames()
        assert len(frames) == counters.displayed + sum(counters.lost.values())
        assert len(np.unique(frames[["source_index", "frame_id"]])) == len(frames)

    def drain_messages(self, timeout_s: float) -> None:
        try:
            message = self._channel.receive(timeout_s)
        except ChannelClosedError:
            return
        if message is not None:
            self.messages.append(message)


def of_fate(frames: FrameArray, fate: Fate) -> FrameArray:
    """Return the records of one fate."""
    chosen: FrameArray = frames[frames["fate"] == fate]
    return chosen
