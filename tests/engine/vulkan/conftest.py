"""Vulkan tests run with the validation layer on; any message of it fails the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import av
import numpy as np
import pytest

from app.engine.frame import Frame
from app.engine.picture import Picture
from app.engine.vulkan.memory import Bytes
from app.engine.vulkan.offscreen import OffscreenRenderer, open_offscreen_renderer

OpenRenderer = Callable[..., OffscreenRenderer]


@pytest.fixture
def open_renderer() -> Iterator[OpenRenderer]:
    """Opens off-screen renderers that are closed, free of objects and free of validation messages at the end."""
    opened: list[OffscreenRenderer] = []

    def open_one(width: int, height: int, images: int = 2, tiles: int = 1) -> OffscreenRenderer:
        renderer = open_offscreen_renderer(images, width, height, validation=True, device="", tiles=tiles)
        opened.append(renderer)
        return renderer

    yield open_one
    for renderer in opened:
        renderer.close()
        assert renderer.validation_messages() == []
        assert renderer.live_objects() == {}


def read_png(path: Path) -> Bytes:
    """Return the pixels of a PNG as FFmpeg reads them: uint8 of shape (height, width, 3)."""
    with av.open(str(path)) as file:
        return np.asarray(next(file.decode(video=0)).to_ndarray(format="rgb24"))


def frame_in(slot: int, tile: int = 0) -> Frame:
    """Return a frame whose picture lies in a tile's staging slot."""
    frame = Frame()
    frame.slot, frame.source_index = slot, tile
    return frame


def draw(renderer: OffscreenRenderer, picture: Picture, path: Path) -> Bytes:
    """Upload and render a picture, and return what came out: uint8 of shape (height, width, 3)."""
    renderer.prepare(picture.format, 1)
    renderer.upload(picture, 0)
    assert renderer.wait(renderer.render([frame_in(0)], 0), 10_000_000_000)
    renderer.start_capture(0, path).finish()
    return read_png(path)
