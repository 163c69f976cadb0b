"""What the governors learn from frames whose fate is known: GPU times, upload speed, lateness."""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from app.config.governors import Recapture
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.records import FLAG_INTERPOLATED, FLAG_LATE_SHOWN
from app.core.vocabulary import Fate
from app.engine.frame import Frame
from app.engine.governors.recapture import Anomaly, GpuTimeWatch
from app.engine.governors.rolling_spread import RollingSpread

_MOST_UNREAD: Final = 1024
_LATE_FATES: Final = frozenset({Fate.DEADLINE_MISSED, Fate.SOURCE_LATE})


class SlowBuffer(NamedTuple):
    """A marked command buffer, and the upload of its frame beside the window's mean, bytes/s; None if not measured."""

    anomaly: Anomaly
    upload_bytes_per_s: float | None
    usual_upload_bytes_per_s: float | None


class Seen(NamedTuple):
    """What was seen since the last time: late frames, command buffers judged, and those marked."""

    late: int
    judged: int
    slow: tuple[SlowBuffer, ...]


class FrameWatch:
    """Watches settled frames; `observe` is the present thread's and costs 2 µs, `take` is called by another one.

    Counters only rise and each has one writer, so no lock is needed.
    """

    def __init__(self, rule: Recapture) -> None:
        self._gpu_times = GpuTimeWatch(rule)
        self._uploads = RollingSpread(rule.window)
        self._slow: deque[SlowBuffer] = deque(maxlen=_MOST_UNREAD)
        self._late = self._late_taken = 0
        self._judged = self._judged_taken = 0
        self._last_gpu_end_ns = NO_STAMP_NS

    def observe(self, frame: Frame, fate: Fate) -> None:
        """Note a frame whose fate is known."""
        if fate in _LATE_FATES or frame.flags & FLAG_LATE_SHOWN:
            self._late += 1
        upload = _upload_bytes_per_s(frame)
        if self._is_to_be_judged(frame):
            self._last_gpu_end_ns = frame.gpu_end_ns
            self._judged += 1
            anomaly = self._gpu_times.add(frame.gpu_end_ns - frame.gpu_start_ns)
            if anomaly is not None:
                usual = self._uploads.mean if self._uploads.is_full else None
                self._slow.append(SlowBuffer(anomaly, upload, usual))
        if upload is not None:
            self._uploads.add(round(upload))

    def take(self) -> Seen:
        """Return what was seen since the last call."""
        late, judged = self._late, self._judged
        slow = tuple(self._slow.popleft() for _ in range(len(self._slow)))
        seen = Seen(late - self._late_taken, judged - self._judged_taken, slow)
        self._late_taken, self._judged_taken = late, judged
        return seen

    def configure(self, rule: Recapture) -> None:
        """Take another rule; another window begins with its warm-up."""
        if rule.window != self._gpu_times.rule.window:
            self.restart(rule)
        self._gpu_times.rule = rule

    def _is_to_be_judged(self, frame: Frame) -> bool:
        """Tell whether a frame has a command buffer of its own that is like the others.

        The frames of several sources in one picture share its command buffer and its stamps. A made-up picture has
        passes of its own, and its time is no measure for the rest.
        """
        if NO_STAMP_NS in (frame.gpu_start_ns, frame.gpu_end_ns) or frame.flags & FLAG_INTERPOLATED:
            return False
        return frame.gpu_end_ns != self._last_gpu_end_ns

    def restart(self, rule: Recapture) -> None:
        """Begin anew with the warm-up, because the command buffers do something else from now on."""
        self._uploads = RollingSpread(rule.window)
        self._gpu_times = GpuTimeWatch(rule)


def _upload_bytes_per_s(frame: Frame) -> float | None:
    duration_ns = frame.process_end_ns - frame.process_start_ns
    if frame.bytes_uploaded <= 0 or NO_STAMP_NS in (frame.process_start_ns, frame.process_end_ns) or duration_ns <= 0:
        return None
    return frame.bytes_uploaded * NS_PER_S / duration_ns
