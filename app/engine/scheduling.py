"""When a frame is presented, and when it is given up: pure decisions of the latency modes."""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from app.core.clock import NO_STAMP_NS
from app.core.vocabulary import Fate, PresentMode
from app.engine.sinks.sink import RefreshGrid

GUARD_RATIO: Final = 0.03
"""Share of a refresh that passes before the present for the next one: 0.5 ms at 60 Hz.

Presenting right on a refresh would race with it. The rest of the refresh is slack for a late wake-up, which here is
0.1 ms at the median and 4 ms at the 99.9th percentile under load.
"""

IN_ORDER: Final = frozenset({PresentMode.FIFO, PresentMode.FIFO_RELAXED})
_TOLERANCE_NS: Final = 1_000
"""Two times on the refresh grid are the same refresh when they differ by less: rounding of the grid is 0.5 ns."""


class Step(Enum):
    """What to do with the oldest ready frame."""

    WAIT = "wait"
    PRESENT = "present"
    DROP = "drop"


class Decision(NamedTuple):
    """A step; `at_ns` is when to look again (WAIT), `fate` the loss class (DROP)."""

    step: Step
    at_ns: int = 0
    fate: Fate = Fate.DISPLAYED


class Pacing(NamedTuple):
    """What is known of the display.

    Attributes:
        mode: granted present mode.
        grid: refresh grid, or None when the sink does not know it.
        period_ns: refresh period (nominal, or the source's interval where nothing better is known); half of it is the
            tolerance beyond which a frame is late.
        paces_fifo: FIFO is known to wait for the refresh, though its phase is unknown.
        image_count: images of the swapchain.
    """

    mode: PresentMode
    grid: RefreshGrid | None
    period_ns: float
    paces_fifo: bool = False
    image_count: int = 2


class Playout(NamedTuple):
    """State of LOW_JITTER: the refresh promised to the last presented frame, and whether that frame was late."""

    last_flip_ns: int = NO_STAMP_NS
    last_was_late: bool = False


PRESENT: Final = Decision(Step.PRESENT)


def plan_low_jitter(due_ns: int, now_ns: int, newer_due_ns: int | None, pacing: Pacing, playout: Playout) -> Decision:
    """Decide on the oldest ready frame under LOW_JITTER: it goes to the refresh nearest to its due time.

    A frame late by more than half a refresh is shown at once, unless a newer frame is ready whose own refresh it would
    take: then it is `deadline_missed`. (A newer frame that waits for a later refresh is no reason to lose this one: a
    24 fps frame that is 10 ms late can still be shown for 30 ms.) A frame in time whose refresh is already promised to
    an earlier frame in time (a source faster than the refresh) is `superseded`.

    Args:
        newer_due_ns: due time of the next ready frame; None when there is none.
    """
    if pacing.grid is None or pacing.mode is PresentMode.IMMEDIATE:
        return _plan_unaligned(due_ns, now_ns, newer_due_ns, pacing)
    grid = pacing.grid
    target_ns = grid.nearest(due_ns - grid.delay_ns)
    if _is_taken(target_ns, pacing, playout) and not playout.last_was_late and now_ns < target_ns:
        return Decision(Step.DROP, fate=Fate.SUPERSEDED)
    if _flips_at_once(target_ns, pacing, playout):
        open_ns = target_ns
    else:
        open_ns = target_ns - round(grid.period_ns * (_lead_refreshes(target_ns, pacing, playout) - GUARD_RATIO))
    if now_ns < open_ns:
        return Decision(Step.WAIT, at_ns=open_ns)
    flip_ns = predict_flip(now_ns, pacing, playout)
    takes_newer = newer_due_ns is not None and grid.nearest(newer_due_ns - grid.delay_ns) <= flip_ns + _TOLERANCE_NS
    if takes_newer and is_late(flip_ns + grid.delay_ns, due_ns, pacing):
        return Decision(Step.DROP, fate=Fate.DEADLINE_MISSED)
    return PRESENT


