"""Puts a configuration into force: which stage obeys which key, and when a change acts."""

from __future__ import annotations

from typing import Any, Final

from app.config.editing import changed_options
from app.config.options import Effect, option
from app.config.veoconfig import VeoConfig
from app.core.vocabulary import LatencyMode
from app.engine.sinks.sink import Sink, SinkRequest
from app.engine.stages import Stages

_SINK_KEYS: Final = frozenset({"present_mode", "min_image_count"})
_NEXT_FRAME: Final = "next frame"
_RECORDED: Final = "kept in the file; nothing in this version acts on it"
_EXTRA_SLOTS: Final = 4
"""Staging slots beside queue and images: one being filled, one in the scheduler's hand, two of slack."""


def sink_request(config: VeoConfig) -> SinkRequest:
    """Return what a configuration asks of the sink."""
    return SinkRequest(config.present_mode, config.min_image_count, config.command_buffers)


def slots_needed(config: VeoConfig, image_count: int) -> int:
    """Return the number of staging slots with which no stage ever waits for one in normal running."""
    return config.frame_queue_depth + image_count + _EXTRA_SLOTS


def configure_stages(config: VeoConfig, stages: Stages) -> None:
    """Set queue depths, overflow policy and preview rate; they act at once."""
    stages.configure_queues(config.nvdec_queue_depth, config.frame_queue_depth, config.overflow_policy)
    stages.preview_hz = config.preview_fps


def apply_change(old: VeoConfig, new: VeoConfig, sink: Sink, stages: Stages) -> dict[str, str]:
    """Put `new` into force and return when each changed key acts; present thread only.

    The caller puts the keys that the scheduler reads itself (latency) into force by using `new` from now on.

    Raises:
        SinkError: the sink could not be rebuilt.
    """
    changed = changed_options(old, new)
    rebuild_text = ""
    if _SINK_KEYS & changed.keys():
        sink.rebuild(sink_request(new))
        rebuild_text = f"swapchain rebuilt in {sink.info.rebuild_ms or 0.0:.1f} ms"
    configure_stages(new, stages)
    return {key: _effect_text(key, rebuild_text) for key in changed}


def changes_for_message(old: VeoConfig, new: VeoConfig) -> dict[str, list[Any]]:
    """Return what changed as key → [old, new] of plain JSON values."""
    return {key: list(pair) for key, pair in changed_options(old, new).items()}


def unbuilt_notice(config: VeoConfig) -> str:
    """Return what of a configuration this version cannot do and does otherwise, or ""."""
    if config.latency_mode is LatencyMode.BALANCED:
        return "latency_mode BALANCED is not in this version: LOW_JITTER with the full render_latency_ms is used"
    return ""


def _effect_text(key: str, rebuild_text: str) -> str:
    if key in _SINK_KEYS:
        return rebuild_text
    entry = option(key)
    if entry.effect is Effect.RECORD or not entry.acts:
        return _RECORDED
    return _NEXT_FRAME
