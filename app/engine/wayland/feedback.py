"""Presentation feedback: the compositor's own answer, a picture, to the question when it was shown."""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple

from app.core.clock import NS_PER_S
from app.engine.wayland.client import Connection, Listeners
from app.engine.wayland.library import Proxy
from app.engine.wayland.presentation_clock import PresentationClock
from app.engine.wayland.window import WaylandWindow


class Answer(NamedTuple):
    """What the compositor says about one picture.

    Attributes:
        number: as it was given to `request`.
        displayed_ns: CLOCK_MONOTONIC ns when it turned into light, as far as the compositor knows; it may lie a few ms
            in the future (a predicted flip). 0 when discarded.
        refresh_ns: the compositor's idea of the refresh period; 0 is unknown, and it may be wrong (headless Weston says
            16.67 ms and takes 17.5). Measure it from the stamps.
        discarded: the picture was replaced or hidden and never shown.
    """

    number: int
    displayed_ns: int
    refresh_ns: int
    discarded: bool


class PresentationFeedback:
    """Asks for feedback on the pictures of a window, where the compositor is `available` for it.

    `request` and `take` belong to the present thread; answers arrive on the connection's reader thread, in any order:
    `discarded` of a newer picture before `presented` of an older one. A compositor may owe the answer for a hidden
    window for ever. A request whose present then fails is answered together with the next picture's.

    Attributes:
        available: the compositor answers at all.
        unavailable: why not, "" when it does.
        requested, answered: how many so far.
        shown: how many pictures were shown so far.
    """

    def __init__(self, connection: Connection, window: WaylandWindow) -> None:
        self._connection = connection
        self._answers: deque[Answer] = deque()
        self.requested = 0
        self.answered = 0
        self.shown = 0
        presentation = connection.bound("wp_presentation")
        self._clock, self.unavailable = _open_clock(connection.clock_id if presentation is not None else None)
        self.available = self._clock is not None
        if self._clock is not None:
            self._prepare(presentation, window)

    def request(self, number: int) -> None:
        """Ask when the picture that the next vkQueuePresentKHR gives was shown; call it directly before that.

        The question is part of the surface's pending state, and Mesa commits the surface inside that call, so it
        belongs to that picture as long as nobody else commits in between.

        Args:
            number: names the picture in the answer, 0 or more.
        """
        feedback = self._marshal(*self._call)
        self._add_listener(feedback, self._listener, self._cast("void *", number))
        self.requested += 1

    def take(self) -> Answer | None:
        """Return the next answer, None when there is none yet. Never blocks."""
        return self._answers.popleft() if self._answers else None

    def _prepare(self, presentation: Proxy, window: WaylandWindow) -> None:
        """Look up once what every request needs; a request then makes one C object and no struct."""
        connection, ffi = self._connection, self._connection.ffi
        self._cast = ffi.cast
        self._marshal = connection.functions.wl_proxy_marshal_array_flags
        self._add_listener = connection.functions.wl_proxy_add_listener
        self._destroy = connection.functions.wl_proxy_destroy
        opcode, _ = connection.tables.request("wp_presentation", "feedback")
        arguments = ffi.new("union wl_argument[2]")
        arguments[0].o = window.surface
        version = connection.functions.wl_proxy_get_version(presentation)
        table = connection.tables["wp_presentation_feedback"]
        self._call = (presentation, opcode, table, version, 0, arguments)
        listeners: Listeners = {"presented": self._on_presented, "discarded": self._on_discarded}
        self._listener = connection.listener_table("wp_presentation_feedback", listeners)

    # The listeners run on the reader thread; appending to a deque needs no lock.

    def _on_presented(
        self, data: Any, feedback: Proxy, high: int, low: int, nanoseconds: int, refresh_ns: int, *_: int
    ) -> None:
        self._destroy(feedback)
        assert self._clock is not None
        displayed_ns = self._clock.to_monotonic_ns(((high << 32) | low) * NS_PER_S + nanoseconds)
        self.shown += 1
        self._answer(Answer(self._number(data), displayed_ns, refresh_ns, discarded=False))

    def _on_discarded(self, data: Any, feedback: Proxy) -> None:
        self._destroy(feedback)
        self._answer(Answer(self._number(data), 0, 0, discarded=True))

    def _answer(self, answer: Answer) -> None:
        self._answers.append(answer)
        self.answered += 1

    def _number(self, data: Any) -> int:
        return int(self._cast("uintptr_t", data))


def _open_clock(clock_id: int | None) -> tuple[PresentationClock | None, str]:
    if clock_id is None:
        return None, "the compositor has no wp_presentation"
    try:
        return PresentationClock(clock_id), ""
    except OSError:
        return None, f"the compositor stamps in clock {clock_id}, which cannot be read here"
