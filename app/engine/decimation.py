"""Even decimation of a frame rate by error diffusion."""

from __future__ import annotations

from typing import Final

_ROUNDING: Final = 1e-9
"""Allowed for sums of a ratio that has no exact float: 20 of 60 is every third frame, not sometimes a fourth."""


class Decimator:
    """Keeps `wanted / given` of the frames, spread as evenly as whole frames allow (Bresenham's rule).

    Any run of n kept-or-dropped decisions holds within one frame of n·wanted/given kept frames. Called by the decode
    thread only; the rate may change between two frames.
    """

    def __init__(self) -> None:
        self._credit = 1.0

    def keep(self, given_hz: float | None, wanted_hz: float) -> bool:
        """Tell whether the next frame is kept.

        Args:
            given_hz: rate of the source; None (unknown, free-running) keeps everything.
            wanted_hz: wanted rate; 0 keeps everything.
        """
        if given_hz is None or wanted_hz <= 0 or wanted_hz >= given_hz:
            self._credit = 1.0
            return True
        if self._credit >= 1.0 - _ROUNDING:
            self._credit += wanted_hz / given_hz - 1.0
            return True
        self._credit += wanted_hz / given_hz
        return False
