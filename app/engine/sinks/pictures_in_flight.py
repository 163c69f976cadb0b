"""Pictures between their present call and the end of their frames: what waits for a stamp, a fence or an heir."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Sequence
from typing import Final

from app.core.vocabulary import Fate, PresentMode
from app.engine.frame import Frame
from app.engine.sinks.display_ladder import DisplayLadder
from app.engine.sinks.sink import Settled
from app.engine.vulkan.in_flight import Submission
from app.engine.vulkan.present_fences import PresentFences
from app.engine.vulkan.presentation import Presentation
from app.engine.vulkan.render import Renderer

_POLL_S: Final = 0.0002


class PicturesInFlight:
    """The presented pictures of a sink, oldest first. Present thread only.

    A picture settles when its display (or loss) is known, the GPU has finished it, and presentation has let go of it.

    Args:
        fences: present fences, None without VK_EXT_swapchain_maintenance1.
        tiles: how many tiles a picture has.
    """

    def __init__(self, renderer: Renderer, ladder: DisplayLadder, fences: PresentFences | None, tiles: int) -> None:
        self._renderer = renderer
        self._ladder = ladder
        self._fences = fences
        self._tiles = tiles
        self._pending: deque[Presentation] = deque()
        self._settled: list[Settled] = []
        self._presented = 0

    def begin(
        self, frames: Sequence[Frame], submission: Submission, mode: PresentMode, present_id: int
    ) -> Presentation:
        """Return a picture that is about to be presented."""
        self._presented += 1
        fence = self._fences.take() if self._fences is not None else None
        presentation = Presentation(
            frames, submission, mode, serial=self._presented, present_id=present_id, fence=fence
        )
        before = self._pending[-1] if self._pending else None
        presentation.alone = before is None or (not before.is_open and before.displayed_ns <= time.monotonic_ns())
        self._pending.append(presentation)
        return presentation

    def frames(self) -> list[Frame]:
        """Return the frames that have not settled."""
        return [frame for each in self._pending for frame in (*each.inherited, *each.frames)]

    def undisplayed(self) -> int:
        """Return how many pictures are not known to be displayed yet, after asking."""
        self._ladder.collect(time.monotonic_ns())
        return sum(presentation.is_open for presentation in self._pending)

    def settle(self, *, ending: bool) -> None:
        """Settle pictures in order as far as their fate is known.

        Args:
            ending: nothing is presented for now, so that a picture thrown away last has no heir.

        Raises:
            SinkError: the device was lost.
        """
        self._ladder.collect(time.monotonic_ns())
        while self._pending and self._is_settled(self._pending[0]):
            if not ending and self._awaits_heir(self._pending[0]):
                break
            presentation = self._pending.popleft()
            presentation.note_submission()
            if self._fences is not None:
                self._fences.give_back(presentation.fence)
                presentation.fence = None
            heir = self._pending[0] if self._pending else None
            self._settled += [Settled(frame, presentation.fate) for frame in presentation.settle(heir)]

    def await_end(self, deadline_ns: int, *, ending: bool) -> None:
        """Wait for the pictures to settle, until the deadline at most."""
        self._ladder.give_up()
        self.settle(ending=ending)
        while self._is_in_flight() and time.monotonic_ns() < deadline_ns:
            time.sleep(_POLL_S)
            self.settle(ending=ending)

    def abandon(self) -> None:
        """Stamp every picture, so that the swapchain can go: nobody waits any longer.

        Raises:
            SinkError: the device was lost, or does not come to an end.
        """
        self._ladder.abandon(time.monotonic_ns())
        self._renderer.device.wait_idle()
        for presentation in self._pending:
            presentation.fence = None  # presentation kept it beyond the limit: it is not used again
        self.settle(ending=False)

    def take_settled(self) -> Sequence[Settled]:
        """Return what has settled since the last call."""
        if not self._settled:
            return ()
        settled, self._settled = self._settled, []
        return settled

    def forget(self) -> None:
        """Forget what has not settled."""
        self._pending.clear()

    def _is_settled(self, presentation: Presentation) -> bool:
        return (
            not presentation.is_open
            and self._renderer.poll(presentation.submission)
            and (self._fences is None or self._fences.is_free(presentation.fence))
        )

    def _awaits_heir(self, presentation: Presentation) -> bool:
        """Tell whether the next picture, which is not there yet, may show what this one was to show."""
        return self._tiles > 1 and presentation.fate is not Fate.DISPLAYED and len(self._pending) == 1

    def _is_in_flight(self) -> bool:
        """Tell whether something is pending that does not merely wait for an heir."""
        return bool(self._pending) and not (self._is_settled(self._pending[0]) and self._awaits_heir(self._pending[0]))
