"""The receiving side of a preview stream: connects, stamps what comes in, connects again; a thread of its own."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Final

from websockets.sync.client import ClientConnection

from app.config.source_text import PreviewStreamSpec
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.engine.sources.preview_connection import CONNECTION_ERRORS, OPEN_TIMEOUT_S, connect_to, failure_text
from app.engine.sources.preview_message import (
    MalformedCount,
    MalformedMessageError,
    PreviewMessage,
    parse_preview_message,
)

SHORTEST_BACK_OFF_S: Final = 0.25
LONGEST_BACK_OFF_S: Final = 5.0
STEADY_S: Final = 5.0
"""A connection that lasted so long lets the back-off begin anew."""

BUFFERED_MESSAGES: Final = 16
"""Messages that may wait for the decoder; one more, and the oldest is lost."""

_MOST_WAITING: Final = 4096
"""Lost ones included, which are still to be told."""

_POLL_S: Final = 0.2


@dataclass(slots=True)
class Received:
    """A message as it came in.

    Attributes:
        arrive_ns: when, CLOCK_MONOTONIC.
        message: what it says; without the picture when it was lost.
        gap: why a new segment must begin here (the connection was lost before), or "".
        is_lost: there was no room for it.
    """

    arrive_ns: int
    message: PreviewMessage
    gap: str = ""
    is_lost: bool = False

    def lose(self) -> None:
        """Let go of the picture."""
        self.message = replace(self.message, jpeg=b"")
        self.is_lost = True


class BackOff:
    """How long to wait before the next try: twice as long each time, from the beginning after a steady connection."""

    def __init__(self) -> None:
        self._wait_s = SHORTEST_BACK_OFF_S

    def next_s(self, lasted_s: float) -> float:
        """Return the wait after a try that lasted `lasted_s`, the connection it brought included."""
        if lasted_s > STEADY_S + OPEN_TIMEOUT_S:
            self._wait_s = SHORTEST_BACK_OFF_S
        wait_s, self._wait_s = self._wait_s, min(self._wait_s * 2, LONGEST_BACK_OFF_S)
        return wait_s


class PreviewReceiver:
    """Keeps the connection and hands over what came in. `take` belongs to one thread, the rest to any.

    Args:
        spec: where, and with which token.
        malformed: counts the messages that cannot be read.

    Attributes:
        failure: why it gave up: the first connection failed, or an error of its own; "" normally.
        postponed_ns: how much time had been left out in all at the last `take`.
    """

    def __init__(self, spec: PreviewStreamSpec, malformed: MalformedCount) -> None:
        self._spec = spec
        self._malformed = malformed
        self.failure = ""
        self.postponed_ns = 0
        self._changed = threading.Condition()  # guards `_waiting` and `failure`
        self._waiting: deque[Received] = deque()
        self._left_out: deque[tuple[int, int]] = deque()
        self._notices: deque[str] = deque()
        self._stop = threading.Event()
        self._was_connected = False
        self._lost_ns = NO_STAMP_NS
        self._last_loss = ""
        self._thread = threading.Thread(target=self._run, name="preview-stream", daemon=True)
        self._thread.start()

    def take(self, timeout_s: float | None = None) -> Received | None:
        """Wait for the next message; None when it was interrupted, failed, or nothing came within `timeout_s`."""
        with self._changed:
            self._changed.wait_for(lambda: self._waiting or self._stop.is_set() or self.failure, timeout_s)
            self._leave_out()
            if not self._waiting or self._stop.is_set() or self.failure:
                return None
            return self._waiting.popleft()

    def forget_waiting(self) -> None:
        """Let go of everything that came in so far."""
        with self._changed:
            self._waiting.clear()

    def take_notices(self) -> list[str]:
        """Return what happened to the connection since the last call."""
        return [self._notices.popleft() for _ in range(len(self._notices))]

    def put_off(self, by_ns: int) -> None:
        """Note that the last `by_ns` shall not count."""
        self._left_out.append((by_ns, time.monotonic_ns()))

    def interrupt(self) -> None:
        """End the waiting on both sides."""
        self._stop.set()
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """End the thread; a connection that is just being opened may take some seconds to give up."""
        self.interrupt()
        self._thread.join()

    def _leave_out(self) -> None:
        while self._left_out:
            by_ns, until_ns = self._left_out.popleft()
            self.postponed_ns += by_ns
            self._waiting = deque(without_pause(list(self._waiting), by_ns, until_ns))

    # --- the receiving thread -----------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            self._stay_connected()
        except Exception as error:  # noqa: BLE001 - thread boundary: whoever waits for a message must hear of it
            self._fail(f"receiving broke off ({type(error).__name__}: {error}); restart the run")

    def _stay_connected(self) -> None:
        back_off = BackOff()
        while not self._stop.is_set():
            began_ns = time.monotonic_ns()
            try:
                with connect_to(self._spec) as connection:
                    self._was_connected = True
                    self._receive(connection)
            except CONNECTION_ERRORS as error:
                if not self._lose(failure_text(error, self._spec)):
                    return
            self._stop.wait(back_off.next_s((time.monotonic_ns() - began_ns) / NS_PER_S))

    def _receive(self, connection: ClientConnection) -> None:
        while not self._stop.is_set():
            try:
                data = connection.recv(_POLL_S, decode=False)
            except TimeoutError:
                continue
            arrive_ns = time.monotonic_ns()
            try:
                message = parse_preview_message(data)
            except MalformedMessageError as error:
                self._malformed.add(str(error))
                continue
            self._add(Received(arrive_ns, message, self._gap_before(arrive_ns)))

    def _add(self, received: Received) -> None:
        with self._changed:
            self._waiting.append(received)
            if len(self._waiting) > BUFFERED_MESSAGES:
                self._waiting[-BUFFERED_MESSAGES - 1].lose()
            if len(self._waiting) > _MOST_WAITING:
                self._waiting.popleft()
            self._changed.notify_all()

    def _gap_before(self, arrive_ns: int) -> str:
        """Return the reason of a segment that must begin because the connection was lost before; "" if it was not."""
        if self._lost_ns == NO_STAMP_NS:
            return ""
        gap_s = (arrive_ns - self._lost_ns) / NS_PER_S
        self._lost_ns, self._last_loss = NO_STAMP_NS, ""
        return f"the preview stream came back after {gap_s:.1f} s"

    def _lose(self, text: str) -> bool:
        """Take in that the connection is lost or did not come about; False when that is the end."""
        if not self._was_connected:
            self._fail(text)
            return False
        if self._lost_ns == NO_STAMP_NS:
            self._lost_ns = time.monotonic_ns()
        if text != self._last_loss:  # each reason of one gap is told once, however many tries there are
            self._last_loss = text
            self._notices.append(f"{self._spec.redacted}: {text}; trying again until it comes back")
        return True

    def _fail(self, text: str) -> None:
        with self._changed:
            self.failure = text
            self._changed.notify_all()


def without_pause(waiting: list[Received], by_ns: int, until_ns: int) -> list[Received]:
    """Return what of these is still to come when the `by_ns` before `until_ns` shall not count.

    What arrived before the pause is moved by its length. A live stream goes on in a pause; of what arrived then, only
    the newest is kept, as of its end.
    """
    began_ns = until_ns - by_ns
    before = [received for received in waiting if received.arrive_ns < began_ns]
    during = [received for received in waiting if began_ns <= received.arrive_ns < until_ns]
    after = [received for received in waiting if received.arrive_ns >= until_ns]
    for received in before:
        received.arrive_ns += by_ns
    for newest in during[-1:]:
        newest.arrive_ns = until_ns
        newest.gap = next((received.gap for received in during if received.gap), "")
    return [*before, *during[-1:], *after]
