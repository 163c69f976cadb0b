"""All governors of a run: what they see comes in, what they want stands in attributes, what they did goes out."""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from typing import Final

from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.vocabulary import Fate, Governor, LatencyMode
from app.engine.frame import Frame
from app.engine.governors.bandwidth import BandwidthState, bandwidth_ceiling, guard_bandwidth
from app.engine.governors.decisions import Move, rate_decision, switched_off
from app.engine.governors.frame_watch import FrameWatch, SlowBuffer
from app.engine.governors.lane_governor import GpuLimits, LaneGovernor
from app.engine.governors.preview_latency import LatencyBounds, LatencyState, adjust_latency, latency_bounds
from app.engine.governors.recapture import Surroundings, anomaly_sentence, explain, weigh_evidence
from app.engine.governors.thermal import ThermalState, thermal_ceiling, under_new_rule
from app.engine.governors.verdict import Action
from app.ipc.messages import GovernorDecision, GovernorReadings

ANOMALIES_EVERY_NS: Final = 5 * NS_PER_S
"""Anomalies are told together, at most this often: a noisy GPU marks several a second."""

MEMORY_LINK: Final = "memory"
"""A `link_name` that begins with this is the use of the memory, which is evidence in an anomaly."""


class GovernorHost:
    """Holds the governors of a run. What is disabled does nothing and costs an attribute look-up.

    Threads: `observe_settled` is the present thread's, `observe_arrival` of a lane its decode thread's; neither takes a
    lock. `tick`, `configure` and the setters share one that is held for some 100 µs; they belong to no frame.
    `note_readings` and all attributes may be used by any thread.

    Args:
        config: the configuration in force.
        source_rates_hz: nominal rate of each source; None where unknown or free-running.
        refresh_hz: rate of a fixed refresh; None when unknown or variable.

    Attributes:
        lanes: one governor for each source, in their order.
        extra_latency_ns: to be added to `render_latency_ms` (`preview_latency: auto`); 0 otherwise.
    """

    def __init__(self, config: VeoConfig, source_rates_hz: Sequence[float | None], refresh_hz: float | None) -> None:
        self._lock = threading.Lock()
        self._config = config
        self._refresh_hz = refresh_hz
        self.lanes = tuple(LaneGovernor(config, rate_hz) for rate_hz in source_rates_hz)
        self.extra_latency_ns = 0
        self._frames = FrameWatch(config.recapture)
        self._readings: GovernorReadings | None = None
        self._usual = Surroundings()
        self._thermal = ThermalState()
        self._bandwidth = BandwidthState()
        self._latency = LatencyState()
        self._moves: list[Move] = []
        self._slow: list[SlowBuffer] = []
        self._judged = 0
        self._anomalies_told_ns = NO_STAMP_NS
        self._combine()

    # --- what comes in ------------------------------------------------------------------------------------------------

    def observe_settled(self, frame: Frame, fate: Fate) -> None:
        """Note a frame whose fate is known, before its record is recycled; present thread."""
        self._frames.observe(frame, fate)

    def note_readings(self, readings: GovernorReadings) -> None:
        """Note what the session measured; acted on at the next tick."""
        self._readings = readings
        self._usual = Surroundings(
            _highest(self._usual.shader_clock_mhz, readings.gpu_clock_mhz),
            _highest(self._usual.memory_clock_mhz, readings.memory_clock_mhz),
        )

    def note_topology(self) -> None:
        """Command buffers do something else from now on (picture format, window size, stages): learn anew."""
        with self._lock:
            self._frames.restart(self._config.recapture)

    def set_refresh(self, refresh_hz: float | None) -> None:
        """Follow the display to another refresh rate."""
        with self._lock:
            self._refresh_hz = refresh_hz
            self._combine()

    def set_source_rate(self, lane_index: int, source_rate_hz: float | None) -> None:
        """Follow a source that turned out to have another rate."""
        with self._lock:
            self.lanes[lane_index].set_source_rate(source_rate_hz)
            self._combine()

    def configure(self, config: VeoConfig) -> None:
        """Put a configuration into force: at once for `preview_fps` and what is switched off, else at the next tick."""
        with self._lock:
            old, self._config = self._config, config
            self._moves += self._switched_off(old, config)
            if config.thermal_guard != old.thermal_guard:
                enabled = config.thermal_guard.enabled
                self._thermal = under_new_rule(config.thermal_guard, self._thermal) if enabled else ThermalState()
            if config.bandwidth_guard != old.bandwidth_guard:
                self._bandwidth = BandwidthState(self._bandwidth.reduced and config.bandwidth_guard.enabled)
            self._frames.configure(config.recapture)
            self._combine()
            if not self._latency_is_adjusted:
                self._latency, self.extra_latency_ns = LatencyState(), 0

    # --- a look at everything -----------------------------------------------------------------------------------------

    def tick(self, now_ns: int) -> list[GovernorDecision]:
        """Let every governor look, set what they want, and return what they decided; 4–10 times a second."""
        with self._lock:
            moves = [*self._moves, *self._look_at_gpu(now_ns), *self._look_at_sources(now_ns)]
            self._moves.clear()
            self._combine()
            decisions = [
                rate_decision(move, self.lanes, self._config.preview_fps, self._refresh_hz, now_ns) for move in moves
            ]
            return decisions + self._look_at_frames(now_ns)

    def _look_at_gpu(self, now_ns: int) -> list[Move]:
        readings = self._readings
        if readings is None or not any(lane.ceilings for lane in self.lanes):
            return []
        return [*self._look_at_heat(readings, now_ns), *self._look_at_links(readings, now_ns)]

    def _look_at_heat(self, readings: GovernorReadings, now_ns: int) -> list[Move]:
        rule = self._config.thermal_guard
        if not rule.enabled:
            return []
        self._thermal, action, reason = thermal_ceiling(rule, self._thermal, readings.gpu_temperature_c, now_ns)
        return [] if action is Action.HOLD else [Move(Governor.THERMAL, action, reason)]

    def _look_at_links(self, readings: GovernorReadings, now_ns: int) -> list[Move]:
        rule = self._config.bandwidth_guard
        if not rule.enabled:
            return []
        verdict = guard_bandwidth(rule, self._bandwidth, readings.link_ratio, now_ns, readings.link_name or "link")
        self._bandwidth = verdict.state
        concerns = any(lane.brakes(rule.reduced_fps) for lane in self.lanes)
        if verdict.action is Action.HOLD or not concerns:
            return []
        return [Move(Governor.BANDWIDTH, verdict.action, verdict.reason)]

    def _look_at_sources(self, now_ns: int) -> list[Move]:
        moves = []
        for index, lane in enumerate(self.lanes):
            braked = lane.compensates
            verdict = lane.look(now_ns)
            if verdict.action is not Action.HOLD and (braked or lane.compensates):
                moves.append(Move(Governor.COMPENSATION, verdict.action, verdict.reason, index))
        return moves

    def _combine(self) -> None:
        config = self._config
        guard = config.bandwidth_guard
        limits = GpuLimits(
            self._thermal.ratio,
            config.thermal_guard.floor_ratio,
            bandwidth_ceiling(guard, self._bandwidth) if guard.enabled else math.inf,
        )
        for lane in self.lanes:
            lane.combine(config.preview_fps, limits, self._refresh_hz)

    def _switched_off(self, old: VeoConfig, new: VeoConfig) -> list[Move]:
        moves = []
        if self._thermal.ratio < 1.0 and not new.thermal_guard.enabled:
            moves.append(switched_off(Governor.THERMAL))
        ceiling_hz = bandwidth_ceiling(old.bandwidth_guard, self._bandwidth)
        was_switched_off = old.bandwidth_guard.enabled and not new.bandwidth_guard.enabled
        if was_switched_off and any(lane.brakes(ceiling_hz) for lane in self.lanes):
            moves.append(switched_off(Governor.BANDWIDTH))
        moves += [
            switched_off(Governor.COMPENSATION, index)
            for index, lane in enumerate(self.lanes)
            if lane.configure(new.frame_compensation)
        ]
        return moves

    # --- frames: anomalies and the playout delay ----------------------------------------------------------------------

    def _look_at_frames(self, now_ns: int) -> list[GovernorDecision]:
        seen = self._frames.take()
        self._slow += seen.slow
        self._judged += seen.judged
        decisions = self._tell_anomalies(now_ns)
        if self._latency_is_adjusted:
            decisions += self._adjust_latency(seen.late + len(seen.slow), now_ns)
        return decisions

    def _tell_anomalies(self, now_ns: int) -> list[GovernorDecision]:
        if not self._slow or now_ns - self._anomalies_told_ns < ANOMALIES_EVERY_NS:
            return []
        worst = max(self._slow, key=lambda slow: slow.anomaly.gpu_ns)
        what = anomaly_sentence(worst.anomaly, len(self._slow), self._judged, self._config.recapture.window)
        usual = self._usual._replace(upload_bytes_per_s=worst.usual_upload_bytes_per_s)
        why = explain(weigh_evidence(self._config.recapture.weights, usual, self._surroundings(worst)))
        self._slow.clear()
        self._judged, self._anomalies_told_ns = 0, now_ns
        return [GovernorDecision("recapture", now_ns, "marked as anomaly", None, f"{what}; {why}")]

    def _surroundings(self, slow: SlowBuffer) -> Surroundings:
        readings = self._readings
        if readings is None:
            return Surroundings(upload_bytes_per_s=slow.upload_bytes_per_s)
        busy = readings.link_ratio if readings.link_name.startswith(MEMORY_LINK) else None
        return Surroundings(readings.gpu_clock_mhz, readings.memory_clock_mhz, busy, slow.upload_bytes_per_s)

    @property
    def _latency_is_adjusted(self) -> bool:
        """Whether there is a playout delay to adjust: not where frames are presented as they come."""
        config = self._config
        due = config.latency_mode is not LatencyMode.LOW_LATENCY and any(lane.ceilings for lane in self.lanes)
        return config.preview_latency == "auto" and due

    def _adjust_latency(self, trouble: int, now_ns: int) -> list[GovernorDecision]:
        self._latency, _, reason = adjust_latency(self._latency_bounds(), self._latency, trouble, now_ns)
        self.extra_latency_ns = self._latency.extra_ns
        if not reason:
            return []
        latency_ms = self._config.render_latency_ms + self.extra_latency_ns / NS_PER_MS
        return [GovernorDecision("latency", now_ns, f"playout delay {latency_ms:.1f} ms", None, reason)]

    def _latency_bounds(self) -> LatencyBounds:
        rates_hz = [lane.source_rate_hz for lane in self.lanes if lane.source_rate_hz is not None]
        return latency_bounds(
            round(self._config.render_latency_ms * NS_PER_MS),
            self._config.frame_queue_depth,
            round(NS_PER_S / max(rates_hz)) if rates_hz else None,
            round(NS_PER_S / self._refresh_hz) if self._refresh_hz else None,
        )


def no_effect_notice(config: VeoConfig, source_rates_hz: Sequence[float | None]) -> str:
    """Return which governors are switched on and cannot act because no source has a rate to lower, or ""."""
    guards = {
        "thermal_guard": config.thermal_guard.enabled,
        "frame_compensation": config.frame_compensation.enabled,
        "bandwidth_guard": config.bandwidth_guard.enabled,
    }
    idle = [key for key, enabled in guards.items() if enabled]
    if not idle or any(rate_hz is not None for rate_hz in source_rates_hz):
        return ""
    return f"{', '.join(idle)}: no effect on a source that runs free or has no known rate; use one with a rate"


def _highest(seen: float | None, now: float | None) -> float | None:
    return max((value for value in (seen, now) if value is not None), default=None)
