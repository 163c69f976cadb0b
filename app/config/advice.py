"""Cross-field advice: settings that are valid each by itself and work against each other here, with the arithmetic.

None of it is an error: a user may have a reason.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Final

from app.config.veoconfig import VeoConfig
from app.core.vocabulary import LatencyMode, PresentMode


@dataclass(frozen=True, slots=True)
class Advice:
    """One piece of advice: `text` is a sentence or two with the arithmetic and a cure; `key` the option to look at."""

    key: str
    text: str


QUEUEING_MODES: Final = (PresentMode.FIFO, PresentMode.FIFO_RELAXED)
"""Present modes under which presented images wait in line for their refresh."""

LATENCY_TOLERANCE_MS: Final = 0.05
"""33.3 ms is meant as two refreshes of 60 Hz (33.33 ms): half the last digit that people write."""

EVEN_TOLERANCE_RATIO: Final = 0.002
"""59.94 fps on 60 Hz slips one refresh in 1000 and counts as even; 500 is the limit."""


def config_advice(
    config: VeoConfig,
    *,
    source_rate_hz: float | None = None,
    refresh_hz: float | None = None,
    available_modes: Collection[str] | None = None,
    image_count: int | None = None,
) -> tuple[Advice, ...]:
    """Return what is worth knowing about a configuration on this source and surface.

    Args:
        source_rate_hz: nominal rate; None when unknown or free-running.
        refresh_hz: None when unknown.
        available_modes: present modes that the surface offers; None when unknown.
        image_count: images that the swapchain really has; None takes `min_image_count`.

    What is unknown gives no advice.
    """
    found: list[Advice] = []
    found.extend(_queue_holds_latency(config, source_rate_hz))
    found.extend(_batch_within_refresh(config, refresh_hz))
    found.extend(_even_rate(config, source_rate_hz, refresh_hz))
    found.extend(_fifo_within_latency(config, refresh_hz, image_count or config.min_image_count))
    found.extend(_mode_offered(config, available_modes))
    return tuple(found)


def even_rates(rate_fps: float, refresh_hz: float) -> tuple[float, ...]:
    """Return the rates next to `rate_fps`, below then above, that show every frame for the same count of refreshes."""
    refreshes = refresh_hz / rate_fps
    below, above = math.ceil(refreshes), math.floor(refreshes)
    return tuple(refresh_hz / count for count in dict.fromkeys((below, above)) if count >= 1)


def is_even_rate(rate_fps: float, refresh_hz: float) -> bool:
    """Tell whether a rate divides the refresh rate, within `EVEN_TOLERANCE_RATIO`."""
    refreshes = refresh_hz / rate_fps
    whole = round(refreshes)
    return whole >= 1 and abs(refreshes - whole) <= EVEN_TOLERANCE_RATIO * whole


def _queue_holds_latency(config: VeoConfig, source_rate_hz: float | None) -> Iterator[Advice]:
    """A frame waits for its due time in the frame queue: latency × rate of them wait at once (Little)."""
    if not source_rate_hz or config.latency_mode is LatencyMode.LOW_LATENCY:
        return
    interval_ms = 1000 / source_rate_hz
    held_ms = config.frame_queue_depth * interval_ms
    if held_ms >= config.render_latency_ms - LATENCY_TOLERANCE_MS:
        return
    waiting = config.render_latency_ms / interval_ms
    needed = math.ceil(waiting - LATENCY_TOLERANCE_MS / interval_ms)
    yield Advice(
        "frame_queue_depth",
        f"render_latency_ms {config.render_latency_ms:g} ms at {source_rate_hz:g} fps is "
        f"{config.render_latency_ms:g} ÷ {interval_ms:.3g} = {waiting:.3g} frames waiting at once, but "
        f"frame_queue_depth {config.frame_queue_depth} holds {held_ms:.1f} ms of them; "
        f"raise it to {needed} or lower render_latency_ms to {_floor_tenth(held_ms):g} ms.",
    )


def _batch_within_refresh(config: VeoConfig, refresh_hz: float | None) -> Iterator[Advice]:
    if not refresh_hz or config.batch_window_us <= 1e6 / refresh_hz:
        return
    period_us = 1e6 / refresh_hz
    yield Advice(
        "batch_window_us",
        f"batch_window_us {config.batch_window_us} µs is longer than a refresh (1 000 000 ÷ {refresh_hz:g} Hz = "
        f"{period_us:.0f} µs): at most {1e6 / config.batch_window_us:.3g} of {refresh_hz:g} refreshes a second can "
        f"show a new frame; use {math.floor(period_us)} µs or less.",
    )


def _even_rate(config: VeoConfig, source_rate_hz: float | None, refresh_hz: float | None) -> Iterator[Advice]:
    rate = config.preview_fps or source_rate_hz
    if not refresh_hz or not rate or is_even_rate(rate, refresh_hz):
        return
    whose = "preview_fps" if config.preview_fps else "the source's own rate"
    refreshes = refresh_hz / rate
    rates = " or ".join(f"{even:.4g}" for even in even_rates(rate, refresh_hz))
    if refreshes < 1:
        effect = f"{rate - refresh_hz:.4g} frames a second can never be displayed"
    else:
        low = math.floor(refreshes)
        effect = f"frames stay {low} or {low + 1} refreshes in turn, which is seen as judder"
    yield Advice(
        "preview_fps",
        f"{whose} {rate:g} fps on {refresh_hz:g} Hz is {refresh_hz:g} ÷ {rate:g} = {refreshes:.4g} refreshes a frame: "
        f"{effect}; the nearest even rates are {rates} fps.",
    )


def _fifo_within_latency(config: VeoConfig, refresh_hz: float | None, images: int) -> Iterator[Advice]:
    if not refresh_hz or config.present_mode not in QUEUEING_MODES or config.latency_mode is LatencyMode.LOW_LATENCY:
        return
    delay_ms = (images - 1) * 1000 / refresh_hz
    if delay_ms <= config.render_latency_ms + LATENCY_TOLERANCE_MS:
        return
    yield Advice(
        "min_image_count",
        f"a saturated {config.present_mode} with {images} images delays a frame by ({images} − 1) × "
        f"{1000 / refresh_hz:.4g} ms = {delay_ms:.4g} ms, more than render_latency_ms {config.render_latency_ms:g} ms: "
        f"frames will be late; raise render_latency_ms to {math.ceil(delay_ms * 10 - 1e-6) / 10:g} ms"
        + (", ask for fewer images," if images > 2 else "")
        + " or use MAILBOX.",
    )


def _mode_offered(config: VeoConfig, available_modes: Collection[str] | None) -> Iterator[Advice]:
    if available_modes is None or config.present_mode in available_modes:
        return
    offered = ", ".join(available_modes) or "none"
    yield Advice(
        "present_mode",
        f"{config.present_mode} is not offered by this surface (it offers {offered}); another mode will be granted.",
    )


def _floor_tenth(value: float) -> float:
    return math.floor(value * 10 + 1e-6) / 10
