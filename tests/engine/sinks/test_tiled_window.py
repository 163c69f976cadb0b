"""A window of several tiles: what is captured of it is the whole picture."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from app.config.model import CommandBuffers
from app.config.sink_text import HeadlessSpec
from app.core.vocabulary import PresentMode
from app.engine.sinks.sink import SinkRequest
from app.engine.sinks.swapchain import open_swapchain_sink
from tests.engine.vulkan.conftest import frame_in, read_png
from tests.engine.vulkan.test_tiles import GREY, HEIGHT, MODES, SECOND_NS, WIDTH, flat, levels


@pytest.mark.parametrize("mode", MODES)
def test_a_capture_of_a_window_shows_all_tiles(tmp_path: Path, mode: CommandBuffers) -> None:
    request = SinkRequest(PresentMode.IMMEDIATE, 3, mode)
    sink = open_swapchain_sink(HeadlessSpec(WIDTH, HEIGHT), request, validation=True, device="", tiles=4)
    try:
        for tile in range(4):
            sink.prepare(GREY, 2, tile)
            sink.upload(flat(80 + tile), 0, tile)
        for tile in range(4):
            image = sink.acquire(time.monotonic_ns() + 5 * SECOND_NS)
            assert image is not None
            sink.present([frame_in(0, tile)], image)
        sink.start_capture(tmp_path / "window.png").finish()
        assert levels(read_png(tmp_path / "window.png"), 4) == [80, 81, 82, 83]
    finally:
        sink.close()
    assert sink.validation_messages() == []
    assert sink.live_objects() == {}
