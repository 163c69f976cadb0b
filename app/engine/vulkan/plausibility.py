"""Whether a source of display times can be believed: pure tests of its stamps, with a memory.

Drivers have been seen to end a present_wait at once (dxvk-low-latency, on Wayland with MAILBOX), to stamp in another
clock, and to answer for another picture. A single odd stamp proves nothing, so a source is given up only when several
of its recent stamps cannot be.
"""

from __future__ import annotations

from enum import Enum
from typing import Final, NamedTuple

from app.core.clock import NO_STAMP_NS, NS_PER_MS

REMEMBERED: Final = 32
"""How many stamps back the memory goes."""

TOLERATED: Final = 7
"""How many of these may be odd: a machine that stands still for some milliseconds makes one or two."""

PROOF: Final = 8
"""How many stamps without a flaw, one after another, a source gives before it is believed at all."""

EARLY_NS: Final = NS_PER_MS // 2
"""How far before its present call a stamp may lie: two clocks are brought together to within 0.1 ms."""

AHEAD_NS: Final = 100 * NS_PER_MS
"""How far in the future a stamp may lie: compositors tell a predicted flip (KWin: up to 2 ms ahead), never so far."""


class Flaw(Enum):
    """What is wrong with a display time; the value ends the sentence "n of the last m …"."""

    NONE = ""
    BEFORE_CALL = "lie before their own present call"
    FUTURE = "lie in the future"
    NOT_RISING = "lie before the one before"
    TOO_SOON = "come less than half a refresh after the one before, which this present mode cannot do"


class Trust(NamedTuple):
    """What is known of a source.

    Attributes:
        last_ns: its newest stamp without a flaw of its own, `NO_STAMP_NS` before the first.
        flaws: one bit a stamp, newest lowest, set where it was odd. judged: how many stamps so far.
        worst: the kind of the newest odd one.
    """

    last_ns: int = NO_STAMP_NS
    flaws: int = 0
    judged: int = 0
    worst: Flaw = Flaw.NONE

    @property
    def flawed(self) -> int:
        """Return how many of the remembered stamps were odd."""
        return self.flaws.bit_count()

    @property
    def is_lost(self) -> bool:
        """Tell whether the source is not to be believed any more."""
        return self.flawed > TOLERATED

    @property
    def is_proven(self) -> bool:
        """Tell whether its last `PROOF` stamps were without a flaw."""
        return self.judged >= PROOF and not self.flaws & ((1 << PROOF) - 1)


def find_flaw(trust: Trust, displayed_ns: int, call_ns: int, now_ns: int, spacing_ns: float) -> Flaw:
    """Return what is wrong with a stamp.

    Args:
        displayed_ns, call_ns: the stamp, and when the present call of its picture began.
        now_ns: when the stamp was looked at.
        spacing_ns: least time between two stamps (half a refresh in a FIFO); 0 where there is none.
    """
    if displayed_ns < call_ns - EARLY_NS:
        return Flaw.BEFORE_CALL
    if displayed_ns > now_ns + AHEAD_NS:
        return Flaw.FUTURE
    if trust.last_ns == NO_STAMP_NS:
        return Flaw.NONE
    if displayed_ns < trust.last_ns:
        return Flaw.NOT_RISING
    return Flaw.TOO_SOON if displayed_ns - trust.last_ns < spacing_ns else Flaw.NONE


def remember(trust: Trust, displayed_ns: int, flaw: Flaw) -> Trust:
    """Return the trust after a stamp.

    A stamp that lies outside its own picture's time is no measure for the next one.
    """
    outside = flaw in (Flaw.BEFORE_CALL, Flaw.FUTURE)
    return Trust(
        last_ns=trust.last_ns if outside else max(trust.last_ns, displayed_ns),
        flaws=(trust.flaws << 1 | (flaw is not Flaw.NONE)) & ((1 << REMEMBERED) - 1),
        judged=trust.judged + 1,
        worst=trust.worst if flaw is Flaw.NONE else flaw,
    )


def why_not_believed(trust: Trust) -> str:
    """Return why a source is given up, as the end of a sentence."""
    return f"{trust.flawed} of the last {min(trust.judged, REMEMBERED)} {trust.worst.value}"
