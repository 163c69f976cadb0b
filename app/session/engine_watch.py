"""Follows one engine process from spawn to burial: receives, keeps deadlines, and never leaves it behind."""

from __future__ import annotations

import threading
import time
from typing import Final, NamedTuple, Protocol, cast

from app.core.clock import NS_PER_S
from app.ipc.channel import ChannelClosedError
from app.ipc.messages import EngineEvent, EngineReady, FromEngine, RunFailed, RunFinished, StopRun
from app.session.engine_process import EngineProcess

POLL_S: Final = 0.1
START_TIMEOUT_S: Final = 30.0
"""An engine that is not ready by then is ended: a network source that slow is no live source."""
SILENCE_S: Final = 5.0
"""An engine reports twice a second; after so long without a word it is told to be hanging."""
EXIT_WAIT_S: Final = 2.0
"""How long the process may take to end after its channel did."""


class EngineListener(Protocol):
    """What a watch tells; every call comes from the watch's own thread, one at a time."""

    def received(self, message: FromEngine) -> None:
        """One message of the engine, or one of the watch's own making."""
        ...

    def idle(self) -> None:
        """Called at least every `POLL_S`."""
        ...

    def ended(self, failure: str) -> None:
        """Last call: the process is gone; `failure` is "" when it ended as asked or at the end of its source."""
        ...


class _Deadline(NamedTuple):
    """When the engine is ended, what is said then, and whether the run has failed by it."""

    at_ns: int
    text: str
    is_fault: bool


class EngineWatch:
    """The receive thread of one engine process.

    Args:
        process: spawned, and told what to run. The watch sees it to its end but does not free its ring.
        listener: told everything.
    """

    def __init__(self, process: EngineProcess, listener: EngineListener) -> None:
        self._process = process
        self._listener = listener
        self._is_stopping = False
        self._last_word: RunFinished | RunFailed | None = None
        self._heard_ns = time.monotonic_ns()
        self._deadline: _Deadline | None = _deadline(
            START_TIMEOUT_S, f"the engine was not ready within {START_TIMEOUT_S:g} s and was ended", is_fault=True
        )
        # A daemon: the engine ends by itself with the channel, so an interpreter that ends need not wait for it.
        self._thread = threading.Thread(target=self._run, name="session-receive", daemon=True)

    def start(self) -> None:
        """Begin to receive."""
        self._thread.start()

    @property
    def is_own_thread(self) -> bool:
        """Tell whether the caller is the watch's thread, that is, a listener."""
        return threading.current_thread() is self._thread

    def request_stop(self, grace_s: float) -> None:
        """Ask the engine to end its run, and end the process when it has not within `grace_s`; returns at once."""
        self._is_stopping = True
        self._deadline = _deadline(
            grace_s, f"the engine did not stop within {grace_s:g} s and was ended; the last frames may be missing"
        )
        self._process.send(StopRun())

    def join(self, timeout_s: float | None) -> bool:
        """Wait for the last call to the listener; False when it has not come within `timeout_s`."""
        self._thread.join(timeout_s)
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            fault = self._follow()
        except Exception as error:  # noqa: BLE001 - thread boundary: the run must end and say why, whatever broke
            fault = f"the session broke off: {type(error).__name__}: {error}"
        if fault:
            self._process.kill()
        self._process.end(EXIT_WAIT_S)
        self._listener.ended(fault or self._failure())

    def _follow(self) -> str:
        """Receive until the engine is gone; return the fault for which it must be, or ""."""
        self._listener.idle()  # the start is told before anything the engine says
        while True:
            try:
                message = self._process.receive(POLL_S)
            except ChannelClosedError:
                return ""
            except ValueError as error:
                return f"the engine sent what is no message ({error}) and was ended"
            if message is not None:
                self._take(cast("FromEngine", message))
            self._listener.idle()
            self._mind_silence()
            overdue = self._deadline
            if overdue is not None and time.monotonic_ns() > overdue.at_ns:
                return self._end_overdue(overdue)

    def _take(self, message: FromEngine) -> None:
        self._heard_ns = time.monotonic_ns()
        if isinstance(message, EngineReady) and not self._is_stopping:
            self._deadline = None
        elif isinstance(message, RunFinished | RunFailed):
            self._last_word = message
            self._deadline = _deadline(EXIT_WAIT_S, "the engine had finished but did not exit, and was ended")
        self._listener.received(message)

    def _mind_silence(self) -> None:
        now_ns = time.monotonic_ns()
        if self._deadline is None and now_ns - self._heard_ns > SILENCE_S * NS_PER_S:
            self._heard_ns = now_ns
            text = f"the engine has not reported for {SILENCE_S:g} s: it hangs, or the machine is overloaded"
            self._listener.received(EngineEvent("warning", "engine_silent", text, now_ns))

    def _end_overdue(self, overdue: _Deadline) -> str:
        if overdue.is_fault:
            return overdue.text
        self._process.kill()
        self._listener.received(EngineEvent("warning", "engine_killed", overdue.text, time.monotonic_ns()))
        return ""

    def _failure(self) -> str:
        if isinstance(self._last_word, RunFailed):
            return self._last_word.text
        if self._last_word is not None or self._is_stopping:
            return ""
        return f"{self._process.describe_end()}; restart the run to go on"


def _deadline(after_s: float, text: str, *, is_fault: bool = False) -> _Deadline:
    return _Deadline(time.monotonic_ns() + int(after_s * NS_PER_S), text, is_fault)