def next_batch(ready_ns: int, window_ns: int) -> int:
    """Return when a frame that is ready is submitted: the first multiple of the batch window at or after it.

    The grid counts from 0 of CLOCK_MONOTONIC, so that all engines of a machine share it; a window of 0 is no grid.
    """
    return ready_ns if window_ns <= 0 else -(-ready_ns // window_ns) * window_ns


def is_late(displayed_ns: int, due_ns: int, pacing: Pacing) -> bool:
    """Tell whether a display time lies more than half a refresh behind the due time (`late_shown`)."""
    return displayed_ns - due_ns > pacing.period_ns / 2 + _TOLERANCE_NS


def class_of_miss(arrive_ns: int, due_ns: int, pacing: Pacing) -> Fate:
    """Return whose fault a missed deadline is: the source's when the frame arrived too late for any pipeline."""
    arrived_late = arrive_ns - due_ns > pacing.period_ns / 2
    return Fate.SOURCE_LATE if arrived_late else Fate.DEADLINE_MISSED


def predict_flip(now_ns: int, pacing: Pacing, playout: Playout) -> int:
    """Return the refresh that takes a frame presented now; `now_ns` itself where presents do not wait for one."""
    if pacing.grid is None or pacing.mode is PresentMode.IMMEDIATE:
        return now_ns
    if _flips_at_once(now_ns, pacing, playout):
        return now_ns
    next_ns = pacing.grid.next_after(now_ns)
    if pacing.mode not in IN_ORDER or playout.last_flip_ns == NO_STAMP_NS:
        return next_ns
    behind_ns = pacing.grid.nearest(playout.last_flip_ns + round(pacing.grid.period_ns))
    return max(next_ns, behind_ns)


def note_presented(due_ns: int, presented_ns: int, pacing: Pacing, playout: Playout) -> Playout:
    """Return the state after a present call that was made at `presented_ns`."""
    flip_ns = predict_flip(presented_ns, pacing, playout)
    delay_ns = pacing.grid.delay_ns if pacing.grid is not None else 0
    return Playout(flip_ns, is_late(flip_ns + delay_ns, due_ns, pacing))


def note_replaced(flip_ns: int, queued_behind: int, pacing: Pacing, playout: Playout) -> Playout:
    """Correct the state by what the display did: a frame really flipped at `flip_ns`, with others queued behind it.

    A frame that missed its refresh (a slow GPU) pushes back everything queued behind it in a FIFO. Without this the
    queue would stay one longer for good, each frame late, and nothing would be given up to catch up.
    """
    if pacing.grid is None or pacing.mode not in IN_ORDER:
        return playout
    last_flip_ns = pacing.grid.nearest(flip_ns + round(queued_behind * pacing.grid.period_ns))
    if last_flip_ns <= playout.last_flip_ns + _TOLERANCE_NS:
        return playout
    return Playout(last_flip_ns, last_was_late=True)


def _flips_at_once(time_ns: int, pacing: Pacing, playout: Playout) -> bool:
    """Tell whether a picture presented at a time is shown at that time though the mode waits for refreshes.

    FIFO_RELAXED does so once a refresh has passed that found nothing to show. A frame of a source slower than the
    refresh is therefore presented at its refresh and not before, or it would be seen up to a refresh early, torn.
    """
    if pacing.mode is not PresentMode.FIFO_RELAXED or pacing.grid is None or playout.last_flip_ns == NO_STAMP_NS:
        return False
    # The refresh behind the last flip, which may lie anywhere between two: flips at once do.
    return pacing.grid.next_after(playout.last_flip_ns + _TOLERANCE_NS) + _TOLERANCE_NS < time_ns


def _lead_refreshes(target_ns: int, pacing: Pacing, playout: Playout) -> int:
    """Return how many refreshes before its own a frame may be presented.

    A FIFO shows in order, one a refresh: behind a frame that is promised the refresh before, a frame can be queued one
    refresh sooner and still be shown at its own. That doubles the slack for a late wake-up (on a loaded two-core
    machine 2 % of the frames were late without it) and needs a third image; the time of display is the same.
    """
    follows = pacing.mode in IN_ORDER and abs(playout.last_flip_ns + pacing.period_ns - target_ns) < _TOLERANCE_NS
    return 2 if follows and pacing.image_count > 2 else 1


def _is_taken(target_ns: int, pacing: Pacing, playout: Playout) -> bool:
    return (
        pacing.mode in IN_ORDER
        and playout.last_flip_ns != NO_STAMP_NS
        and target_ns <= playout.last_flip_ns + _TOLERANCE_NS
    )


def _plan_unaligned(due_ns: int, now_ns: int, newer_due_ns: int | None, pacing: Pacing) -> Decision:
    # A FIFO of unknown phase takes the first refresh after the call. Calling half a refresh early makes that the
    # refresh nearest to the due time.
    lead_ns = round(pacing.period_ns / 2) if pacing.paces_fifo and pacing.mode in IN_ORDER else 0
    if now_ns < due_ns - lead_ns:
        return Decision(Step.WAIT, at_ns=due_ns - lead_ns)
    overdue = now_ns - due_ns > pacing.period_ns / 2
    if overdue and newer_due_ns is not None and newer_due_ns - lead_ns <= now_ns:
        return Decision(Step.DROP, fate=Fate.DEADLINE_MISSED)
    return PRESENT
