"""One wanted rate out of what the source gives, the user asks for and the governors allow."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from app.config.advice import is_even_rate
from app.core.vocabulary import Governor

EVEN_PREFERENCE_RATIO: Final = 0.2
"""An even rate is worth up to this part of the rate that a governor allows; beyond it, more frames look better."""

_ROUNDING: Final = 1e-9


class Ceiling(NamedTuple):
    """What one governor allows, frames per second.

    Attributes:
        rate_hz: no more than this; infinite for no ceiling.
        floor_hz: it never asks for less, not even for the sake of evenness.
    """

    governor: Governor
    rate_hz: float
    floor_hz: float = 0.0


class WantedRate(NamedTuple):
    """The rate to decimate to, and who asked for it. 0 for the source's own, which nobody asked for."""

    rate_hz: float = 0.0
    governor: Governor = Governor.NONE


def base_rate(source_rate_hz: float, preview_fps: float) -> float:
    """Return the rate without governors: `preview_fps` where it is lower than the source's, which is the full rate."""
    return min(source_rate_hz, preview_fps) if preview_fps > 0 else source_rate_hz


def wanted_rate(
    source_rate_hz: float | None, preview_fps: float, ceilings: Sequence[Ceiling], refresh_hz: float | None
) -> WantedRate:
    """Return the rate to decimate to: the lowest of what is allowed.

    What the user asks for is taken as it is. A governor's ceiling is lowered to an even rate where one lies close below
    (`even_rate_below`).

    Args:
        source_rate_hz: nominal rate of the source; None (unknown, free-running) cannot be decimated: 0 is returned.
        preview_fps: rate asked for by the user; 0 for the source's own.
        refresh_hz: rate of a fixed refresh; None when unknown or variable.
    """
    if source_rate_hz is None:
        return WantedRate()
    base_hz = base_rate(source_rate_hz, preview_fps)
    lowest = min(ceilings, key=lambda ceiling: ceiling.rate_hz, default=None)
    if lowest is not None and lowest.rate_hz < base_hz:
        return WantedRate(_prefer_even(lowest, source_rate_hz, refresh_hz), lowest.governor)
    return WantedRate(base_hz, Governor.PREVIEW_FPS) if base_hz < source_rate_hz else WantedRate()


def even_rate_below(ceiling_hz: float, source_rate_hz: float, refresh_hz: float) -> float | None:
    """Return the highest even rate from `EVEN_PREFERENCE_RATIO` below a ceiling up to it; None where there is none.

    Even is a rate that keeps every n-th frame of the source and shows each for the same number of refreshes. A divisor
    of the refresh rate alone is not: 40 of 60 fps on 120 Hz keeps two frames of three, which stay two and four
    refreshes in turn, and 45 of 60 fps is no worse and shows more.
    """
    fewest = math.ceil(source_rate_hz / ceiling_hz - _ROUNDING)
    most = math.floor(source_rate_hz / (ceiling_hz * (1.0 - EVEN_PREFERENCE_RATIO)) + _ROUNDING)
    rates = (source_rate_hz / every for every in range(max(1, fewest), most + 1))
    return next((min(rate, ceiling_hz) for rate in rates if is_even_rate(rate, refresh_hz)), None)


def _prefer_even(ceiling: Ceiling, source_rate_hz: float, refresh_hz: float | None) -> float:
    even_hz = even_rate_below(ceiling.rate_hz, source_rate_hz, refresh_hz) if refresh_hz else None
    return even_hz if even_hz is not None and even_hz >= ceiling.floor_hz - _ROUNDING else ceiling.rate_hz
