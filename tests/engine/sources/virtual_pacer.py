"""A clock for sources that passes without sleeping."""

from __future__ import annotations


class VirtualPacer:
    """Implements `Pacer`: a wait moves the clock to its deadline at once."""

    def __init__(self, now_ns: int = 10**12) -> None:
        self._now_ns = now_ns
        self._disturbed = False

    def now_ns(self) -> int:
        return self._now_ns

    def wait_until_ns(self, deadline_ns: int) -> bool:
        if self._disturbed:
            self._disturbed = False
            return False
        self._now_ns = max(self._now_ns, deadline_ns)
        return True

    def disturb(self) -> None:
        self._disturbed = True

    def pass_ms(self, duration_ms: float) -> None:
        """Let time go by while nobody asks the source."""
        self._now_ns += round(duration_ms * 1e6)
