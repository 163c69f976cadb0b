from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from app.config.sink_text import HeadlessSpec, X11Spec
from app.core.clock import NO_STAMP_NS
from app.core.errors import SinkError
from app.core.vocabulary import DisplayTimeSource, Fate, PresentMode
from app.engine.frame import Frame
from app.engine.sinks import swapchain
from app.engine.sinks.sink import Settled, SinkRequest
from app.engine.sinks.swapchain import SwapchainSink, open_swapchain_sink
from app.engine.vulkan.display_time import CallReturns, Shown
from app.engine.vulkan.pacing import Pacing
from app.engine.vulkan.results import DEVICE_LOST, OUT_OF_DATE, VulkanError
from app.engine.vulkan.surface import HeadlessSurface, WindowClosedError
from tests.engine.vulkan import reference
from tests.engine.vulkan.conftest import read_png
from tests.engine.vulkan.faults import answering, replaced
from tests.engine.vulkan.presentations import Played
from tests.support.flat_resources import assert_resources_stay_flat
from tests.support.window_owner import WindowOwner
from tests.support.x_server import XServer

SECOND_NS = 1_000_000_000
MADE_AS_NEEDED = ("Fence", "CommandBuffer")
"""How many of these there are depends on how many pictures were ever in flight at once; tests bound them instead."""
FIFO = SinkRequest(PresentMode.FIFO, 3)
FORM = reference.picture_format(64, 48)
CODES = reference.random_codes(FORM)
PICTURE = reference.make_picture(FORM, CODES)
SLOTS = 4

OpenSink = Callable[..., SwapchainSink]


@pytest.fixture
def open_sink() -> Iterator[OpenSink]:
    """Opens sinks with the validation layer; at the end each is closed, empty and without a validation message."""
    opened: list[SwapchainSink] = []

    def open_one(spec: HeadlessSpec | X11Spec, request: SinkRequest = FIFO, tiles: int = 1) -> SwapchainSink:
        sink = open_swapchain_sink(spec, request, validation=True, device="", tiles=tiles)
        opened.append(sink)
        for tile in range(tiles):
            sink.prepare(FORM, SLOTS, tile)
            for slot in range(SLOTS):
                sink.upload(PICTURE, slot, tile)
        return sink

    yield open_one
    for sink in opened:
        sink.close()
        assert sink.validation_messages() == []
        assert sink.live_objects() == {}


@pytest.fixture
def connection(x_display: str) -> Iterator[WindowOwner]:
    """Another client of the X server: the GUI that owns the window."""
    client = WindowOwner(x_display)
    yield client
    client.close()


def show(sink: SwapchainSink, count: int, first_id: int = 0) -> list[Settled]:
    """Present `count` frames and return all that settled."""
    settled: list[Settled] = []
    for frame_id in range(first_id, first_id + count):
        image = sink.acquire(time.monotonic_ns() + 5 * SECOND_NS)
        assert image is not None
        frame = Frame()
        frame.reset(frame_id)
        frame.slot = frame_id % SLOTS
        sink.present([frame], image)
        settled += sink.collect()
    return [*settled, *sink.drain(time.monotonic_ns() + 5 * SECOND_NS)]


def show_until_it_fails(sink: SwapchainSink, first_id: int) -> None:
    """Present frame by frame: a fault of the window is seen at one of the next few, by an X event or by the driver."""
    for frame_id in range(first_id, first_id + 1000):
        show(sink, 1, frame_id)


