"""Puts a configuration into force: which stage obeys which key, and when a change acts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final

from app.config.editing import changed_options
from app.config.options import Effect, option
from app.config.sections import Realtime
from app.config.veoconfig import VeoConfig
from app.core.clock import NS_PER_MS, NS_PER_S
from app.core.errors import EngineError
from app.core.vocabulary import Governor, LatencyMode
from app.engine.branches import Branches
from app.engine.governors.governor_host import GovernorHost, no_effect_notice
from app.engine.present_loop import PresentLoop
from app.engine.realtime import RealtimeScheduling
from app.engine.sinks.sink import Sink, SinkRequest
from app.engine.stages import Rate
from app.ipc.messages import GovernorDecision, GovernorReadings, SourceInfo

_SINK_KEYS: Final = frozenset({"present_mode", "min_image_count", "command_buffers"})
_NEXT_FRAME: Final = "next frame"
_NEXT_START: Final = "when the engine is started anew: a device cannot be changed under a running one"
_RECORDED: Final = "kept in the file; nothing in this version acts on it"


class Pipeline:
    """The stages that a configuration and its governors act on, beside the present loop.

    `configure` is the present thread's, `tick` the status thread's; what both set is replaced whole.
    """

    def __init__(self, sink: Sink, loop: PresentLoop, branches: Branches, config: VeoConfig) -> None:
        self.sink = sink
        self.branches = branches
        self._scheduling = RealtimeScheduling()
        self._loop = loop
        self._config = config
        self._refresh_hz = sink.info.refresh_hz
        rates_hz = [_rate_to_lower(lane.source.info) for lane in loop.lanes]
        self._governors = GovernorHost(config, rates_hz, self._refresh_hz)
        self._topology = self._read_topology()
        loop.observe_settled = self._governors.observe_settled
        for lane, governor in zip(loop.lanes, self._governors.lanes, strict=True):
            lane.stages.observe_arrival = governor.observe_arrival

    def schedule(self, wanted: Realtime) -> str:
        """Schedule the threads as `realtime` says and return how the present thread stands then; present thread.

        Raises:
            EngineError: the system refuses.
        """
        return self._scheduling.apply(wanted).sentence()

    def configure(self, config: VeoConfig) -> None:
        """Set queue depths, overflow policy and rates; they act at once."""
        self._config = config
        self._governors.configure(config)
        for lane in self._loop.lanes:
            stages = lane.stages
            stages.configure_queues(config.nvdec_queue_depth, config.frame_queue_depth, config.overflow_policy)
            stages.grow_slots(self.sink.info.image_count)
        compensation = config.frame_compensation
        self._loop.prepare_to_make_up(compensation.enabled and compensation.interpolation != "none")
        self._set_rates()

    def notice(self) -> str:
        """Return what the user should know of this configuration on these sources, or ""."""
        return no_effect_notice(self._config, [governor.source_rate_hz for governor in self._governors.lanes])

    def note_readings(self, readings: GovernorReadings) -> None:
        """Let the governors know what the session measured."""
        self._governors.note_readings(readings)

    def tick(self, now_ns: int) -> list[GovernorDecision]:
        """Let the governors look, put what they want into force, and return what they decided; a few times a second."""
        self._follow_changes()
        decisions = self._governors.tick(now_ns)
        self._set_rates()
        return [self._with_added_latency(decision) for decision in decisions]

    def _follow_changes(self) -> None:
        """Let the governors know of another refresh, another source rate, other command buffers."""
        topology, refresh_hz = self._read_topology(), self.sink.info.refresh_hz
        if topology != self._topology:
            self._topology = topology
            self._governors.note_topology()
        if refresh_hz != self._refresh_hz:
            self._refresh_hz = refresh_hz
            self._governors.set_refresh(refresh_hz)
        for index, (lane, governor) in enumerate(zip(self._loop.lanes, self._governors.lanes, strict=True)):
            rate_hz = _rate_to_lower(lane.source.info)
            if rate_hz != governor.source_rate_hz:
                self._governors.set_source_rate(index, rate_hz)

    def _with_added_latency(self, decision: GovernorDecision) -> GovernorDecision:
        """Say in a decision to leave frames out what making pictures up in their places costs."""
        kind = self._config.frame_compensation.interpolation
        added_ns = max(lane.stages.extra_latency_ns for lane in self._loop.lanes) - self._governors.extra_latency_ns
        if decision.governor != Governor.COMPENSATION.label or kind == "none" or added_ns <= 0:
            return decision
        return replace(
            decision,
            reason=f"{decision.reason}; making pictures up ({kind}) adds {added_ns / NS_PER_MS:.1f} ms of latency",
        )

    def _set_rates(self) -> None:
        config = self._config
        for lane, governor in zip(self._loop.lanes, self._governors.lanes, strict=True):
            wanted_hz, who = governor.wanted
            if lane.source.info.free_running:
                wanted_hz, who = config.preview_fps, Governor.PREVIEW_FPS
            made_up = _interpolation(config, who)
            lane.stages.rate = Rate(wanted_hz, who, made_up)
            added_ns = 0 if made_up == "none" else interpolation_delay_ns(governor.source_rate_hz, wanted_hz)
            lane.stages.extra_latency_ns = self._governors.extra_latency_ns + added_ns

    def _read_topology(self) -> tuple[object, ...]:
        info = self.sink.info
        return (info.width, info.height, info.image_count, *(lane.stages.picture_format for lane in self._loop.lanes))


def _rate_to_lower(info: SourceInfo) -> float | None:
    return None if info.free_running else info.rate_hz


def interpolation_delay_ns(source_hz: float | None, kept_hz: float) -> int:
    """Return the latency that made-up pictures cost: the frame behind the longest gap must be there before its first.

    Of n frames in a row of which one is kept, the first left out is due n − 1 source intervals before the next kept one
    arrives: one source interval where every second frame is kept.
    """
    if not source_hz or not 0 < kept_hz < source_hz:
        return 0
    return round((math.ceil(source_hz / kept_hz - 1e-9) - 1) * NS_PER_S / source_hz)


def _interpolation(config: VeoConfig, who: Governor) -> str:
    """Return how pictures are made up: only where frames are left out by compensation and can wait for the next one."""
    due = config.latency_mode is not LatencyMode.LOW_LATENCY
    return config.frame_compensation.interpolation if due and who is Governor.COMPENSATION else "none"


def sink_request(config: VeoConfig) -> SinkRequest:
    """Return what a configuration asks of the sink."""
    return SinkRequest(config.present_mode, config.min_image_count, config.command_buffers)


def apply_change(old: VeoConfig, new: VeoConfig, pipeline: Pipeline) -> dict[str, str]:
    """Put `new` into force and return when each changed key acts; present thread only.

    The caller puts the keys that the scheduler reads itself (latency) into force by using `new` from now on.

    Raises:
        SinkError: the sink could not be rebuilt.
    """
    changed = changed_options(old, new)
    rebuild_text = _NEXT_FRAME
    if _SINK_KEYS & changed.keys():
        rebuild_text = _change_sink(pipeline.sink, sink_request(new))
    pipeline.configure(new)
    effects = {key: _effect_text(key, rebuild_text) for key in changed}
    effects |= pipeline.branches.change(old, new)
    if new.realtime != old.realtime:
        effects |= dict.fromkeys((key for key in changed if key.startswith("realtime.")), _reschedule(pipeline, new))
    return effects


def changes_for_message(old: VeoConfig, new: VeoConfig) -> dict[str, list[Any]]:
    """Return what changed as key → [old, new] of plain JSON values."""
    return {key: list(pair) for key, pair in changed_options(old, new).items()}


def _change_sink(sink: Sink, request: SinkRequest) -> str:
    before = sink.info.rebuilds
    sink.rebuild(request)
    if sink.info.rebuilds == before:
        return "next frame, without a rebuild of the swapchain"
    return f"swapchain rebuilt in {sink.info.rebuild_ms or 0.0:.1f} ms"


def _reschedule(pipeline: Pipeline, config: VeoConfig) -> str:
    try:
        return pipeline.schedule(config.realtime)
    except EngineError as error:
        return f"refused: {error}"


def _effect_text(key: str, rebuild_text: str) -> str:
    if key in _SINK_KEYS:
        return rebuild_text
    if key.startswith("device."):
        return _NEXT_START
    return _RECORDED if option(key).effect in (Effect.RECORD, Effect.PRIVILEGED) else _NEXT_FRAME
