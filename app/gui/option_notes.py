"""What stands beside options while a run goes on: what was granted, what a governor did last, what a choice costs."""

from __future__ import annotations

from typing import Final

from app.config.veoconfig import VeoConfig
from app.core.vocabulary import LatencyMode
from app.gui.event_text import encoder_text
from app.gui.stream_text import StreamFacts, stream_words
from app.ipc.messages import EncoderState, GovernorDecision, SinkInfo, SourceInfo

DECISION_KEYS: Final = {
    "thermal": "thermal_guard.enabled",
    "compensation": "frame_compensation.enabled",
    "bandwidth": "bandwidth_guard.enabled",
    "iframe": "iframe_guard.enabled",
    "recapture": "recapture.ratio",
    "latency": "preview_latency",
}
"""Option beside which a governor's last decision stands, by the name in its message."""


def sink_notes(sink: SinkInfo) -> dict[str, str]:
    """Return what the sink granted, by option."""
    reason = f" ({sink.grant_reason})" if sink.grant_reason else ""
    others = [mode for mode in sink.live_modes if mode != sink.present_mode_granted]
    live = f" · without a rebuild: {', '.join(others)}" if others else ""
    mode = f"requested: {sink.present_mode_requested} · granted: {sink.present_mode_granted}"
    return {
        "present_mode": f"{mode}{reason}{live}",
        "min_image_count": f"the swapchain has {sink.image_count} images",
    }


def decision_notes(decision: GovernorDecision) -> dict[str, str]:
    """Return what a governor did last, by option."""
    key = DECISION_KEYS.get(decision.governor)
    return {} if key is None else {key: f"last: {decision.action} – {decision.reason}"}


def encoder_notes(encoder: EncoderState) -> dict[str, str]:
    """Return what the encode branch is, by option."""
    return {"encoder.enabled": encoder_text(encoder) if encoder.codec or encoder.notice else ""}


def stream_notes(facts: StreamFacts | None) -> dict[str, str]:
    """Return where the preview stream is served, by option; nothing where it is not."""
    return {"enable_preview": "" if facts is None else stream_words(facts)}


def interpolation_notes(config: VeoConfig, source: SourceInfo | None) -> dict[str, str]:
    """Return what made-up pictures cost in latency, by option."""
    rule, key = config.frame_compensation, "frame_compensation.interpolation"
    if not rule.enabled or rule.interpolation == "none":
        return {key: ""}
    if config.latency_mode is LatencyMode.LOW_LATENCY:
        return {key: "does nothing under LOW_LATENCY: a made-up picture has to wait for the frame behind it"}
    interval = f" ({1e3 / source.rate_hz:.3g} ms)" if source is not None and source.rate_hz else ""
    return {key: f"while every second frame is left out, pictures come one source interval{interval} later"}
