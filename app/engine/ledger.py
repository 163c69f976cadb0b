"""Double-entry book-keeping of frames: produced = displayed + lost + in flight, at every instant."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

from app.core.vocabulary import LOSS_CLASSES, Fate
from app.engine.frame import Frame
from app.ipc.frame_ring import FrameRingWriter

_LOSS_INDEX = {fate: index for index, fate in enumerate(LOSS_CLASSES)}


class Ledger:
    """Counts of a run. `produce` is called by the decode thread only, `settle` by the present thread only.

    In flight is what was produced and not settled, so the balance cannot be off; that it equals the frames really
    lying in queues and sink is checked at the end of every run.
    """

    def __init__(self) -> None:
        self.produced = 0
        self.displayed = 0
        self._lost = [0] * len(LOSS_CLASSES)
        self._settled = 0

    def produce(self) -> int:
        """Count a frame and return its id."""
        frame_id = self.produced
        self.produced = frame_id + 1
        return frame_id

    def settle(self, fate: Fate) -> None:
        """Count a frame's fate."""
        if fate is Fate.DISPLAYED:
            self.displayed += 1
        else:
            self._lost[_LOSS_INDEX[fate]] += 1
        self._settled += 1

    @property
    def in_flight(self) -> int:
        """Number of frames whose fate is open."""
        return self.produced - self._settled

    @property
    def settled(self) -> int:
        """Number of frames whose fate is known."""
        return self._settled

    @property
    def lost(self) -> list[int]:
        """Losses by class, in the order of `LOSS_CLASSES`; not to be changed."""
        return self._lost


def publish(ledgers: Sequence[Ledger], ring: FrameRingWriter, repeated: int | None, now_ns: int) -> None:
    """Write the totals of all sources into the ring's header as one consistent set; present thread only."""
    if len(ledgers) == 1:
        totals = ledgers[0]
        settled, displayed, lost = totals.settled, totals.displayed, totals.lost
        produced = totals.produced  # read once: the decode thread may go on meanwhile
    else:
        settled = sum(each.settled for each in ledgers)
        displayed = sum(each.displayed for each in ledgers)
        lost = [sum(counts) for counts in zip(*(each.lost for each in ledgers), strict=True)]
        produced = sum(each.produced for each in ledgers)
    ring.write_counters(produced, displayed, lost, repeated, produced - settled, now_ns)


class FramePool:
    """Recycles frame objects, so that a run in its stride makes none; any thread."""

    def __init__(self) -> None:
        self._free: deque[Frame] = deque()

    def take(self, frame_id: int) -> Frame:
        """Return a frame of which nothing but the id is known."""
        try:
            frame = self._free.pop()
        except IndexError:
            frame = Frame()
        frame.reset(frame_id)
        return frame

    def give(self, frame: Frame) -> None:
        """Take a settled frame back; its owner forgets it."""
        frame.picture = None
        self._free.append(frame)
