"""Display times by the X Present extension: the server's word on when it showed each pixmap given to a window.

Any client may listen to the completions of another's presents, and hardware drivers present by PresentPixmap. Software
Vulkan mostly does not (without DRI3 it copies with PutImage), so completions are believed only once they prove to
belong to our presents.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from cffi import FFI  # type: ignore[import-untyped]  # cffi ships no types

from app.core.clock import NO_STAMP_NS, NS_PER_MS
from app.core.errors import SinkError
from app.core.vocabulary import DisplayTimeSource
from app.engine.vulkan.display_time import DisplayTimes, Shown, overtaken
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.swapchain import Swapchain
from app.engine.vulkan.xcb import XConnection

_DECLARATIONS: Final = """
typedef struct { const char *name; int global_id; } xcb_extension_t;
typedef struct { uint8_t response_type; uint8_t pad0; uint16_t sequence; uint32_t length; uint8_t present;
    uint8_t major_opcode; uint8_t first_event; uint8_t first_error; } xcb_query_extension_reply_t;
typedef struct { unsigned int sequence; } xcb_void_cookie_t;
const xcb_query_extension_reply_t *xcb_get_extension_data(void *c, xcb_extension_t *extension);
void *xcb_register_for_special_xge(void *c, xcb_extension_t *extension, uint32_t eid, uint32_t *stamp);
void xcb_unregister_for_special_event(void *c, void *queue);
void *xcb_poll_for_special_event(void *c, void *queue);
uint32_t xcb_generate_id(void *c);
int xcb_flush(void *c);
void free(void *p);
"""

_PRESENT_DECLARATIONS: Final = """
extern xcb_extension_t xcb_present_id;
xcb_void_cookie_t xcb_present_select_input(void *c, uint32_t eid, uint32_t window, uint32_t event_mask);
"""

# xcb puts `full_sequence` behind the first 32 bytes of an event, in the middle of this one.
_EVENT: Final = """
typedef struct { uint8_t response_type; uint8_t extension; uint16_t sequence; uint32_t length; uint16_t event_type;
    uint8_t kind; uint8_t mode; uint32_t event; uint32_t window; uint32_t serial; uint64_t ust;
    uint32_t full_sequence; uint64_t msc; } xcb_present_complete_notify_event_t;
