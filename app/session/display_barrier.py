"""The display barrier for host code: an awaitable that resolves when the preview has displayed a frame."""

from __future__ import annotations

import asyncio
from collections import deque
from types import TracebackType
from typing import Final, Self

import numpy as np

from app.core.errors import EngineError
from app.core.vocabulary import Fate
from app.session.session import Session

POLL_S: Final = 0.002
"""How often the ring is looked at while a frame is awaited: an eighth of a refresh at 60 Hz, for 0.2 % of a core."""


class DisplayBarrier:
    """Lets host code go on when a frame has been displayed: `frame = await barrier.next_displayed()`.

    With `sync_mode: WaitForNextFrame` the engine keeps at most one picture between submit and display, so a host that
    awaits each frame before it prepares the next never runs ahead of the display.

    A frame's record is written when its fate is known, which for a sink that knows refreshes is when the next picture
    replaces it: the awaitable may resolve one frame after the light. `displayed_ns` in the record tells when it was.

    Belongs to one asyncio loop. Use as a context manager, within the life of the session's run.

    Args:
        session: running. source_index: the source whose frames are awaited, from 0.
    """

    def __init__(self, session: Session, source_index: int = 0) -> None:
        self._session = session
        self._source_index = source_index
        self._reader = session.open_reader()
        self._reader.read()  # what was displayed before the barrier is past
        self._displayed: deque[np.void] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the ring."""
        self._reader.close()

    async def next_displayed(self, timeout_s: float = 1.0) -> np.void:
        """Return the record (`FRAME_DTYPE`) of the next frame that was displayed, each once and in order.

        Raises:
            TimeoutError: none was displayed within `timeout_s`.
            EngineError: the run is over.
        """
        async with asyncio.timeout(timeout_s):
            while not self._displayed:
                is_live = self._session.state.phase.is_live  # asked first: the last records come before the end
                self._collect()
                if not self._displayed and not is_live:
                    raise EngineError("no further frame will be displayed: the run is over")
                if not self._displayed:
                    await asyncio.sleep(POLL_S)
        return self._displayed.popleft()

    def _collect(self) -> None:
        frames = self._reader.read().frames
        mine = frames[(frames["fate"] == Fate.DISPLAYED) & (frames["source_index"] == self._source_index)]
        self._displayed.extend(mine)
