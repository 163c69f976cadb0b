"""The governors' view of one source: how late it delivers, and the rate wanted of it."""

from __future__ import annotations

import math
from typing import NamedTuple

from app.config.governors import FrameCompensation
from app.config.veoconfig import VeoConfig
from app.core.vocabulary import Governor
from app.engine.frame import Frame
from app.engine.governors.compensation import CompensationState, compensate, under_new_rule
from app.engine.governors.delay_window import DelayWindow
from app.engine.governors.rate_control import Ceiling, WantedRate, base_rate, wanted_rate
from app.engine.governors.verdict import Verdict


class GpuLimits(NamedTuple):
    """What the guards of the GPU allow every source.

    Attributes:
        thermal_ratio: part of the full rate. thermal_floor_ratio: what remains at any temperature.
        bandwidth_hz: frames per second; infinite for no limit.
    """

    thermal_ratio: float = 1.0
    thermal_floor_ratio: float = 1.0
    bandwidth_hz: float = math.inf


class LaneGovernor:
    """Decides at which rate the frames of one source are presented.

    `observe_arrival` is the decode thread's; it costs 0.25 µs, or an attribute look-up when compensation is off.
    `wanted` is replaced whole, so any thread may read it. The rest is called by `GovernorHost` under its lock.

    Attributes:
        source_rate_hz: nominal rate; None when unknown or free-running, and then nothing is decimated.
        wanted: the rate to decimate to and who asked for it.
        ceilings: what each governor allows; empty while nothing can be decimated.
    """

    def __init__(self, config: VeoConfig, source_rate_hz: float | None) -> None:
        self.source_rate_hz = source_rate_hz
        self.wanted = WantedRate()
        self.ceilings: tuple[Ceiling, ...] = ()
        self._rule = config.frame_compensation
        self._compensation = CompensationState()
        self._delays = self._new_window(config.frame_compensation)
        self._breaks = 0

    @property
    def wanted_hz(self) -> float:
        """Rate to decimate to, frames per second; 0 for the source's own."""
        return self.wanted.rate_hz

    @property
    def governor(self) -> Governor:
        """Who asked for it."""
        return self.wanted.governor

    def observe_arrival(self, frame: Frame) -> None:
        """Note when a frame arrived; each frame in order of delivery, also those that are decimated or lost later.

        Time in a pause is no delay. Where the source broke off the delays begin anew.
        """
        delays = self._delays
        if delays is None:
            return
        if frame.breaks_before != self._breaks:
            self._breaks = frame.breaks_before
            delays.clear()
        delays.add(frame.arrive_ns - frame.postponed_ns - frame.pts_ns)

    def configure(self, rule: FrameCompensation) -> bool:
        """Take another rule; True when it is switched off while it braked."""
        braked = self.compensates
        if rule != self._rule:
            self._set_rule(rule)
        return braked and not rule.enabled

    @property
    def compensates(self) -> bool:
        """Whether the compensation allows less than the source gives."""
        return self.brakes(self._compensation.ceiling_hz)

    def brakes(self, ceiling_hz: float) -> bool:
        """Tell whether a ceiling is below the rate of this source at all."""
        return self.source_rate_hz is not None and ceiling_hz < self.source_rate_hz

    def set_source_rate(self, source_rate_hz: float | None) -> None:
        """Follow a source that turned out to have another rate; its delays begin anew."""
        self.source_rate_hz = source_rate_hz
        self._delays = self._new_window(self._rule)

    def look(self, now_ns: int) -> Verdict[CompensationState]:
        """Apply the compensation's rule to the delays so far."""
        delays = self._delays
        if delays is None:
            return Verdict(self._compensation)
        verdict = compensate(self._rule, self._compensation, delays.p95_ms(), now_ns)
        self._compensation = verdict.state
        return verdict

    def full_rate_hz(self, preview_fps: float) -> float | None:
        """Return the rate that would be presented without governors; None when the source's is unknown."""
        return None if self.source_rate_hz is None else base_rate(self.source_rate_hz, preview_fps)

    def combine(self, preview_fps: float, limits: GpuLimits, refresh_hz: float | None) -> None:
        """Set `wanted` and `ceilings` from everything that limits the rate of this source."""
        full_hz = self.full_rate_hz(preview_fps)
        if full_hz is None:
            self.ceilings, self.wanted = (), WantedRate()
            return
        self.ceilings = (
            Ceiling(Governor.THERMAL, limits.thermal_ratio * full_hz, limits.thermal_floor_ratio * full_hz),
            Ceiling(Governor.COMPENSATION, self._compensation.ceiling_hz, self._rule.table[-1][1]),
            Ceiling(Governor.BANDWIDTH, limits.bandwidth_hz),
        )
        self.wanted = wanted_rate(self.source_rate_hz, preview_fps, self.ceilings, refresh_hz)

    def _set_rule(self, rule: FrameCompensation) -> None:
        if rule.window != self._rule.window or rule.enabled != self._rule.enabled:
            self._delays = self._new_window(rule)
        self._compensation = under_new_rule(self._compensation) if rule.enabled else CompensationState()
        self._rule = rule

    def _new_window(self, rule: FrameCompensation) -> DelayWindow | None:
        return DelayWindow(rule.window) if rule.enabled and self.source_rate_hz is not None else None
