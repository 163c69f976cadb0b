from __future__ import annotations

import os
import time
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

import pytest
from cffi import FFI  # type: ignore[import-untyped]  # cffi ships no types
from hypothesis import given
from hypothesis import strategies as st

from app.core.clock import NO_STAMP_NS
from app.core.errors import SinkError
from app.engine.vulkan.display_time import Shown
from app.engine.vulkan.x_present import Completion, XCompletionTimes, XPresentEvents
from tests.engine.vulkan.presentations import presentation
from tests.support.window_owner import WindowOwner

_DECLARATIONS: Final = """
typedef struct { unsigned int sequence; } xcb_void_cookie_t;
uint32_t xcb_generate_id(void *c);
xcb_void_cookie_t xcb_create_pixmap(void *c, uint8_t depth, uint32_t pid, uint32_t drawable, uint16_t width,
    uint16_t height);
int xcb_flush(void *c);
"""
_PRESENT_DECLARATIONS: Final = """
xcb_void_cookie_t xcb_present_pixmap(void *c, uint32_t window, uint32_t pixmap, uint32_t serial, uint32_t valid,
    uint32_t update, int16_t x_off, int16_t y_off, uint32_t target_crtc, uint32_t wait_fence, uint32_t idle_fence,
    uint32_t options, uint64_t target_msc, uint64_t divisor, uint64_t remainder, uint32_t notifies_len,
    const void *notifies);
"""
_ASYNC: Final = 1
SECOND_NS: Final = 1_000_000_000


class PresentingClient(WindowOwner):
    """Another client that gives pixmaps to a window, as a hardware driver's swapchain does."""

    def present(self, window: int, serial: int, *, waits: bool) -> None:
        """Present a pixmap at once, or at the next refresh."""
        ffi, xcb, present = _open_libraries()
        pointer = ffi.cast("void *", self.address)
        pixmap = xcb.xcb_generate_id(pointer)
        xcb.xcb_create_pixmap(pointer, 24, pixmap, window, 64, 48)
        present.xcb_present_pixmap(
            pointer, window, pixmap, serial, 0, 0, 0, 0, 0, 0, 0, 0 if waits else _ASYNC, 0, 0, 0, 0, ffi.NULL
        )
        xcb.xcb_flush(pointer)


@pytest.fixture
def client(x_display: str) -> Iterator[PresentingClient]:
    """A client on the session's X server."""
    made = PresentingClient(x_display)
    yield made
    made.close()


def wait_for(events: XPresentEvents, count: int) -> list[Completion]:
    completions: list[Completion] = []
    deadline_ns = time.monotonic_ns() + 5 * SECOND_NS
    while len(completions) < count and time.monotonic_ns() < deadline_ns:
        completion = events.take()
        if completion is None:
            time.sleep(0.001)
        else:
            completions.append(completion)
    return completions


def test_completions_of_another_client_s_presents_come_with_its_serials_and_in_our_clock(
    client: PresentingClient,
) -> None:
    window = client.create_window(64, 48, "presented")
    events = XPresentEvents(window)
    try:
        before_ns = time.monotonic_ns()
        for serial in range(100, 130):
            client.present(window, serial, waits=True)
            (completion,) = wait_for(events, 1)
            assert completion.serial == serial
            assert not completion.skipped
            # Fake refreshes of Xvfb may be stamped a little ahead.
            assert before_ns - 20_000_000 <= completion.displayed_ns <= time.monotonic_ns() + 20_000_000
            before_ns = completion.displayed_ns
        assert events.take() is None
    finally:
        events.close()
        events.close()


def test_presents_of_other_windows_are_not_heard(client: PresentingClient) -> None:
    window, other = (client.create_window(64, 48, name) for name in ("heard", "not heard"))
    events = XPresentEvents(window)
    try:
        client.present(other, 1, waits=False)
        client.present(window, 2, waits=False)
        assert [each.serial for each in wait_for(events, 1)] == [2]
        assert events.take() is None
    finally:
        events.close()


def test_display_times_are_those_of_the_server_whatever_serial_the_driver_began_with(client: PresentingClient) -> None:
    window = client.create_window(64, 48, "presented")
    times = XCompletionTimes(XPresentEvents(window))
    try:
        times.rebuilt(object())  # type: ignore[arg-type]  # nothing is asked of it
        for number in range(20):
            picture = presentation(1000 + number, call_ns=time.monotonic_ns())
            client.present(window, 2**32 - 5 + number & 0xFFFFFFFF, waits=True)
            times.presented(picture)
            shown: list[Shown] = []
            while not shown:
                shown += times.collect()
                time.sleep(0.001)
            assert [each.presentation for each in shown] == [picture]
            assert picture.call_ns - 20_000_000 < shown[0].displayed_ns < picture.call_ns + SECOND_NS
    finally:
        times.close()


def test_a_server_that_is_not_there_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "DISPLAY", ":4711")
    with pytest.raises(SinkError, match="No X server"):
        XPresentEvents(1)


class Played:
    """Completions that the test makes up."""

    def __init__(self) -> None:
        self.waiting: list[Completion] = []

    def take(self) -> Completion | None:
        return self.waiting.pop(0) if self.waiting else None


def played() -> tuple[XCompletionTimes, Played]:
    events: Any = Played()
    return XCompletionTimes(events), events


@given(st.integers(0, 2**32 - 1), st.lists(st.booleans(), min_size=1, max_size=60))
def test_every_completion_finds_its_picture_over_a_wrap_of_the_serials(start: int, skipped: list[bool]) -> None:
    times, events = played()
    for number, is_skipped in enumerate(skipped):
        picture = presentation(number, call_ns=1_000_000 * number)
        times.presented(picture)
        stamp_ns = 1_000_000 * number + 500
        events.waiting.append(Completion((start + number) % 2**32, stamp_ns, is_skipped))
        expected = Shown(picture, NO_STAMP_NS if is_skipped else stamp_ns, discarded=is_skipped)
        assert list(times.collect()) == [expected]


def test_a_late_completion_of_the_swapchain_before_is_not_taken_for_one_of_the_new() -> None:
    times, events = played()
    times.presented(presentation(1, call_ns=10_000_000))
    times.abandon()
    assert len(list(times.collect())) == 1
    times.rebuilt(object())  # type: ignore[arg-type]  # nothing is asked of it
    picture = presentation(2, call_ns=50_000_000)
    times.presented(picture)
    events.waiting = [Completion(90, 12_000_000, skipped=False), Completion(1, 51_000_000, skipped=False)]
    assert list(times.collect()) == [Shown(picture, 51_000_000)]


def test_a_driver_that_causes_no_completions_is_not_listened_to_for_ever() -> None:
    times, events = played()
    told: list[Shown] = []
    for serial in range(500):
        times.presented(presentation(serial))
        told += times.collect()
    assert [each.presentation.serial for each in told] == list(range(500))
    assert all(each.displayed_ns == NO_STAMP_NS for each in told)
    events.waiting = [Completion(1, 1, skipped=False)]
    assert list(times.collect()) == []
    assert len(events.waiting) == 1


@lru_cache(maxsize=1)
def _open_libraries() -> tuple[Any, Any, Any]:
    ffi = FFI()
    ffi.cdef(_DECLARATIONS + _PRESENT_DECLARATIONS)
    return ffi, ffi.dlopen("libxcb.so.1"), ffi.dlopen("libxcb-present.so.0")
