"""Puts a configuration into force: which stage obeys which key, and when a change acts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from app.config.editing import changed_options
from app.config.options import Effect, option
from app.config.veoconfig import VeoConfig
from app.core.vocabulary import Governor
from app.engine.lane import Lane
from app.engine.sinks.sink import Sink, SinkRequest
from app.engine.stages import Rate
from app.ipc.messages import GovernorReadings

_SINK_KEYS: Final = frozenset({"present_mode", "min_image_count", "command_buffers"})
_NEXT_FRAME: Final = "next frame"
_RECORDED: Final = "kept in the file; nothing in this version acts on it"


class Pipeline:
    """The stages that a configuration acts on, beside the present loop; present thread."""

    def __init__(self, sink: Sink, lanes: Sequence[Lane]) -> None:
        self.sink = sink
        self._lanes = lanes

    def configure(self, config: VeoConfig) -> None:
        """Set queue depths, overflow policy and rate; they act at once."""
        for lane in self._lanes:
            stages = lane.stages
            stages.configure_queues(config.nvdec_queue_depth, config.frame_queue_depth, config.overflow_policy)
            stages.grow_slots(self.sink.info.image_count)
            stages.rate = Rate(config.preview_fps, Governor.PREVIEW_FPS)

    def note_readings(self, readings: GovernorReadings) -> None:
        """Let the governors know what the session measured."""


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
    return {key: _effect_text(key, rebuild_text) for key in changed}


def changes_for_message(old: VeoConfig, new: VeoConfig) -> dict[str, list[Any]]:
    """Return what changed as key → [old, new] of plain JSON values."""
    return {key: list(pair) for key, pair in changed_options(old, new).items()}


def _change_sink(sink: Sink, request: SinkRequest) -> str:
    before = sink.info.rebuilds
    sink.rebuild(request)
    if sink.info.rebuilds == before:
        return "next frame, without a rebuild of the swapchain"
    return f"swapchain rebuilt in {sink.info.rebuild_ms or 0.0:.1f} ms"


def _effect_text(key: str, rebuild_text: str) -> str:
    if key in _SINK_KEYS:
        return rebuild_text
    return _RECORDED if option(key).effect in (Effect.RECORD, Effect.PRIVILEGED) else _NEXT_FRAME
