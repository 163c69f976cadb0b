"""Which plane set of a tile holds which picture, and which one may be written next. Pure bookkeeping, no Vulkan."""

from __future__ import annotations

from collections.abc import Sequence


class PlaneBook:
    """The plane sets of one tile: `own` ones for pictures that came from a source, `made` ones for made-up pictures.

    With F frames in flight a tile has F + 1 own sets. When a picture is recorded, F − 1 others may still be read by
    the GPU. Each picture writes at most one own set (its frame's, or the one loaded ahead for an interpolation), and
    the oldest of them can read one more that was written before it: F − 1 + 1, and the one written now is the last.
    So a set that is written is never one that the GPU still reads; a property test drives every order of calls.
    Made-up pictures are written and shown by the same picture, so F sets do for them.

    A set is known by its index: own sets first, then made ones. A picture is known by its serial number, which grows.

    Attributes:
        own, made: ranges of indices.
        shown: set that the tile shows, None before its first picture.
        earlier: set of the last picture from the source that was shown; interpolation starts from it.
        later: set that holds a picture ahead of its time, None without one.
    """

    def __init__(self, frames_in_flight: int) -> None:
        self.own = range(frames_in_flight + 1)
        self.made = range(self.own.stop, self.own.stop + frames_in_flight)
        self._last_read = [-1] * self.made.stop
        self.shown: int | None = None
        self.earlier: int | None = None
        self.later: int | None = None

    def show_new(self, serial: int) -> int:
        """Show a picture that is nowhere yet, and return the set to copy it into."""
        self.later = self.earlier = None
        self.shown = self.earlier = self._write(self.own, serial)
        return self.shown

    def show_later(self, serial: int) -> None:
        """Show the picture that was loaded ahead: its time has come."""
        assert self.later is not None, "nothing was loaded ahead"
        self.shown = self.earlier = self.later
        self.later = None
        self.keep(serial)

    def load_later(self, serial: int) -> int:
        """Load a picture ahead of its time, in place of one that was, and return the set to copy it into."""
        self.later = None
        self.later = self._write(self.own, serial)
        return self.later

    def show_made(self, serial: int) -> int:
        """Show a picture made up from `earlier` and `later`, and return the set to put it into."""
        assert self.earlier is not None, "there is nothing to start from"
        assert self.later is not None, "there is nothing to lead to"
        self._last_read[self.earlier] = self._last_read[self.later] = serial
        self.shown = self._write(self.made, serial)
        return self.shown

    def show_early(self, serial: int) -> None:
        """Show the picture loaded ahead before its time, where there is none before it that one could start from."""
        self.shown = self.earlier = self.later
        self.keep(serial)

    def keep(self, serial: int) -> int | None:
        """Return the set that a picture shows, and take note that it is read."""
        if self.shown is not None:
            self._last_read[self.shown] = serial
        return self.shown

    def _write(self, sets: Sequence[int], serial: int) -> int:
        """Return the set read longest ago among those that hold nothing needed later."""
        needed, last_read = (self.earlier, self.later), self._last_read
        chosen, longest_ago = -1, serial
        for each in sets:
            if last_read[each] < longest_ago and each not in needed:
                chosen, longest_ago = each, last_read[each]
        last_read[chosen] = serial
        return chosen
