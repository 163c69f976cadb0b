"""Whether a FIFO swapchain really waits for the display; some drivers grant FIFO and take presents as they come."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from app.core.vocabulary import PresentMode
from app.engine.vulkan.clearing import ClearLoop
from app.engine.vulkan.render import Renderer
from app.engine.vulkan.swapchain import SurfaceReader, Swapchain

PROBE_PRESENTS: Final = 8
"""Presents measured after the swapchain is full: 133 ms at 60 Hz."""

PROBE_LIMIT_NS: Final = 500_000_000
DRAIN_S: Final = 0.05
"""Time for a display to show what is queued between the two bursts: three refreshes at 60 Hz."""

FASTEST_REFRESH_NS: Final = 1_000_000
"""No display refreshes faster than 1 kHz: shorter intervals are not pacing."""


class Pacing(NamedTuple):
    """Whether a FIFO swapchain paces, and the median interval of its presents once it is full."""

    paces: bool
    interval_ns: float


FREE_MODES: Final = (PresentMode.IMMEDIATE, PresentMode.MAILBOX)
"""Modes in which presents never wait for a refresh."""


def judge_pacing(stamps: Sequence[int], image_count: int) -> Pacing | None:
    """Return what the presents of a burst tell about a FIFO swapchain.

    Presents that find a free image cost what drawing costs; once all images are taken, a display that paces lets one
    through a refresh. Intervals that stay as they were are the driver's own speed, however slow it is.

    Args:
        stamps: when each present call of a burst returned, ns, from an empty swapchain on.

    Returns:
        None when the burst was cut short and nothing can be said.
    """
    intervals = np.diff(stamps)
    free, full = intervals[: image_count - 1], intervals[image_count - 1 :]
    if len(full) < PROBE_PRESENTS or not len(free):
        return None
    # Refreshes that pass while the swapchain fills free images too, so only the second half is surely saturated.
    steady = full[PROBE_PRESENTS // 2 :]
    steady_ns = float(np.percentile(steady, 25))
    paces = steady_ns >= FASTEST_REFRESH_NS and steady_ns >= 2 * float(np.median(free))
    return Pacing(paces, float(np.median(steady)))


def outruns_fifo(returns: Sequence[int], image_count: int, period_ns: float) -> bool:
    """Tell whether presents came faster than a FIFO that waits for the display can take them.

    With K images at most K presents find room; every other waits for a refresh.

    Args:
        returns: when consecutive present calls returned, ns, oldest first.
        period_ns: refresh period, or the shortest there may be.
    """
    refreshes = len(returns) - 1 - image_count
    return refreshes >= PROBE_PRESENTS and returns[-1] - returns[0] < refreshes * period_ns / 2


class PacingProbe:
    """Presents bursts of black images to a surface, once, when FIFO is first asked for.

    Attributes:
        swapchain: the one at hand: at first the one given, which is used up, later one that the next is to replace.
    """

    def __init__(
        self,
        renderer: Renderer,
        reader: SurfaceReader,
        size: tuple[int, int],
        min_images: int,
        swapchain: Swapchain | None,
    ) -> None:
        self._renderer = renderer
        self._reader = reader
        self._size = size
        self._min_images = min_images
        self.swapchain = swapchain

    def run(self, mode: PresentMode) -> Pacing | None:
        """Probe a FIFO mode.

        A queue that fills may also be held up by a slow driver (software Vulkan copies 1920×1000 pixels to the X
        server in 6 ms), and one that is paced from the first picture on shows nothing within a burst. So presents as
        slow as a display's are compared with those of a mode that never waits.

        Args:
            mode: FIFO or FIFO_RELAXED.

        Returns:
            The finding, None when it cannot be told.

        Raises:
            SinkError: device or surface lost.
        """
        # On a busy machine a software driver's speed changes between two bursts, so its finding is tried twice.
        rounds = 2 if self._renderer.device.physical.is_software else 1
        pacing = None
        for _ in range(rounds):
            pacing = self._compare(mode)
            if pacing is None or not pacing.paces:
                break
        return pacing

    def _compare(self, mode: PresentMode) -> Pacing | None:
        pacing = self._judge(mode)
        free_mode = next((each for each in FREE_MODES if each in self._offered), None)
        if pacing is None or pacing.interval_ns < FASTEST_REFRESH_NS or free_mode is None:
            return pacing
        free = self._judge(free_mode)
        return pacing if free is None else pacing._replace(paces=is_slower_than_free(pacing, free))

    def _judge(self, mode: PresentMode) -> Pacing | None:
        stamps = self._burst(mode)
        return judge_pacing(stamps, self._images) if stamps else None

    def _burst(self, mode: PresentMode) -> list[int]:
        """Return the stamps of a burst in one mode. An earlier one warms up: a driver's first presents are slow."""
        offer = self._reader.read(mode, self._size)
        self._offered = offer.modes
        if min(offer.extent) <= 0:
            return []
        old = self.swapchain
        self.swapchain = Swapchain(self._reader, offer, mode, self._min_images, old)
        if old is not None:
            old.close()
        self._images = len(self.swapchain.targets)
        loop = ClearLoop(self._renderer, self.swapchain)
        loop.run(self._images, PROBE_LIMIT_NS)
        time.sleep(DRAIN_S)
        stamps = loop.run(self._images + PROBE_PRESENTS, PROBE_LIMIT_NS)
        self._renderer.wait_all()
        self._renderer.device.wait_idle()
        return stamps


def is_slower_than_free(fifo: Pacing, free: Pacing) -> bool:
    """Tell whether FIFO presents take clearly longer than presents that never wait for a refresh.

    A compositor without wp_fifo_v1 holds back every present from the second on, so that nothing shows within a burst
    (`fifo.paces` is False); the difference between the modes must then be beyond any doubt.
    """
    return fifo.interval_ns >= (1.5 if fifo.paces else 4.0) * free.interval_ns