def test_every_frame_settles_once_in_order_with_stamps_in_pipeline_order(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    settled = show(sink, 30)
    assert [each.frame.frame_id for each in settled] == list(range(30))
    assert sink.pending() == []
    for frame, fate in settled:
        assert fate is Fate.DISPLAYED
        stamps = [frame.submit_ns, frame.present_call_ns, frame.present_return_ns, frame.displayed_ns]
        assert stamps[:3] == sorted(stamps[:3])
        assert NO_STAMP_NS < frame.gpu_start_ns <= frame.gpu_end_ns
        assert frame.displayed_ns >= frame.present_call_ns
        assert frame.display_time_source == DisplayTimeSource.PRESENT_FENCE
        assert frame.refreshes == -1


def present_tiles(sink: SwapchainSink, frame_id: int, tiles: Sequence[int]) -> None:
    """Present a picture with one new frame in each of these tiles."""
    image = sink.acquire(time.monotonic_ns() + 5 * SECOND_NS)
    assert image is not None
    frames = [Frame(frame_id) for _ in tiles]
    for tile, frame in zip(tiles, frames, strict=True):
        frame.source_index, frame.slot = tile, frame_id % SLOTS
    sink.present(frames, image)


def test_every_frame_of_a_picture_settles_with_the_stamps_of_the_picture(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48), tiles=3)
    shown = [(0, 1, 2), (1,), (0, 2), (2,)]
    for frame_id, tiles in enumerate(shown):
        present_tiles(sink, frame_id, tiles)
    settled = sink.drain(time.monotonic_ns() + 5 * SECOND_NS)
    assert [(each.frame.frame_id, each.frame.source_index) for each in settled] == [
        (frame_id, tile) for frame_id, tiles in enumerate(shown) for tile in tiles
    ]
    stamps = {each.frame.frame_id: each.frame for each in settled}
    for frame, fate in settled:
        assert fate is Fate.DISPLAYED
        other = stamps[frame.frame_id]
        assert frame.displayed_ns == other.displayed_ns >= frame.present_call_ns == other.present_call_ns
        assert NO_STAMP_NS < frame.gpu_start_ns == other.gpu_start_ns


def test_a_refused_picture_hands_its_frames_on_to_the_next_that_does_not_replace_them(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48), tiles=2)
    present_tiles(sink, 0, (0, 1))
    with replaced(sink._device.functions, "vkQueuePresentKHR", answering(OUT_OF_DATE)):
        present_tiles(sink, 1, (0, 1))
    present_tiles(sink, 2, (1,))
    fates = {
        (each.frame.frame_id, each.frame.source_index): each.fate
        for each in sink.drain(time.monotonic_ns() + 5 * SECOND_NS)
    }
    assert fates == {
        (0, 0): Fate.DISPLAYED,
        (0, 1): Fate.DISPLAYED,
        (1, 0): Fate.DISPLAYED,
        (1, 1): Fate.COMPOSITOR_DISCARDED,
        (2, 1): Fate.DISPLAYED,
    }
    assert sink.pending() == []


def test_the_last_picture_refused_settles_at_the_end_without_an_heir(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48), tiles=2)
    present_tiles(sink, 0, (0, 1))
    with replaced(sink._device.functions, "vkQueuePresentKHR", answering(OUT_OF_DATE)):
        present_tiles(sink, 1, (1,))
    settled = sink.drain(time.monotonic_ns() + 5 * SECOND_NS)
    assert [each.fate for each in settled] == [Fate.DISPLAYED, Fate.DISPLAYED, Fate.COMPOSITOR_DISCARDED]


def test_the_sink_says_what_was_granted_and_why(open_sink: OpenSink) -> None:
    info = open_sink(HeadlessSpec(320, 200), SinkRequest(PresentMode.IMMEDIATE, 2)).info
    assert (info.kind, info.width, info.height) == ("headless", 320, 200)
    assert info.present_mode_requested == "IMMEDIATE"
    assert info.present_mode_granted in info.available_modes
    assert "IMMEDIATE" in info.grant_reason
    assert info.image_count >= 2
    assert info.display_time_source == "present_fence"
    assert info.refresh_hz is None
    assert info.rebuild_ms is None


@pytest.mark.parametrize(
    "spec",
    [HeadlessSpec(64, 48), X11Spec(None, 64, 48), X11Spec(None, 1900, 1000)],
    ids=["headless", "x11", "x11-large"],
)
def test_fifo_that_does_not_pace_is_found_out(
    open_sink: OpenSink, x_display: str, spec: HeadlessSpec | X11Spec
) -> None:
    info = open_sink(spec).info
    assert info.present_mode_granted == "FIFO"
    assert info.paces_fifo is False


