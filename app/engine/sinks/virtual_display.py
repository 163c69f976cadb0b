"""A simulated display with exact present-mode semantics: pure state, time comes in as an argument.

It knows images, one image on the screen, a queue of presented images, and a refresh grid. `advance` replays everything
that happened until a time, refresh by refresh, so the stamps are exact however late it is called. Semantics follow
`VkPresentModeKHR` (Vulkan 1.4 specification, Window System Integration):

- FIFO: a refresh takes the oldest queued image that is ready.
- FIFO_RELAXED: the same; after a refresh that found nothing, the next image is shown as soon as it is ready.
- FIFO_LATEST_READY: a refresh takes the newest ready image; older ones are discarded.
- MAILBOX: an image that becomes ready replaces the ready one waiting; a refresh takes the waiting one.
- IMMEDIATE: an image is shown as soon as it is ready.

An image is free again when another one has replaced it on the screen, or when it was discarded.

An image shows one picture a tile. It brings the frames that are new in it; a tile without a new one goes on showing the
frame it has. So a frame stays on the screen until the next frame of its tile is shown, over as many images as that
takes, and a discarded image hands the frames that no later one replaces on to the image that is shown instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Final

from app.core.vocabulary import DisplayTimeSource, Fate, PresentMode
from app.engine.frame import Frame
from app.engine.sinks.sink import RefreshGrid, Settled

_NOT_READY_NS: Final = 2**62

_ALREADY_SETTLED: Final = Frame()
"""Stands for the frame of the image on the screen once its own frame has been settled."""


class _Shown:
    """The frame that a tile shows and since which refresh."""

    __slots__ = ("frame", "since_index")

    def __init__(self, frame: Frame, since_index: int) -> None:
        self.frame = frame
        self.since_index = since_index


class VirtualDisplay:
    """The state of one simulated display; single-threaded.

    Args:
        grid: its refreshes; `grid.delay_ns` is added to every display time (a compositor).
        image_count: images of its swapchain.
        mode: present mode.
        start_ns: nothing happens before this.
    """

    def __init__(self, grid: RefreshGrid, image_count: int, mode: PresentMode, start_ns: int) -> None:
        self._grid = grid
        self._mode = mode
        self._image_count = 0
        self._surplus = 0
        self._free: deque[int] = deque()
        self._queue: deque[int] = deque()
        self._frames: dict[int, Sequence[Frame]] = {}
        self._ready_ns: dict[int, int] = {}
        self._shown: int | None = None
        self._tiles: dict[int, _Shown] = {}
        self._missed_refresh = False
        self._next_index = grid.index_at_or_after(start_ns)
        self._settled: list[Settled] = []
        self.repeated = 0
        self.reconfigure(mode, image_count)

    @property
    def image_count(self) -> int:
        """Number of images of the swapchain."""
        return self._image_count

    @property
    def highest_image(self) -> int:
        """Highest image index that may be in use, for whoever keeps memory for each."""
        return max((*self._free, *self._frames, self._image_count - 1))

    def reconfigure(self, mode: PresentMode, image_count: int) -> None:
        """Change present mode and image count; what is queued or on the screen stays so.

        Surplus images go as they become free; call after `advance`.
        """
        self._mode = mode
        in_use = len(self._free) + len(self._frames) - self._surplus
        self._image_count = image_count
        self._surplus = max(0, self._surplus + in_use - image_count)
        unused = (index for index in range(64) if index not in self._free and index not in self._frames)
        for _ in range(image_count - in_use):
            self._free.append(next(unused))
        self._drop_surplus()

    def take_image(self) -> int | None:
        """Acquire a free image, or None; the caller presents it next."""
        if not self._free:
            return None
        return self._free.popleft()

    def present(self, image: int, frames: Sequence[Frame], ready_ns: int | None) -> None:
        """Queue an acquired image; call `advance` with the present time first.

        Args:
            frames: what is new in it, at most one a tile.
            ready_ns: when the image's contents are complete; None while the GPU works, see `set_ready`.
        """
        self._frames[image] = frames
        self._ready_ns[image] = _NOT_READY_NS if ready_ns is None else ready_ns
        self._queue.append(image)

    def set_ready(self, image: int, ready_ns: int) -> None:
        """Tell when a queued image's contents became complete; before the `advance` past that time."""
        self._ready_ns[image] = ready_ns

    def advance(self, now_ns: int) -> None:
        """Replay everything up to and including `now_ns`."""
        while True:
            refresh_ns = self._grid.time_ns(self._next_index)
            self._act_without_refresh(min(refresh_ns, now_ns))
            if refresh_ns > now_ns:
                return
            if not self._queue:
                self._skip_empty_refreshes(now_ns)
                return
            self._refresh(refresh_ns)
            self._next_index += 1

    def take_settled(self) -> list[Settled]:
        """Return the frames whose fate became known since the last call."""
        settled, self._settled = self._settled, []
        return settled

    def has_settled(self) -> bool:
        """Whether `take_settled` would return anything."""
        return bool(self._settled)

    def settle_shown(self) -> None:
        """Settle what is on the screen as displayed with an unknown number of refreshes; the image stays there."""
        for shown in self._tiles.values():
            if shown.frame is not _ALREADY_SETTLED:
                self._settled.append(Settled(shown.frame, Fate.DISPLAYED))
                shown.frame = _ALREADY_SETTLED

    def pending(self) -> list[Frame]:
        """Return frames queued or on the screen whose fate is open."""
        queued = [frame for image in self._queue for frame in self._frames[image]]
        return queued + [shown.frame for shown in self._tiles.values() if shown.frame is not _ALREADY_SETTLED]

    def queue_length(self) -> int:
        """Return how many images wait for the screen."""
        return len(self._queue)

    def next_refresh_ns(self) -> int:
        """Return the time of the first refresh that is not replayed yet."""
        return self._grid.time_ns(self._next_index)

    @property
    def shown_frame(self) -> Frame | None:
        """The frame on the screen (of the first tile that has one), unless there is none or its fate is told."""
        frames = (self._tiles[tile].frame for tile in sorted(self._tiles))
        return next((frame for frame in frames if frame is not _ALREADY_SETTLED), None)

    @property
    def shown_image(self) -> int | None:
        """The image on the screen, if any."""
        return self._shown

    # --- what a refresh does, by mode ---------------------------------------------------------------------------------

    def _act_without_refresh(self, until_ns: int) -> None:
        if self._mode is PresentMode.IMMEDIATE:
            while self._queue and self._ready_ns[self._queue[0]] <= until_ns:
                self._show_head_at_ready()
        elif self._mode is PresentMode.FIFO_RELAXED:
            if self._missed_refresh and self._queue and self._ready_ns[self._queue[0]] <= until_ns:
                self._missed_refresh = False
                self._show_head_at_ready()
        elif self._mode is PresentMode.MAILBOX:
            self._discard_older_than_newest_ready(until_ns)

    def _refresh(self, refresh_ns: int) -> None:
        if self._mode is PresentMode.IMMEDIATE:
            return
        if self._mode is PresentMode.FIFO_LATEST_READY:
            self._discard_older_than_newest_ready(refresh_ns)
        if self._queue and self._ready_ns[self._queue[0]] <= refresh_ns:
            self._missed_refresh = False
            self._show(self._queue.popleft(), refresh_ns)
        else:
            self._missed_refresh = self._shown is not None

    def _skip_empty_refreshes(self, now_ns: int) -> None:
        after = self._grid.index_at_or_after(now_ns + 1)
        if after > self._next_index and self._shown is not None:
            self._missed_refresh = True
        self._next_index = after

    def _show_head_at_ready(self) -> None:
        image = self._queue.popleft()
        self._show(image, self._ready_ns[image])

    def _show(self, image: int, shown_ns: int) -> None:
        index = self._grid.index_at_or_after(shown_ns)
        if self._shown is not None:
            self._release(self._shown)
        for frame in self._frames[image]:
            shown = self._tiles.get(frame.source_index)
            if shown is not None:
                self._settle_replaced(shown, index)
            frame.displayed_ns = shown_ns + self._grid.delay_ns
            frame.display_time_source = DisplayTimeSource.VIRTUAL_DISPLAY
            self._tiles[frame.source_index] = _Shown(frame, index)
        self._shown = image

    def _settle_replaced(self, shown: _Shown, index: int) -> None:
        frame = shown.frame
        if frame is not _ALREADY_SETTLED:
            frame.refreshes = index - shown.since_index
            self.repeated += max(0, frame.refreshes - 1)
            self._settled.append(Settled(frame, Fate.DISPLAYED))

    def _discard_older_than_newest_ready(self, until_ns: int) -> None:
        ready = 0
        for position, image in enumerate(self._queue):
            if self._ready_ns[image] <= until_ns:
                ready = position
        for _ in range(ready):
            image = self._queue.popleft()
            self._supersede(self._frames[image], by=self._queue[0])
            self._release(image)

    def _supersede(self, frames: Sequence[Frame], by: int) -> None:
        newer = self._frames[by]
        tiles = [frame.source_index for frame in newer]
        handed_on = [frame for frame in frames if frame.source_index not in tiles]
        self._settled.extend(Settled(frame, Fate.SUPERSEDED) for frame in frames if frame.source_index in tiles)
        if handed_on:
            self._frames[by] = [*newer, *handed_on]

    def _release(self, image: int) -> None:
        del self._frames[image]
        del self._ready_ns[image]
        self._free.append(image)
        self._drop_surplus()

    def _drop_surplus(self) -> None:
        while self._surplus and self._free:
            self._free.pop()
            self._surplus -= 1
