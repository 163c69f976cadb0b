"""Frames whose picture is made up from the one shown before and the one that follows, drawn by a renderer."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.config.model import CommandBuffers
from app.core.clock import NO_STAMP_NS
from app.core.records import FLAG_INTERPOLATED
from app.engine.frame import Frame, Interpolation
from app.engine.vulkan import tiles as tiles_module
from app.engine.vulkan.interpolation import Interpolator
from app.engine.vulkan.offscreen import OffscreenRenderer
from app.engine.vulkan.results import VulkanError
from tests.engine.vulkan import reference
from tests.engine.vulkan.conftest import OpenRenderer, frame_in, read_png
from tests.engine.vulkan.test_tiles import GREY, HEIGHT, MODES, WIDTH, capture, flat, levels, show

OUT_OF_DEVICE_MEMORY = -2


def between(later: Frame, phase: float = 0.5, kind: str = "blend") -> Frame:
    """Return a frame made up between what the tile shows and a later frame."""
    frame = Frame()
    frame.source_index = later.source_index
    frame.flags |= FLAG_INTERPOLATED
    frame.interpolation = Interpolation(kind, later, phase)
    return frame


def shown(renderer: OffscreenRenderer, path: Path, tiles: int = 1) -> list[int | None]:
    return levels(capture(renderer, path), tiles)


@pytest.mark.parametrize("kind", ["blend", "motion"])
@pytest.mark.parametrize("mode", MODES)
def test_pictures_between_two_are_mixed_by_their_phase_and_the_later_one_is_copied_once(
    open_renderer: OpenRenderer, tmp_path: Path, mode: CommandBuffers, kind: str
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT)
    renderer.set_command_buffers(mode)
    renderer.prepare(GREY, 2)
    path = tmp_path / "drawn.png"
    renderer.upload(flat(40), 0)
    show(renderer, [frame_in(0)])
    earlier = 40
    for turn in range(6):  # both slots and every plane set in turn
        level = 100 if turn % 2 else 200
        slot = 1 - turn % 2
        renderer.upload(flat(level), slot)
        later = frame_in(slot)
        for phase in (0.25, 0.5, 0.75):
            frame = between(later, phase, kind)
            show(renderer, [frame])
            assert shown(renderer, path) == [round((1 - phase) * earlier + phase * level)]
            assert frame.flags & FLAG_INTERPOLATED
            assert 0 < frame.interpolation_ns < 10_000_000_000
            assert frame.submit_cpu_ns > 0
        renderer.upload(flat(7), slot)  # its bytes are on the GPU: the slot is not read any more
        show(renderer, [later])
        assert shown(renderer, path) == [level]
        assert later.interpolation_ns == NO_STAMP_NS
        earlier = level


@pytest.mark.parametrize("mode", MODES)
def test_a_later_picture_that_is_left_out_after_all_spoils_nothing(
    open_renderer: OpenRenderer, tmp_path: Path, mode: CommandBuffers
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT)
    renderer.set_command_buffers(mode)
    renderer.prepare(GREY, 4)
    for slot, level in enumerate((40, 100, 160, 220)):
        renderer.upload(flat(level), slot)
    path = tmp_path / "drawn.png"
    show(renderer, [frame_in(0)])
    left_out = frame_in(1)
    show(renderer, [between(left_out)])
    show(renderer, [between(frame_in(2))])
    assert shown(renderer, path) == [100]
    show(renderer, [left_out])  # its plane set may have been given away: it is copied again
    assert shown(renderer, path) == [100]
    show(renderer, [between(frame_in(3))])
    assert shown(renderer, path) == [160]
    show(renderer, [frame_in(2)])
    assert shown(renderer, path) == [160]


def test_a_frame_object_that_is_used_again_is_not_taken_for_the_one_loaded_ahead(
    open_renderer: OpenRenderer, tmp_path: Path
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT)
    renderer.prepare(GREY, 3)
    for slot, level in enumerate((40, 100, 160)):
        renderer.upload(flat(level), slot)
    show(renderer, [frame_in(0)])
    frame = frame_in(1)
    show(renderer, [between(frame)])
    frame.reset(5)
    frame.slot = 2
    show(renderer, [frame])
    assert shown(renderer, tmp_path / "drawn.png") == [160]


def test_without_a_picture_before_it_the_later_one_is_shown_and_not_called_made_up(
    open_renderer: OpenRenderer, tmp_path: Path
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT)
    renderer.prepare(GREY, 2)
    renderer.upload(flat(90), 0)
    later = frame_in(0)
    frame = between(later)
    show(renderer, [frame])
    assert shown(renderer, tmp_path / "drawn.png") == [90]
    assert frame.flags == 0
    assert frame.interpolation_ns == NO_STAMP_NS
    show(renderer, [later])
    assert shown(renderer, tmp_path / "drawn.png") == [90]


def test_where_pictures_cannot_be_made_up_the_one_before_is_shown_again_and_it_is_said_once(
    open_renderer: OpenRenderer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tiles_module, "interpolation_unavailable", lambda *_: "no compute shaders here")
    renderer = open_renderer(WIDTH, HEIGHT, tiles=2)
    for tile in range(2):
        renderer.prepare(GREY, 2, tile)
        renderer.upload(flat(90 + tile), 0, tile)
        renderer.upload(flat(200), 1, tile)
    show(renderer, [frame_in(0, 0), frame_in(0, 1)])
    later = frame_in(1, 1)
    for _ in range(3):
        frame = between(later)
        show(renderer, [frame])
        assert not frame.flags & FLAG_INTERPOLATED
    assert shown(renderer, tmp_path / "drawn.png", 2) == [90, 91]
    assert renderer.take_notices() == [
        "source 2: pictures are not made up, the one before is shown again: no compute shaders here"
    ]
    assert renderer.take_notices() == []
    show(renderer, [later])
    assert shown(renderer, tmp_path / "drawn.png", 2) == [90, 200]


def test_too_little_memory_for_making_pictures_up_is_no_end_of_the_run(
    open_renderer: OpenRenderer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> Interpolator:
        raise VulkanError(OUT_OF_DEVICE_MEMORY, "vkAllocateMemory")

    monkeypatch.setattr(tiles_module, "Interpolator", refuse)
    renderer = open_renderer(WIDTH, HEIGHT)
    renderer.prepare(GREY, 2)
    renderer.upload(flat(90), 0)
    show(renderer, [frame_in(0)])
    show(renderer, [between(frame_in(1))])
    assert shown(renderer, tmp_path / "drawn.png") == [90]
    assert "ERROR_OUT_OF_DEVICE_MEMORY" in renderer.take_notices()[0]


class RandomLane:
    """Real and made-up frames of one tile in a random order; slot n holds the level 20·n + 2·tile.

    Attributes:
        level: what the tile shows after the last frame.
    """

    def __init__(self, tile: int, slots: int, random: np.random.Generator) -> None:
        self._tile = tile
        self._slots = slots
        self._random = random
        self._earlier: Frame | None = None
        self._later: Frame | None = None
        self.level = 0

    def next_frame(self) -> Frame | None:
        choice = self._random.random()
        if choice < 0.5 and self._earlier is not None:
            if self._later is None or self._random.random() < 0.2:  # a later frame is left out now and then
                self._later = self._any_frame()
            self.level = 10 * (self._earlier.slot + self._later.slot) + 2 * self._tile
            return between(self._later)
        if choice > 0.8:
            return None
        self._earlier, self._later = self._later or self._any_frame(), None
        self.level = 20 * self._earlier.slot + 2 * self._tile
        return self._earlier

    def _any_frame(self) -> Frame:
        return frame_in(int(self._random.integers(self._slots)), self._tile)


@pytest.mark.parametrize("mode", MODES)
def test_no_schedule_of_real_and_made_up_pictures_shows_a_wrong_one_under_load(
    open_renderer: OpenRenderer, tmp_path: Path, mode: CommandBuffers
) -> None:
    """Nobody waits for the GPU between the pictures."""
    tiles, slots, random = 2, 12, np.random.default_rng(11)
    renderer = open_renderer(WIDTH, HEIGHT, tiles=tiles)
    renderer.set_command_buffers(mode)
    for tile in range(tiles):
        renderer.prepare(GREY, slots, tile)
        renderer.prepare_interpolation(tile)
        for slot in range(slots):
            renderer.upload(flat(20 * slot + 2 * tile), slot, tile)
    lanes = [RandomLane(tile, slots, random) for tile in range(tiles)]
    captures = []
    for turn in range(150):
        frames = [frame for lane in lanes if (frame := lane.next_frame()) is not None]
        if frames:
            renderer.render(frames, turn % 2)
        if frames and turn % 3 == 0:
            path = tmp_path / f"{turn}.png"
            captures.append((renderer.start_capture(turn % 2, path), path, [lane.level for lane in lanes]))
    for pending, path, wanted in captures:
        pending.finish()
        assert levels(read_png(path), tiles) == wanted


def test_made_up_pictures_leave_the_number_of_objects_flat_and_a_new_format_starts_afresh(
    open_renderer: OpenRenderer, tmp_path: Path
) -> None:
    other = reference.picture_format(96, 60, planes=1, shift=(0, 0), full_range=True)
    renderer = open_renderer(WIDTH, HEIGHT)
    counts = []
    for form in (GREY, other, GREY):
        renderer.prepare(form, 4)
        for slot in range(4):
            renderer.upload(flat(50 * slot, form), slot)
        show(renderer, [frame_in(0)])
        for turn in range(120):
            later = frame_in((turn + 1) % 4)
            show(renderer, [between(later)], 0)
            show(renderer, [later], 1)
            if turn in (60, 119):
                counts.append(renderer.live_objects())
        show(renderer, [between(frame_in(3))])
        assert shown(renderer, tmp_path / "drawn.png") == [75]
    assert counts[0] == counts[1]
    assert counts[2] == counts[3]
    assert {**counts[4], "CommandBuffer": 0} == {**counts[0], "CommandBuffer": 0} == {**counts[5], "CommandBuffer": 0}
