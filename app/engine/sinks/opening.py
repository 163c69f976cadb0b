"""Makes the sink that a text names."""

from __future__ import annotations

from app.config.sink_text import VirtualSpec, parse_sink
from app.core.clock import MonotonicClock
from app.core.errors import SinkError
from app.engine.sinks.sink import Sink, SinkRequest
from app.engine.sinks.swapchain import open_swapchain_sink
from app.engine.sinks.virtual import VirtualSink
from app.engine.vulkan.offscreen import OffscreenRenderer, open_offscreen_renderer

_VIRTUAL_WIDTH = 1280
_VIRTUAL_HEIGHT = 720


def open_sink(text: str, request: SinkRequest, *, validation: bool, device: str, tiles: int = 1) -> tuple[Sink, str]:
    """Open a sink and return it with a notice for the user ("" when all is as asked).

    Args:
        tiles: how many sources it shows side by side, 1–9.

    Raises:
        InvalidInputError: the text names no sink.
        SinkError: it cannot be opened here.
    """
    spec = parse_sink(text)
    if not isinstance(spec, VirtualSpec):
        return open_swapchain_sink(spec, request, validation=validation, device=device, tiles=tiles), ""
    renderer, notice = _renderer_if_possible(spec, request, validation, device, tiles)
    return VirtualSink(spec, request, MonotonicClock(), renderer), notice


def _renderer_if_possible(
    spec: VirtualSpec, request: SinkRequest, validation: bool, device: str, tiles: int
) -> tuple[OffscreenRenderer | None, str]:
    if not spec.process_on_gpu:
        return None, ""
    images = spec.images if spec.images is not None else request.min_image_count
    try:
        renderer = open_offscreen_renderer(
            images, _VIRTUAL_WIDTH, _VIRTUAL_HEIGHT, validation=validation, device=device, tiles=tiles
        )
    except SinkError as error:
        if device:
            raise  # a device asked for by name is not quietly done without
        return None, f"frames are not uploaded or converted, because there is no usable Vulkan device: {error}"
    return renderer, ""