def test_acquire_gives_up_at_its_deadline_when_nothing_can_be_presented(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    sink.resize(0, 48)
    assert sink.acquire(time.monotonic_ns() + SECOND_NS // 100) is None
    sink.resize(32, 24)
    assert len(show(sink, 3)) == 3
    assert (sink.info.width, sink.info.height) == (32, 24)


def test_an_image_acquired_and_not_presented_is_given_again(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    first = sink.acquire(time.monotonic_ns() + SECOND_NS)
    assert sink.acquire(time.monotonic_ns() + SECOND_NS) == first
    assert len(show(sink, 2)) == 2


def test_an_image_acquired_and_not_presented_survives_no_rebuild_and_no_close(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    assert sink.acquire(time.monotonic_ns() + SECOND_NS) is not None
    sink.rebuild(SinkRequest(PresentMode.MAILBOX, 5))
    assert len(show(sink, 8)) == 8
    assert sink.acquire(time.monotonic_ns() + SECOND_NS) is not None


def test_a_capture_shows_the_last_presented_picture_at_the_size_on_the_screen(
    open_sink: OpenSink, tmp_path: Path
) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    with pytest.raises(SinkError, match="capture again"):
        sink.start_capture(tmp_path / "early.png")
    show(sink, 7)
    capture = sink.start_capture(tmp_path / "shown.png")
    capture.finish()
    assert capture.frame_id == 6
    assert np.abs(read_png(tmp_path / "shown.png") - reference.convert(FORM, CODES)).max() <= 3
    assert len(show(sink, 5, first_id=7)) == 5
    pending = sink.start_capture(tmp_path / "later.png")
    pending.finish()
    assert pending.done
    assert (pending.frame_id, pending.width, pending.height) == (11, 64, 48)
    assert np.array_equal(read_png(tmp_path / "later.png"), read_png(tmp_path / "shown.png"))


def test_frames_go_on_while_captures_are_written_and_each_shows_its_frame(open_sink: OpenSink, tmp_path: Path) -> None:
    form = reference.picture_format(64, 48, planes=1, shift=(0, 0), full_range=True)
    sink = open_sink(HeadlessSpec(64, 48))
    sink.prepare(form, SLOTS)
    captures = []
    for frame_id in range(24):
        shade = [np.full((48, 64), 10 * frame_id, np.uint16)]
        sink.upload(reference.make_picture(form, shade), frame_id % SLOTS)
        show(sink, 1, first_id=frame_id)
        captures.append(sink.start_capture(tmp_path / f"{frame_id}.png"))
    for frame_id, capture in enumerate(captures):
        capture.finish()
        assert capture.frame_id == frame_id
        assert np.all(read_png(capture.path) == 10 * frame_id)


def test_a_capture_under_way_outlives_a_new_format_a_resize_and_the_sink(open_sink: OpenSink, tmp_path: Path) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    captures = []
    for turn, form in enumerate([reference.picture_format(64, 48, planes=2), FORM, FORM]):
        show(sink, 2)
        captures.append(sink.start_capture(tmp_path / f"{turn}.png"))
        sink.prepare(form, SLOTS)
        sink.resize(64 + turn, 48)
    sink.close()
    assert all(capture.done for capture in captures)
    for capture in captures:
        capture.finish()
        assert read_png(capture.path).shape == (capture.height, capture.width, 3)


def test_a_capture_that_cannot_be_written_says_where(open_sink: OpenSink, tmp_path: Path) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    show(sink, 1)
    with pytest.raises(SinkError, match=r"nowhere/shown\.png: cannot be written"):
        sink.start_capture(tmp_path / "nowhere" / "shown.png").finish()


def test_fifty_present_mode_changes_leave_nothing_behind(open_sink: OpenSink, x_display: str) -> None:
    sink = open_sink(X11Spec(None, 64, 48))
    modes = [PresentMode(name) for name in sink.info.available_modes]
    assert set(modes) >= {PresentMode.FIFO, PresentMode.IMMEDIATE, PresentMode.MAILBOX}
    before = None
    for turn, mode in zip(range(52), itertools.cycle(modes)):
        started_ns = time.monotonic_ns()
        sink.rebuild(SinkRequest(mode, 4 + turn % 3))
        assert sink.info.present_mode_granted == mode
        assert sink.info.rebuild_ms is not None
        assert sink.info.rebuilds == turn + 1
        assert len(show(sink, 2)) == 2
        assert time.monotonic_ns() - started_ns < 5 * SECOND_NS  # a hang, not a slow machine
        if turn % 12 == 3:  # the same mode and image count again
            objects = {kind: n for kind, n in sink.live_objects().items() if kind not in MADE_AS_NEEDED}
            assert before in (None, objects)
            before = objects


def test_a_mode_that_the_swapchain_lists_as_live_is_changed_to_between_two_frames_without_a_rebuild(
    open_sink: OpenSink, x_display: str
) -> None:
    sink = open_sink(X11Spec(None, 64, 48), SinkRequest(PresentMode.FIFO, 5))
    assert set(sink.info.live_modes) == set(sink.info.available_modes)
    swapchain = sink._swapchain
    for turn, name in zip(range(40), itertools.cycle(sink.info.live_modes)):
        sink.rebuild(SinkRequest(PresentMode(name), 5))
        assert (sink.info.present_mode_granted, sink.info.grant_reason) == (name, "")
        assert len(show(sink, 3, first_id=3 * turn)) == 3
    assert sink._swapchain is swapchain
    assert (sink.info.rebuild_ms, sink.info.rebuilds) == (None, 0)


def test_a_mode_that_needs_more_images_than_there_are_is_not_live_and_takes_a_rebuild(
    open_sink: OpenSink, x_display: str
) -> None:
    sink = open_sink(X11Spec(None, 64, 48), SinkRequest(PresentMode.FIFO, 3))
    assert "MAILBOX" not in sink.info.live_modes
    sink.rebuild(SinkRequest(PresentMode.MAILBOX, 3))
    assert sink.info.present_mode_granted == "MAILBOX"
    assert sink.info.rebuild_ms is not None


def test_a_driver_without_swapchain_maintenance_has_no_live_modes(x_display: str) -> None:
    without = ("VK_EXT_swapchain_maintenance1",)
    sink = open_swapchain_sink(X11Spec(None, 64, 48), FIFO, validation=True, device="", without=without)
    try:
        assert sink.info.live_modes == []
        sink.rebuild(SinkRequest(PresentMode.IMMEDIATE, 3))
        assert sink.info.rebuild_ms is not None
    finally:
        sink.close()
    assert sink.validation_messages() == []


def test_what_asks_for_no_other_swapchain_rebuilds_nothing(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    swapchain = sink._swapchain
    for request in (FIFO, FIFO._replace(command_buffers="record"), FIFO._replace(command_buffers="reuse")):
        sink.rebuild(request)
        assert len(show(sink, 5)) == 5
    assert sink._swapchain is swapchain
    # Headless surfaces of Mesa 25 have no FIFO_RELAXED: asked for, it is answered by what is there already.
    sink.rebuild(SinkRequest(PresentMode.FIFO_RELAXED, 3))
    assert sink._swapchain is swapchain
    assert (sink.info.present_mode_requested, sink.info.present_mode_granted) == ("FIFO_RELAXED", "FIFO")
    assert "FIFO_RELAXED" in sink.info.grant_reason


@pytest.fixture
def feedback(monkeypatch: pytest.MonkeyPatch) -> Played:
    """Makes the display times of a headless surface those of a compositor that answers what the test says."""
    played = Played(DisplayTimeSource.PRESENTATION_FEEDBACK)
    monkeypatch.setattr(swapchain, "list_display_sources", lambda *_where: [played, CallReturns()])
    return played


class Callbacks:
    """Frame callbacks of a compositor that wants pictures when the test says so."""

    def __init__(self) -> None:
        self.asked = 0
        self.wants = True

    def request(self) -> None:
        self.asked += 1

    def withdraw(self) -> None:
        self.asked -= 1

    def wait(self, deadline_ns: int) -> bool:
        time.sleep(0 if self.wants else max(0, deadline_ns - time.monotonic_ns()) / SECOND_NS)
        return self.wants


@pytest.fixture
def callbacks(monkeypatch: pytest.MonkeyPatch) -> Callbacks:
    """Makes the headless surface one whose FIFO presents may never return."""
    made = Callbacks()
    monkeypatch.setattr(HeadlessSurface, "frame_callbacks", made)
    return made


def present_one(sink: SwapchainSink, frame_id: int) -> None:
    image = sink.acquire(time.monotonic_ns() + SECOND_NS)
    assert image is not None
    frame = Frame(frame_id)
    frame.slot = 0
    sink.present([frame], image)


def test_no_picture_is_given_to_a_fifo_while_the_compositor_wants_none(
    open_sink: OpenSink, callbacks: Callbacks
) -> None:
    sink = open_sink(HeadlessSpec(64, 48), SinkRequest(PresentMode.FIFO, 4))
    probed = callbacks.asked
    assert probed > 0, "the probe's pictures are not to hang either"
    present_one(sink, 0)
    assert callbacks.asked == probed + 1
    callbacks.wants = False
    before_ns = time.monotonic_ns()
    assert sink.acquire(before_ns + SECOND_NS // 50) is None
    assert time.monotonic_ns() - before_ns >= SECOND_NS // 50
    callbacks.wants = True
    present_one(sink, 1)
    callbacks.wants = False
    sink.rebuild(SinkRequest(PresentMode.MAILBOX, 4))
    present_one(sink, 2)
    assert callbacks.asked == probed + 2, "no other mode waits for them"
    settled = sink.drain(time.monotonic_ns() + SECOND_NS)
    assert [(each.frame.frame_id, each.fate) for each in settled] == [(n, Fate.DISPLAYED) for n in range(3)]


def test_the_callback_of_a_picture_that_was_refused_is_not_waited_for(
    open_sink: OpenSink, callbacks: Callbacks
) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    probed = callbacks.asked
    with replaced(sink._device.functions, "vkQueuePresentKHR", answering(OUT_OF_DATE)):
        present_one(sink, 0)
    assert callbacks.asked == probed


def test_display_times_of_the_display_side_give_refresh_grid_and_rate(open_sink: OpenSink, feedback: Played) -> None:
    """A display of 50 Hz, told by the compositor; the window's screen is 60 Hz by name."""
    sink = open_sink(HeadlessSpec(64, 48), SinkRequest(PresentMode.MAILBOX, 5))
    sink.follow_screen(60.0)
    assert (sink.info.refresh_hz, sink.info.refresh_source) == (60.0, "nominal")
    assert sink.info.display_time_quality == "exact"
    assert sink.grid() is None
    first_ns = time.monotonic_ns() - 40 * 20_000_000
    for frame_id in range(40):
        present_one(sink, frame_id)
        feedback.given[-1].call_ns = first_ns + 20_000_000 * frame_id - 1_000
        feedback.said.append(Shown(feedback.given[-1], first_ns + 20_000_000 * frame_id))
        sink.collect()
    assert sink.take_notices() == []
    sink.collect()
    grid = sink.grid()
    assert grid is not None
    assert grid.period_ns == pytest.approx(20_000_000, rel=1e-4)
    assert sink.info.refresh_hz == pytest.approx(50.0, rel=1e-4)
    assert sink.info.refresh_source.startswith("measured from ")
    sink.follow_screen(144.0)
    assert sink.grid() is None
    assert sink.info.refresh_hz == 144.0


def test_a_fifo_that_outruns_the_display_is_named_once(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    sink._pacing.finding = Pacing(True, 16_666_667)  # the probe was deceived
    sink.follow_screen(60.0)
    show(sink, 70)
    (notice,) = sink.take_notices()
    assert "FIFO does not wait for the display here: 64 pictures were taken in" in notice
    sink.collect()
    assert sink.info.paces_fifo is False
    show(sink, 70, first_id=70)
    assert sink.take_notices() == []


def test_two_hundred_resizes_of_a_foreign_window_are_followed(open_sink: OpenSink, connection: WindowOwner) -> None:
    window = connection.create_window(200, 100, "owner")
    sink = open_sink(X11Spec(window, 200, 100))
    random = np.random.default_rng(7)
    settled: list[Settled] = []
    objects = {}
    for turn in range(200):
        width, height = (int(size) for size in random.integers(1, 400, 2))
        connection.resize_window(window, width, height)
        started_ns = time.monotonic_ns()
        settled += show(sink, 2, first_id=2 * turn)
        assert time.monotonic_ns() - started_ns < 5 * SECOND_NS  # a hang, not a slow machine
        if turn == 10:
            objects = sink.live_objects()
    settled += show(sink, 1, first_id=400)
    assert (sink.info.width, sink.info.height) == connection.window_size(window)
    assert [each.frame.frame_id for each in settled] == list(range(401))
    assert {kind: n for kind, n in sink.live_objects().items() if kind not in MADE_AS_NEEDED} == {
        kind: n for kind, n in objects.items() if kind not in MADE_AS_NEEDED
    }
    assert sink.live_objects()["Fence"] <= objects["Fence"] + 2
    assert sink.live_objects()["CommandBuffer"] <= 32


def test_resizes_while_frames_are_presented_are_no_validation_error(
    open_sink: OpenSink, connection: WindowOwner
) -> None:
    window = connection.create_window(200, 100, "owner")
    sink = open_sink(X11Spec(window, 200, 100))
    stop = threading.Event()

    def shake() -> None:
        for turn in itertools.count():
            if stop.is_set():
                break
            connection.resize_window(window, 100 + turn % 97, 100 + turn % 61)
            time.sleep(0.001)

    shaker = threading.Thread(target=shake)
    shaker.start()
    try:
        settled = show(sink, 300)
    finally:
        stop.set()
        shaker.join()
    assert len(settled) == 300
    assert {each.fate for each in settled} <= {Fate.DISPLAYED, Fate.COMPOSITOR_DISCARDED}


def test_a_window_destroyed_under_us_is_an_error_that_says_so(open_sink: OpenSink, connection: WindowOwner) -> None:
    window = connection.create_window(100, 100, "owner")
    sink = open_sink(X11Spec(window, 100, 100))
    show(sink, 3)
    connection.destroy_window(window)
    with pytest.raises(SinkError, match="window"):
        show_until_it_fails(sink, 3)


def test_a_window_destroyed_between_acquire_and_present_is_no_crash(
    open_sink: OpenSink, connection: WindowOwner
) -> None:
    window = connection.create_window(100, 100, "owner")
    sink = open_sink(X11Spec(window, 100, 100))
    show(sink, 3)
    image = sink.acquire(time.monotonic_ns() + SECOND_NS)
    assert image is not None
    connection.destroy_window(window)
    frame = Frame()
    frame.slot = 0

    def go_on() -> None:
        sink.present([frame], image)
        show_until_it_fails(sink, 4)

    with pytest.raises(SinkError, match="window"):
        go_on()


def test_closing_our_own_window_is_told_apart(open_sink: OpenSink, connection: WindowOwner) -> None:
    sink = open_sink(X11Spec(None, 100, 100))
    show(sink, 2)
    connection.ask_to_close(sink.window_id or 0)
    with pytest.raises(WindowClosedError, match="closed"):
        show_until_it_fails(sink, 2)


def test_a_window_that_does_not_exist_is_named(x_display: str) -> None:
    with pytest.raises(SinkError, match="0x123456"):
        open_swapchain_sink(X11Spec(0x123456, 10, 10), FIFO, validation=False, device="")


def test_no_x_server_is_an_error_with_a_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPLAY", ":4711")
    with pytest.raises(SinkError, match="--sink headless"):
        open_swapchain_sink(X11Spec(None, 10, 10), FIFO, validation=False, device="")


def test_an_x_server_that_dies_is_an_error_and_no_crash(open_sink: OpenSink, monkeypatch: pytest.MonkeyPatch) -> None:
    server = XServer("640x480x24")
    monkeypatch.setenv("DISPLAY", server.display)
    sink = open_sink(X11Spec(None, 100, 100))
    show(sink, 3)
    server.close()
    with pytest.raises(SinkError):
        show_until_it_fails(sink, 3)


def test_a_device_nobody_has_is_refused_with_the_list_of_those_found() -> None:
    with pytest.raises(SinkError, match=r"choose one of: .*llvmpipe"):
        open_swapchain_sink(HeadlessSpec(10, 10), FIFO, validation=False, device="Voodoo 2")


def test_fifty_reopenings_leave_memory_handles_and_threads_flat(x_display: str) -> None:
    def reopen(turn: int) -> None:
        spec = X11Spec(None, 64, 48) if turn % 2 else HeadlessSpec(64, 48)
        sink = open_swapchain_sink(spec, SinkRequest(PresentMode.MAILBOX, 3), validation=False, device="")
        sink.prepare(FORM, SLOTS)
        sink.upload(PICTURE, 0)
        show(sink, 4)
        sink.close()
        assert sink.live_objects() == {}

    assert_resources_stay_flat(reopen)


def test_a_driver_without_any_display_timing_gives_call_returns_and_no_gpu_times(x_display: str) -> None:
    without = ("VK_EXT_swapchain_maintenance1", "VK_EXT_calibrated_timestamps", "VK_KHR_calibrated_timestamps")
    sink = open_swapchain_sink(X11Spec(None, 64, 48), FIFO, validation=True, device="", without=without)
    try:
        sink.prepare(FORM, SLOTS)
        sink.upload(PICTURE, 0)
        assert sink.info.display_time_source == "call_return"
        for mode in (PresentMode.IMMEDIATE, PresentMode.MAILBOX, PresentMode.FIFO):
            sink.rebuild(SinkRequest(mode, 4))
            for frame, fate in show(sink, 10):
                assert fate is Fate.DISPLAYED
                assert frame.display_time_source == DisplayTimeSource.CALL_RETURN
                assert frame.displayed_ns == frame.present_return_ns
                assert frame.gpu_start_ns == frame.gpu_end_ns == NO_STAMP_NS
    finally:
        sink.close()
    assert sink.validation_messages() == []
    assert sink.live_objects() == {}


@pytest.mark.parametrize("call", ["vkQueueSubmit", "vkQueuePresentKHR", "vkAcquireNextImageKHR"])
def test_a_lost_device_is_an_error_that_says_so_and_closing_still_works(open_sink: OpenSink, call: str) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    show(sink, 3)
    lost = replaced(sink._device.functions, call, lambda _real: lambda *_arguments: DEVICE_LOST)
    with lost, pytest.raises(VulkanError, match="DEVICE_LOST; restart the engine") as caught:
        show(sink, 1, first_id=3)
    assert caught.value.is_device_lost


def test_another_thread_uploads_while_frames_are_presented(open_sink: OpenSink) -> None:
    sink = open_sink(HeadlessSpec(64, 48))
    stop = threading.Event()
    uploads = 0

    def upload() -> None:
        nonlocal uploads
        for padding in itertools.cycle((0, 64, 500, 3)):
            if stop.is_set():
                break
            sink.upload(reference.make_picture(FORM, CODES, padding), SLOTS)  # a slot that no frame in flight uses
            uploads += 1

    sink.prepare(FORM, SLOTS + 1)
    worker = threading.Thread(target=upload)
    worker.start()
    try:
        assert len(show(sink, 200)) == 200
    finally:
        stop.set()
        worker.join()
    assert uploads > 0


def test_two_sinks_do_not_know_of_each_other(open_sink: OpenSink) -> None:
    first, second = open_sink(HeadlessSpec(64, 48)), open_sink(HeadlessSpec(32, 24))
    assert len(show(first, 3)) == len(show(second, 3)) == 3
    first.close()
    assert len(show(second, 3)) == 3
