"""The simulated display obeys the present modes exactly, in simulated time."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import Fate, PresentMode
from app.engine.frame import Frame
from app.engine.sinks.sink import RefreshGrid, Settled
from app.engine.sinks.virtual_display import VirtualDisplay

HZ60_NS = 1e9 / 60
GRID = RefreshGrid(1_000_000_000, HZ60_NS)
MODES = list(PresentMode)


def refresh(index: float) -> int:
    return round(GRID.phase_ns + index * HZ60_NS)


class Screen:
    """A display driven step by step; `shown` collects (frame id, refreshes from phase, refreshes stayed)."""

    def __init__(self, mode: PresentMode, images: int = 3, grid: RefreshGrid = GRID) -> None:
        self.display = VirtualDisplay(grid, images, mode, GRID.phase_ns)
        self.settled: list[Settled] = []
        self.produced = 0

    def present(self, at: float, ready: float | None = None) -> int | None:
        """Acquire and present at `at` (in refreshes); return the frame id, or None when no image was free."""
        now_ns = refresh(at)
        self.display.advance(now_ns)
        image = self.display.take_image()
        if image is None:
            return None
        frame = Frame()
        frame.reset(self.produced)
        self.produced += 1
        self.display.present(image, [frame], refresh(at if ready is None else ready))
        return frame.frame_id

    def run_to(self, at: float) -> None:
        self.display.advance(refresh(at))
        self.settled += self.display.take_settled()

    def finish(self, at: float) -> None:
        self.run_to(at)
        self.display.settle_shown()
        self.settled += self.display.take_settled()

    def displayed(self) -> list[tuple[int, float, int]]:
        return [
            (s.frame.frame_id, round((s.frame.displayed_ns - GRID.phase_ns) / HZ60_NS, 6), s.frame.refreshes)
            for s in self.settled
            if s.fate is Fate.DISPLAYED
        ]

    def lost(self) -> list[int]:
        return [s.frame.frame_id for s in self.settled if s.fate is not Fate.DISPLAYED]


def test_fifo_shows_one_queued_image_a_refresh_in_order() -> None:
    screen = Screen(PresentMode.FIFO, images=4)
    for at in (0.1, 0.2, 0.3):
        screen.present(at)
    screen.finish(10)
    assert screen.displayed() == [(0, 1, 1), (1, 2, 1), (2, 3, -1)]


def test_fifo_waits_for_an_image_that_is_not_ready_at_the_refresh() -> None:
    screen = Screen(PresentMode.FIFO)
    screen.present(0.5, ready=1.01)
    screen.finish(3)
    assert screen.displayed() == [(0, 2, -1)]


def test_an_image_ready_exactly_at_the_refresh_makes_it() -> None:
    screen = Screen(PresentMode.FIFO)
    screen.present(0.5, ready=1)
    screen.finish(3)
    assert screen.displayed() == [(0, 1, -1)]


def test_relaxed_shows_a_late_image_at_once_and_one_in_time_at_the_refresh() -> None:
    screen = Screen(PresentMode.FIFO_RELAXED)
    for at in (0.5, 1.5, 3.25):
        screen.present(at)
    screen.finish(5)
    assert screen.displayed() == [(0, 1, 1), (1, 2, 2), (2, 3.25, -1)]


def test_relaxed_goes_back_to_refreshes_after_a_late_image() -> None:
    screen = Screen(PresentMode.FIFO_RELAXED)
    for at in (0.5, 2.25, 2.5):
        screen.present(at)
    screen.finish(5)
    assert [(frame, at) for frame, at, _ in screen.displayed()] == [(0, 1), (1, 2.25), (2, 3)]


def test_latest_ready_takes_the_newest_ready_and_discards_the_older() -> None:
    screen = Screen(PresentMode.FIFO_LATEST_READY, images=5)
    screen.present(0.1)
    screen.present(0.2)
    screen.present(0.3, ready=1.5)
    screen.finish(5)
    assert (screen.displayed(), screen.lost()) == ([(1, 1, 1), (2, 2, -1)], [0])


def test_mailbox_keeps_only_the_newest_ready_image_waiting() -> None:
    screen = Screen(PresentMode.MAILBOX)
    for at in (0.1, 0.2, 0.3):
        assert screen.present(at) is not None
    screen.finish(3)
    assert (screen.displayed(), screen.lost()) == ([(2, 1, -1)], [0, 1])


def test_mailbox_does_not_discard_for_an_image_the_gpu_has_not_finished() -> None:
    screen = Screen(PresentMode.MAILBOX)
    screen.present(0.1)
    screen.present(0.2, ready=1.5)
    screen.finish(4)
    assert (screen.displayed(), screen.lost()) == ([(0, 1, 1), (1, 2, -1)], [])


def test_mailbox_never_blocks_with_three_images() -> None:
    screen = Screen(PresentMode.MAILBOX, images=3)
    assert all(screen.present(step / 10) is not None for step in range(1, 100))


def test_mailbox_blocks_with_two_images_until_the_refresh() -> None:
    screen = Screen(PresentMode.MAILBOX, images=2)
    assert [screen.present(at) for at in (0.1, 1.1, 1.2, 2.1)] == [0, 1, None, 2]


def test_immediate_shows_at_once_and_counts_the_refreshes_that_passed() -> None:
    screen = Screen(PresentMode.IMMEDIATE)
    for at in (0.25, 0.5, 2.75):
        screen.present(at)
    screen.finish(4)
    assert screen.displayed() == [(0, 0.25, 0), (1, 0.5, 2), (2, 2.75, -1)]


def test_a_compositor_adds_its_refreshes_to_every_display_time() -> None:
    grid = RefreshGrid(GRID.phase_ns, HZ60_NS, round(2 * HZ60_NS))
    screen = Screen(PresentMode.FIFO, grid=grid)
    screen.present(0.5)
    screen.finish(3)
    assert screen.displayed() == [(0, 3, -1)]


@pytest.mark.parametrize("images", range(2, 9))
def test_saturated_fifo_shows_a_frame_images_minus_one_refreshes_after_acquire(images: int) -> None:
    screen = Screen(PresentMode.FIFO, images=images)
    acquired = {}
    for step in range(4000):
        frame = screen.present(step / 100)
        if frame is not None:
            acquired[frame] = step / 100
    screen.finish(60)
    delays = [at - acquired[frame] for frame, at, _ in screen.displayed()][images:]
    assert all(delay == pytest.approx(images - 1, abs=0.02) for delay in delays)


@given(
    st.floats(61, 1000),
    st.floats(0, 1),
)
def test_mailbox_loses_one_minus_refresh_over_rate(rate_hz: float, phase: float) -> None:
    screen = Screen(PresentMode.MAILBOX)
    count = math.ceil(rate_hz * 4)
    for number in range(count):
        screen.present(phase + number * 60 / rate_hz)
    screen.finish(1000)
    assert len(screen.lost()) / count == pytest.approx(1 - 60 / rate_hz, abs=3 / count + 0.005)


@given(
    st.sampled_from(MODES),
    st.integers(2, 8),
    st.lists(st.tuples(st.floats(0.001, 3), st.floats(0, 2.5)), max_size=60),
    st.lists(st.tuples(st.integers(0, 59), st.sampled_from(MODES), st.integers(2, 8)), max_size=4),
)
def test_every_frame_is_displayed_or_lost_once_and_images_never_run_out(
    mode: PresentMode,
    images: int,
    steps: list[tuple[float, float]],
    changes: list[tuple[int, PresentMode, int]],
) -> None:
    """Conservation under any timing, GPU delay and change of mode or image count; display order is present order."""
    screen = Screen(mode, images)
    at = gpu_done = 0.0
    for number, (gap, work) in enumerate(steps):
        at += gap
        gpu_done = max(gpu_done, at) + work
        for position, new_mode, new_images in changes:
            if position == number:
                screen.run_to(at)
                screen.display.reconfigure(new_mode, new_images)
                images = new_images
        screen.present(at, ready=gpu_done)
        screen.run_to(at)
        settled, pending = len(screen.settled), len(screen.display.pending())
        assert screen.produced == settled + pending
    screen.finish(max(at, gpu_done) + 100)
    assert screen.display.pending() == []
    assert sorted(s.frame.frame_id for s in screen.settled) == list(range(screen.produced))
    shown = screen.displayed()
    assert [frame for frame, _, _ in shown] == sorted(frame for frame, _, _ in shown)
    assert all(later[1] >= earlier[1] for earlier, later in itertools.pairwise(shown))
    assert screen.display.image_count == images


@given(st.sampled_from(MODES), st.integers(1, 40), st.integers(1, 40))
def test_it_does_not_matter_how_often_it_is_looked_at(mode: PresentMode, often: int, seldom: int) -> None:
    """Replaying late gives the same stamps as replaying at every instant."""

    def observe(looks: int) -> list[tuple[int, float, int]]:
        screen = Screen(mode)
        for number in range(20):
            screen.present(0.3 + number * 0.7)
            if number % looks == 0:
                screen.run_to(0.3 + number * 0.7 + 0.2)
        screen.finish(40)
        return screen.displayed()

    assert observe(often) == observe(seldom)


@given(st.floats(20, 1000), st.integers(0, 10**15), st.integers(-(10**12), 10**12))
def test_the_refresh_grid_agrees_with_itself(rate_hz: float, phase_ns: int, offset_ns: int) -> None:
    grid = RefreshGrid(phase_ns, 1e9 / rate_hz)
    time_ns = phase_ns + offset_ns
    at_or_after = grid.time_ns(grid.index_at_or_after(time_ns))
    before = grid.time_ns(grid.index_at_or_after(time_ns) - 1)
    assert before < time_ns <= at_or_after
    assert grid.next_after(time_ns) > time_ns
    assert abs(grid.nearest(time_ns) - time_ns) <= grid.period_ns / 2 + 1


def test_growing_and_shrinking_the_images_keeps_what_is_on_the_screen() -> None:
    screen = Screen(PresentMode.FIFO, images=4)
    for at in (0.1, 0.2, 0.3):
        screen.present(at)
    screen.run_to(1.5)
    screen.display.reconfigure(PresentMode.FIFO, 2)
    taken: list[object] = []
    take: Callable[[], int | None] = screen.display.take_image
    assert take() is None
    screen.run_to(3.5)
    taken += [image for image in (take(), take()) if image is not None]
    assert len(taken) == 1