"""

_COMPLETE_NOTIFY: Final = 1
_COMPLETE_NOTIFY_MASK: Final = 2
_MOST_OPEN: Final = 64
"""With so many pictures open this driver is one that does not present by PresentPixmap: it is not listened to again."""

_KIND_PIXMAP: Final = 0
_MODE_SKIP: Final = 2
_NS_PER_US: Final = 1_000
_SERIALS: Final = 1 << 32


class Completion(NamedTuple):
    """A pixmap that the server is done with.

    Attributes:
        serial: as the presenting client numbered it, 32 bits.
        displayed_ns: CLOCK_MONOTONIC ns, to the microsecond.
        skipped: it was never shown.
    """

    serial: int
    displayed_ns: int
    skipped: bool


class XPresentEvents:
    """Listens to the presents of a window, whoever makes them, on a connection of its own. One thread."""

    def __init__(self, window: int, display: str = "") -> None:
        """Begin to listen.

        Raises:
            SinkError: no X server, or one without the Present extension, or no libxcb-present.
        """
        self._ffi, self._xcb, self._present = _open_libraries()
        self._connection = XConnection(display)
        self._pointer = self._ffi.cast("void *", self._connection.address)
        extension = self._ffi.addressof(self._present, "xcb_present_id")
        known = self._xcb.xcb_get_extension_data(self._pointer, extension)
        if known == self._ffi.NULL or not known.present:
            self._connection.close()
            raise SinkError("The X server has no Present extension; update it, or do without its display times.")
        event_id = self._xcb.xcb_generate_id(self._pointer)
        self._queue = self._xcb.xcb_register_for_special_xge(self._pointer, extension, event_id, self._ffi.NULL)
        self._present.xcb_present_select_input(self._pointer, event_id, window, _COMPLETE_NOTIFY_MASK)
        # A round trip, so that the presents that follow are listened to.
        self._connection.window_size(window)

    def take(self) -> Completion | None:
        """Return the next completion that has arrived, None when there is none. Never blocks."""
        while True:
            event = self._xcb.xcb_poll_for_special_event(self._pointer, self._queue)
            if event == self._ffi.NULL:
                return None
            completion = self._read(event)
            self._xcb.free(event)
            if completion is not None:
                return completion

    def close(self) -> None:
        """End the connection. A second call does nothing."""
        if self._queue is not None:
            self._xcb.xcb_unregister_for_special_event(self._pointer, self._queue)
            self._queue = None
            self._connection.close()

    def _read(self, event: Any) -> Completion | None:
        notify = self._ffi.cast("xcb_present_complete_notify_event_t *", event)
        if notify.event_type != _COMPLETE_NOTIFY or notify.kind != _KIND_PIXMAP:
            return None
        stamp_ns = int(notify.ust) * _NS_PER_US
        return Completion(int(notify.serial), stamp_ns, notify.mode == _MODE_SKIP)


class XCompletionTimes(DisplayTimes):
    """Display times from the completions of a window.

    The client that presents is the driver, whose serials we do not know: the first completion behind a rebuild is taken
    for the oldest picture open, and the distance between the two counts from then on. Were it wrong, stamps would lie
    before their own present call.
    """

    source = DisplayTimeSource.X_PRESENT_COMPLETION
    needs_proof = True

    def __init__(self, events: XPresentEvents) -> None:
        self._events = events
        self._swapchain: Swapchain | None = None
        self._open: dict[int, Presentation] = {}
        self._distance: int | None = None
        self._is_silent = False
        self._untold: list[Shown] = []

    def rebuilt(self, swapchain: Swapchain) -> None:
        """Learn the serials anew: each swapchain counts its own."""
        if swapchain is not self._swapchain:
            self._swapchain = swapchain
            self._distance = None

    def presented(self, presentation: Presentation) -> None:
        """Wait for the completion of this picture, unless none has come in a long time."""
        self._is_silent = self._is_silent or len(self._open) >= _MOST_OPEN
        if self._is_silent:
            self.abandon()
            self._untold.append(Shown(presentation, NO_STAMP_NS))
        else:
            self._open[presentation.serial] = presentation

    def collect(self) -> Sequence[Shown]:
        """Return what the server has completed."""
        shown, self._untold = self._untold, []
        while self._open and (completion := self._events.take()) is not None:
            serial = self._serial_of(completion)
            presentation = None if serial is None else self._open.pop(serial, None)
            if presentation is None:
                continue
            if completion.skipped:
                shown.append(Shown(presentation, NO_STAMP_NS, discarded=True))
            else:
                shown.append(Shown(presentation, completion.displayed_ns))
                shown += overtaken(self._open, presentation.serial)
        return shown

    def abandon(self) -> None:
        """Wait for no completion any longer."""
        self._untold += [Shown(presentation, NO_STAMP_NS) for presentation in self._open.values()]
        self._open.clear()

    def close(self) -> None:
        """Stop listening."""
        self._events.close()

    def _serial_of(self, completion: Completion) -> int | None:
        """Return the serial of the picture that a completion is of, None for one of before the last rebuild."""
        oldest = next(iter(self._open))
        if self._distance is None:
            if completion.displayed_ns < self._open[oldest].call_ns - NS_PER_MS:
                return None
            self._distance = oldest - completion.serial
        return oldest + _nearest_to_zero(completion.serial + self._distance - oldest)


def _nearest_to_zero(difference: int) -> int:
    """Return a difference of 32-bit serials as the nearest one, over a wrap."""
    return (difference + _SERIALS // 2) % _SERIALS - _SERIALS // 2


@lru_cache(maxsize=1)
def _open_libraries() -> tuple[Any, Any, Any]:
    ffi = FFI()
    ffi.cdef(_DECLARATIONS + _PRESENT_DECLARATIONS)
    ffi.cdef(_EVENT, packed=True)
    try:
        return ffi, ffi.dlopen("libxcb.so.1"), ffi.dlopen("libxcb-present.so.0")
    except OSError as error:
        raise SinkError(f"libxcb-present is missing ({error}); install the package libxcb-present0.") from error
