"""The laws of presentation over a grid of rates, refreshes, image counts, depths and modes: predicted against observed.

Two halves. The display's own laws run on the simulated display in simulated time, so the whole grid costs seconds. The
laws of the pipeline (queue, playout, Little) need its threads: real engine processes, a few at a time.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from app.analysis.littles_law import check_littles_law
from app.analysis.summary import Missing
from app.config.sink_text import VirtualSpec
from app.core.clock import NS_PER_S
from app.core.records import FrameArray
from app.core.vocabulary import Fate, PresentMode
from app.engine.frame import Frame
from app.engine.sinks.sink import SinkRequest
from app.engine.sinks.virtual import VirtualSink
from tests.support.disturbance import again_if_disturbed
from tests.support.engine_harness import EngineHarness, of_fate

REFRESHES_HZ = (24, 25, 30, 48, 50, 60, 72, 90, 100, 120, 144, 165, 240)
IMAGES = tuple(range(2, 9))
ENGINES_AT_A_TIME = 4


class SimulatedClock:
    """A clock that stands still but for those who wait on it."""

    def __init__(self) -> None:
        self.time_ns = 1_000_000_000

    def now_ns(self) -> int:
        return self.time_ns

    def sleep_until_ns(self, deadline_ns: int) -> None:
        self.time_ns = max(self.time_ns, deadline_ns)


class SimulatedPreview:
    """A producer in front of the simulated display, in simulated time."""

    def __init__(self, mode: PresentMode, refresh_hz: float, images: int) -> None:
        self.clock = SimulatedClock()
        spec = VirtualSpec(refresh_hz, images=images, process_on_gpu=False)
        self.sink = VirtualSink(spec, SinkRequest(mode, images), self.clock)
        self.period_ns = NS_PER_S / refresh_hz
        self.settled: list[tuple[Frame, Fate]] = []
        self.produced = 0

    def present(self, at_ns: int) -> None:
        """Acquire, waiting for an image, and present a frame that arrived at `at_ns`."""
        self.clock.sleep_until_ns(at_ns)
        frame = Frame(self.produced)
        self.produced += 1
        frame.arrive_ns = at_ns
        image = self.sink.acquire(2**62)
        assert image is not None
        frame.acquire_end_ns = self.clock.now_ns()
        self.sink.present([frame], image)
        self.settled += [(settled.frame, settled.fate) for settled in self.sink.collect()]

    def ages(self, since: str) -> npt.NDArray[np.float64]:
        """Return display time − a stamp of the displayed frames, in refreshes, the first second left out."""
        shown = [frame for frame, fate in self.settled if fate is Fate.DISPLAYED]
        ages = [(frame.displayed_ns - getattr(frame, since)) / self.period_ns for frame in shown]
        return np.array(ages[len(ages) // 4 :])


@pytest.mark.parametrize("mode", [PresentMode.FIFO, PresentMode.FIFO_RELAXED])
@pytest.mark.parametrize("images", IMAGES)
def test_saturated_fifo_is_images_minus_one_refreshes_at_every_refresh_rate(mode: PresentMode, images: int) -> None:
    for refresh_hz in REFRESHES_HZ:
        preview = SimulatedPreview(mode, refresh_hz, images)
        for _ in range(100):
            preview.present(preview.clock.now_ns() + 50_000)
        assert np.median(preview.ages("acquire_end_ns")) == pytest.approx(images - 1, abs=0.1), refresh_hz


FASTER_THAN_THE_DISPLAY = [
    (source_hz, refresh_hz) for source_hz, refresh_hz in product(REFRESHES_HZ, REFRESHES_HZ) if source_hz > refresh_hz
]


@pytest.mark.parametrize("images", [3, 5, 8])
def test_mailbox_supersedes_what_the_display_cannot_show_and_shows_fresh_frames(images: int) -> None:
    """Lost fraction 1 − f_r/f_s; age at the flip s/2 on average (the GPU's time is none here)."""
    for source_hz, refresh_hz in FASTER_THAN_THE_DISPLAY:
        # Off the round value, or source and display would keep one phase for the whole test.
        rate_hz = source_hz * 1.0037
        preview = SimulatedPreview(PresentMode.MAILBOX, refresh_hz, images)
        for number in range(int(20 * rate_hz)):
            preview.present(1_000_000_000 + round(number * NS_PER_S / rate_hz))
        fates = np.array([fate for _, fate in preview.settled])
        lost_ratio = np.mean(fates == Fate.SUPERSEDED)
        assert lost_ratio == pytest.approx(1 - refresh_hz / rate_hz, abs=0.02), (source_hz, refresh_hz)
        half_interval = refresh_hz / rate_hz / 2
        assert np.mean(preview.ages("arrive_ns")) == pytest.approx(half_interval, abs=0.1), (source_hz, refresh_hz)


def test_latest_ready_shows_the_newest_frame_of_each_refresh() -> None:
    for source_hz, refresh_hz in FASTER_THAN_THE_DISPLAY:
        rate_hz = source_hz * 1.0037
        preview = SimulatedPreview(PresentMode.FIFO_LATEST_READY, refresh_hz, 16)
        for number in range(int(10 * rate_hz)):
            preview.present(1_000_000_000 + round(number * NS_PER_S / rate_hz))
        fates = np.array([fate for _, fate in preview.settled])
        assert np.mean(fates == Fate.SUPERSEDED) == pytest.approx(1 - refresh_hz / rate_hz, abs=0.02)
        assert preview.ages("arrive_ns").max() <= refresh_hz / rate_hz + 0.1


def test_immediate_shows_at_once_whatever_the_rates() -> None:
    for source_hz, refresh_hz in product(REFRESHES_HZ, REFRESHES_HZ):
        preview = SimulatedPreview(PresentMode.IMMEDIATE, refresh_hz, 3)
        for number in range(2 * source_hz):
            preview.present(1_000_000_000 + number * NS_PER_S // source_hz)
        assert preview.ages("arrive_ns").max() < 0.1


class Cell(NamedTuple):
    """One engine run: source rate (0 runs free), refresh, images, depth of the queue, mode, latency in refreshes."""

    source_hz: int
    refresh_hz: int
    images: int
    depth: int
    mode: str
    latency_refreshes: float = 3.5

    def run(self) -> FrameArray:
        config: dict[str, Any] = {
            "present_mode": self.mode,
            "frame_queue_depth": self.depth,
            "render_latency_ms": min(500, 1000 * self.latency_refreshes / self.refresh_hz),
        }
        sink = f"virtual:{self.refresh_hz},images={self.images},process=none"
        with EngineHarness(f"synthetic:32x32@{self.source_hz}", sink, config) as engine:
            engine.ready()
            # Little's law needs more than a second between the first display and the last arrival.
            frames = engine.run_frames(max(60, 3 * min(self.source_hz or self.refresh_hz, self.refresh_hz) // 2))
            engine.finish()
        return frames


def run_all(cells: list[Cell]) -> list[tuple[Cell, FrameArray]]:
    with ThreadPoolExecutor(ENGINES_AT_A_TIME) as pool:
        return list(zip(cells, pool.map(Cell.run, cells), strict=True))


PACED = [
    Cell(24, 24, 2, 4, "FIFO"),
    Cell(24, 60, 3, 4, "FIFO"),
    Cell(25, 60, 4, 5, "FIFO_RELAXED"),
    Cell(30, 72, 5, 6, "FIFO"),
    Cell(48, 144, 8, 8, "MAILBOX"),
    Cell(50, 60, 2, 4, "FIFO_LATEST_READY"),
    Cell(60, 60, 6, 5, "FIFO"),
    Cell(60, 165, 3, 8, "FIFO"),
    Cell(72, 144, 7, 6, "FIFO_RELAXED"),
    Cell(90, 120, 4, 10, "MAILBOX"),
    Cell(120, 120, 3, 8, "FIFO"),
    Cell(120, 240, 2, 16, "FIFO"),
    Cell(144, 240, 5, 16, "FIFO_LATEST_READY"),
    Cell(240, 240, 3, 16, "FIFO", latency_refreshes=6.5),
]


@again_if_disturbed
def test_a_frame_is_shown_at_the_refresh_nearest_to_its_due_time_and_littles_law_holds_over_the_grid() -> None:
    """A due time of x refreshes more is therefore a display time of x refreshes more, to whole refreshes."""
    for cell, frames in run_all(PACED):
        shown = of_fate(frames, Fate.DISPLAYED)[5:]
        error = (shown["displayed_ns"] - shown["due_ns"]) / (NS_PER_S / cell.refresh_hz)
        on_time = np.abs(error) <= 0.5 + 0.1
        assert np.mean(on_time) > 0.9, (cell, np.percentile(error, [1, 50, 99]))  # a late wake-up is no law
        assert len(shown) / len(frames[5:]) > 0.9, cell
        check = check_littles_law(frames)
        assert not isinstance(check, Missing), cell
        assert check.difference_ratio == pytest.approx(0, abs=0.05), (cell, check)


DEPTHS = (1, 2, 4, 8)
KEPT_FULL = [Cell(0, refresh_hz, 2, depth, "FIFO") for refresh_hz, depth in product((60, 120, 240), DEPTHS)]


@again_if_disturbed
def test_each_frame_more_in_a_queue_kept_full_adds_one_interval_over_the_grid() -> None:
    waits = {}
    for cell, frames in run_all(KEPT_FULL):
        shown = of_fate(frames, Fate.DISPLAYED)[2 * cell.depth + 4 :]
        waited = (shown["acquire_end_ns"] - shown["process_end_ns"]) / (NS_PER_S / cell.refresh_hz)
        waits[cell.refresh_hz, cell.depth] = np.median(waited)
        # Beside those in the queue one waits in the scheduler's hand for an image, and one to be put in.
        assert waits[cell.refresh_hz, cell.depth] == pytest.approx(cell.depth + 1.5, abs=0.6), cell
    for refresh_hz, (shallow, deep) in product((60, 120, 240), pairwise(DEPTHS)):
        assert waits[refresh_hz, deep] - waits[refresh_hz, shallow] == pytest.approx(deep - shallow, abs=0.1)
