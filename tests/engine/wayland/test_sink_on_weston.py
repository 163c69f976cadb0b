"""The swapchain sink on a real compositor: it paces FIFO, drops what MAILBOX must drop, and tells when it showed what.

Headless Weston refreshes when a timer says so, a little slower than the 60 Hz that it announces; so times are compared
with the refresh period that is measured, never with 16.67 ms.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from app.config.sink_text import WaylandSpec
from app.core.errors import SinkError
from app.core.vocabulary import DisplayTimeSource, Fate, PresentMode
from app.engine.frame import Frame
from app.engine.sinks.sink import Settled, SinkRequest
from app.engine.sinks.swapchain import SwapchainSink, open_swapchain_sink
from app.engine.vulkan.surface import WaylandSurface
from tests.engine.vulkan import reference
from tests.support.disturbance import again_if_disturbed
from tests.support.flat_resources import assert_resources_stay_flat
from tests.support.weston import HEIGHT, WIDTH, Weston, use

SECOND_NS = 1_000_000_000
PATIENCE_NS = 10 * SECOND_NS
HANG_S = 30.0
FORM = reference.picture_format(64, 48)
PICTURE = reference.make_picture(FORM, reference.random_codes(FORM))
SLOTS = 4
SMALL = WaylandSpec(320, 180)

OpenSink = Callable[..., SwapchainSink]


@pytest.fixture
def open_sink() -> Iterator[OpenSink]:
    """Opens sinks with the validation layer; at the end each is closed, empty and without a validation message."""
    opened: list[SwapchainSink] = []

    def open_one(mode: PresentMode, spec: WaylandSpec = SMALL) -> SwapchainSink:
        sink = open_swapchain_sink(spec, SinkRequest(mode, 3), validation=True, device="")
        opened.append(sink)
        fill(sink)
        return sink

    yield open_one
    for sink in opened:
        sink.close()
        assert sink.validation_messages() == []
        assert sink.live_objects() == {}


def fill(sink: SwapchainSink) -> None:
    """Give the sink pictures to show."""
    sink.prepare(FORM, SLOTS)
    for slot in range(SLOTS):
        sink.upload(PICTURE, slot)


def show(sink: SwapchainSink, count: int, first_id: int = 0, interval_ns: int = 0) -> list[Settled]:
    """Present `count` frames, as fast as the sink takes them or on a grid, and return all that settled."""
    settled: list[Settled] = []
    began_ns = time.monotonic_ns()
    for number in range(count):
        time.sleep(max(0, began_ns + number * interval_ns - time.monotonic_ns()) / SECOND_NS)
        image = sink.acquire(time.monotonic_ns() + PATIENCE_NS)
        assert image is not None
        sink.present([a_frame(first_id + number)], image)
        settled += sink.collect()
    return [*settled, *sink.drain(time.monotonic_ns() + PATIENCE_NS)]


def a_frame(frame_id: int) -> Frame:
    frame = Frame()
    frame.reset(frame_id)
    frame.slot = frame_id % SLOTS
    return frame


def displayed_ns(settled: Sequence[Settled]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array([each.frame.displayed_ns for each in settled if each.fate is Fate.DISPLAYED], np.int64)


def refresh_period_ns(sink: SwapchainSink) -> float:
    """Return the compositor's refresh period: pictures that come twice as fast are shown one a refresh."""
    return float(np.median(np.diff(displayed_ns(show(sink, 80, interval_ns=SECOND_NS // 120)))))


def test_every_display_time_is_the_compositors_and_they_rise(wayland_display: Weston, open_sink: OpenSink) -> None:
    sink = open_sink(PresentMode.FIFO)
    settled = show(sink, 60)
    assert sorted(each.frame.frame_id for each in settled) == list(range(60))
    assert {each.fate for each in settled} == {Fate.DISPLAYED}
    assert {each.frame.display_time_source for each in settled} == {DisplayTimeSource.PRESENTATION_FEEDBACK}
    assert np.all(np.diff(displayed_ns(settled)) > 0)
    for frame, _ in settled:
        assert frame.present_call_ns < frame.displayed_ns
    info = sink.info
    assert (info.kind, info.display_time_source) == ("wayland", "presentation_feedback")
    assert (info.width, info.height) == (SMALL.width, SMALL.height)


@again_if_disturbed
def test_fifo_shows_one_picture_a_refresh_and_is_known_to_pace(wayland_display: Weston, open_sink: OpenSink) -> None:
    period_ns = refresh_period_ns(open_sink(PresentMode.MAILBOX))
    sink = open_sink(PresentMode.FIFO)
    assert sink.info.paces_fifo is True
    refreshes = np.diff(displayed_ns(show(sink, 120))[10:]) / period_ns
    assert np.median(refreshes) == pytest.approx(1, abs=0.05)
    assert np.percentile(refreshes, 90) == pytest.approx(1, abs=0.1)


@again_if_disturbed
@pytest.mark.parametrize("times_faster", [2, 4])
def test_mailbox_loses_what_comes_faster_than_the_refresh(
    wayland_display: Weston, open_sink: OpenSink, times_faster: int
) -> None:
    sink = open_sink(PresentMode.MAILBOX)
    period_ns = refresh_period_ns(sink)
    settled = show(sink, 240, first_id=80, interval_ns=round(period_ns / times_faster))
    lost = [each.fate is Fate.SUPERSEDED for each in settled]
    assert {each.fate for each in settled} <= {Fate.DISPLAYED, Fate.SUPERSEDED}
    assert np.mean(lost) == pytest.approx(1 - 1 / times_faster, abs=0.03)


def test_free_running_mailbox_answers_for_every_picture(wayland_display: Weston, open_sink: OpenSink) -> None:
    settled = show(open_sink(PresentMode.MAILBOX), 2000)
    assert sorted(each.frame.frame_id for each in settled) == list(range(2000))
    assert {each.fate for each in settled} == {Fate.DISPLAYED, Fate.SUPERSEDED}
    assert np.all(np.diff(displayed_ns(settled)) > 0)


def test_a_window_that_is_maximised_and_restored_is_followed_without_a_protocol_error(
    wayland_display: Weston, open_sink: OpenSink
) -> None:
    sink = open_sink(PresentMode.FIFO)
    first_ids = itertools.count(0, 10)
    for request, size in [("set_maximized", (WIDTH, HEIGHT)), ("unset_maximized", (SMALL.width, SMALL.height))] * 3:
        ask_of_window(sink, request)
        deadline_ns = time.monotonic_ns() + PATIENCE_NS
        while (sink.info.width, sink.info.height) != size:
            assert len(show(sink, 1, next(first_ids))) == 1
            assert time.monotonic_ns() < deadline_ns, f"the size is still {sink.info.width}×{sink.info.height}"
        show(sink, 5, next(first_ids))


def ask_of_window(sink: SwapchainSink, request: str) -> None:
    """Ask the compositor for a state of the window, as a person would with a key or a button of the title bar."""
    surface = sink._surface
    assert isinstance(surface, WaylandSurface)
    connection, window = surface._connection, surface._window
    connection.send(window._toplevel, "xdg_toplevel", request)
    connection.flush()


@pytest.mark.parametrize("mode", [PresentMode.FIFO, PresentMode.MAILBOX])
def test_a_compositor_that_is_killed_ends_the_run_with_a_sentence(
    own_weston: Weston, open_sink: OpenSink, mode: PresentMode
) -> None:
    sink = open_sink(mode)
    show(sink, 5)
    errors: list[SinkError] = []

    def present_on() -> None:
        try:
            for frame_id in itertools.count(5):
                image = sink.acquire(time.monotonic_ns() + SECOND_NS)
                if image is not None:
                    sink.present([a_frame(frame_id)], image)
                sink.collect()
        except SinkError as error:
            errors.append(error)

    presenting = threading.Thread(target=present_on, daemon=True)
    presenting.start()
    time.sleep(0.2)
    own_weston.process.kill()
    presenting.join(HANG_S)
    assert not presenting.is_alive(), "the present loop hangs"
    assert "compositor ended" in str(errors[0])


@pytest.mark.parametrize("mode", [PresentMode.MAILBOX, PresentMode.FIFO])
def test_a_window_that_nobody_sees_holds_nothing_up(
    monkeypatch: pytest.MonkeyPatch, open_sink: OpenSink, mode: PresentMode
) -> None:
    # The kiosk shell shows the window that has the keyboard, and a compositor without a screen has no keyboard. In FIFO
    # the opening has given the one picture that is taken without being asked for.
    server = Weston("kiosk-shell.so")
    use(server, monkeypatch)
    try:
        sink = open_sink(mode)
        images = []
        for number in range(5):
            image = sink.acquire(time.monotonic_ns() + SECOND_NS // 10)
            if image is not None:
                sink.present([a_frame(number)], image)
                images.append(image)
        held_back = mode is PresentMode.FIFO and sink._surface.frame_callbacks is not None
        assert len(images) == (0 if held_back else 5)
        settled = sink.drain(time.monotonic_ns() + SECOND_NS // 10)
        assert {each.fate for each in settled} <= {Fate.SUPERSEDED}
        sink.close()
    finally:
        server.close()


def test_reopening_the_sink_leaves_resources_flat(wayland_display: Weston) -> None:
    def reopen(_turn: int) -> None:
        # In MAILBOX: opening in FIFO also finds out whether it paces, which takes half a second.
        sink = open_swapchain_sink(SMALL, SinkRequest(PresentMode.MAILBOX, 3), validation=False, device="")
        fill(sink)
        show(sink, 2)
        sink.close()

    assert_resources_stay_flat(reopen)
