"""Watches the totals of a run and speaks up when more frames are lost than `alerts` allows."""

from __future__ import annotations

import time
from collections import deque
from typing import Final

from app.analysis.alerts import AlertState, LossSample, alarming_losses, drop_alert
from app.config.sections import Alerts
from app.core.clock import NS_PER_S
from app.ipc.frame_ring import FrameCounters
from app.ipc.messages import EngineEvent

_SAMPLE_NS: Final = NS_PER_S // 5
_LONGEST_WINDOW_S: Final = 60
_MAX_SAMPLES: Final = _LONGEST_WINDOW_S * NS_PER_S // _SAMPLE_NS + 2


class LossWatch:
    """Samples the loss counter five times a second; one thread."""

    def __init__(self) -> None:
        self._samples: deque[LossSample] = deque(maxlen=_MAX_SAMPLES)
        self._state = AlertState()

    def look(self, counters: FrameCounters, rule: Alerts, now_ns: int | None = None) -> EngineEvent | None:
        """Take the totals in and return the alert to give now, if any."""
        now_ns = time.monotonic_ns() if now_ns is None else now_ns
        if self._samples and now_ns - self._samples[-1].at_ns < _SAMPLE_NS:
            return None
        self._samples.append(LossSample(now_ns, alarming_losses(counters)))
        verdict = drop_alert(rule, self._state, self._samples)
        self._state = verdict.state
        if verdict.alert is None:
            return None
        severity = "error" if verdict.alert.severity == "critical" else "warning"
        return EngineEvent(severity, "frames_lost", verdict.alert.text, now_ns)
