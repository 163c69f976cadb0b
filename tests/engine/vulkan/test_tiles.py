"""One to nine tiles in one picture, with recorded command buffers reused or made anew."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from app.config.model import CommandBuffers
from app.core.clock import NO_STAMP_NS
from app.engine.frame import Frame
from app.engine.picture import Matrix, Picture, PictureFormat
from app.engine.vulkan.geometry import Rectangle, grid_cells, letterbox_in
from app.engine.vulkan.memory import Bytes
from app.engine.vulkan.offscreen import FRAMES_IN_FLIGHT, OffscreenRenderer
from tests.engine.vulkan import reference
from tests.engine.vulkan.conftest import OpenRenderer, frame_in, read_png

GREY = reference.picture_format(48, 30, planes=1, shift=(0, 0), full_range=True)
WIDTH, HEIGHT = 180, 120
MODES: tuple[CommandBuffers, ...] = ("record", "reuse")
SECOND_NS = 1_000_000_000

FORMATS = [
    GREY,
    reference.picture_format(64, 48),
    reference.picture_format(50, 38, planes=2),
    reference.picture_format(33, 47, planes=2, depth=10, high_aligned=True, matrix=Matrix.BT2020),
    reference.picture_format(40, 40, shift=(0, 0), aspect=(2, 1)),
    reference.picture_format(53, 31, rotation=90),
    reference.picture_format(60, 30, depth=10),
    reference.picture_format(20, 70, planes=1, shift=(0, 0)),
    reference.picture_format(60, 40, shift=(1, 0), full_range=True),
]


def flat(level: int, form: PictureFormat = GREY, padding: int = 0) -> Picture:
    """Return a picture of one grey level, 0–255."""
    return reference.make_picture(form, [np.full((form.height, form.width), level, np.uint16)], padding)


def noise(form: PictureFormat, seed: int) -> Picture:
    return reference.make_picture(form, reference.random_codes(form, seed))


def prepare(renderer: OffscreenRenderer, tiles: int, slots: int = 2) -> None:
    for tile in range(tiles):
        renderer.prepare(GREY, slots, tile)


def show(renderer: OffscreenRenderer, frames: Sequence[Frame], image: int = 0) -> None:
    assert renderer.wait(renderer.render(frames, image), 10 * SECOND_NS)


def capture(renderer: OffscreenRenderer, path: Path, image: int = 0) -> Bytes:
    renderer.start_capture(image, path).finish()
    return read_png(path)


def levels(pixels: Bytes, tiles: int) -> list[int | None]:
    """Return the grey level of each tile's picture; None where it is not the same all over."""
    height, width = pixels.shape[:2]
    found: list[int | None] = []
    for cell in grid_cells(tiles, width, height):
        seen = np.unique(cut(pixels, letterbox_in(GREY.display_size, cell)))
        found.append(int(seen[0]) if len(seen) == 1 else None)
    return found


def cut(pixels: Bytes, part: Rectangle) -> Bytes:
    return pixels[part.y : part.y + part.height, part.x : part.x + part.width]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("tiles", range(1, 10))
def test_each_tile_shows_its_source_in_its_cell_and_nothing_else_is_lit(
    open_renderer: OpenRenderer, tmp_path: Path, tiles: int, mode: CommandBuffers
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT, tiles=tiles)
    renderer.set_command_buffers(mode)
    prepare(renderer, tiles)
    for tile in range(tiles):
        renderer.upload(flat(100 + tile), 1, tile)
    show(renderer, [frame_in(1, tile) for tile in range(tiles)])
    pixels = capture(renderer, tmp_path / "tiles.png")
    assert levels(pixels, tiles) == [100 + tile for tile in range(tiles)]
    for cell in grid_cells(tiles, WIDTH, HEIGHT):
        cut(pixels, letterbox_in(GREY.display_size, cell))[:] = 0
    assert not pixels.any()


@pytest.mark.parametrize("mode", MODES)
def test_a_tile_is_black_until_its_first_frame_and_keeps_its_picture_while_others_run(
    open_renderer: OpenRenderer, tmp_path: Path, mode: CommandBuffers
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT, tiles=3)
    renderer.set_command_buffers(mode)
    prepare(renderer, 3)
    renderer.upload(flat(50), 0, 0)
    renderer.upload(flat(150), 0, 1)
    show(renderer, [frame_in(0, 0), frame_in(0, 1)])
    renderer.upload(flat(0), 0, 0)  # the slot is free again: the tile's picture must not come from it any more
    for turn in range(40):
        renderer.upload(flat(200 + turn), 1, 1)
        show(renderer, [frame_in(1, 1)])
    assert levels(capture(renderer, tmp_path / "tiles.png"), 3) == [50, 239, 0]


@pytest.mark.parametrize("mode", MODES)
def test_a_stalled_tile_keeps_its_picture_under_load(
    open_renderer: OpenRenderer, tmp_path: Path, mode: CommandBuffers
) -> None:
    """Random frames in random tiles, never waiting for the GPU: what is captured is what was last given to each."""
    random = np.random.default_rng(3)
    tiles, slots, images = 4, 8, 3
    renderer = open_renderer(WIDTH, HEIGHT, images, tiles)
    renderer.set_command_buffers(mode)
    for tile in range(tiles):
        renderer.prepare(GREY, slots, tile)
        for slot in range(slots):
            renderer.upload(flat(10 + 30 * tile + slot), slot, tile)
    expected = [0] * tiles
    pending = []
    for turn in range(60):
        for _ in range(int(random.integers(1, 12))):
            new = [tile for tile in range(tiles) if random.random() < 0.4] or [0]
            frames = [frame_in(int(random.integers(slots)), tile) for tile in new]
            renderer.render(frames, turn % images)
            for frame in frames:
                expected[frame.source_index] = 10 + 30 * frame.source_index + frame.slot
        path = tmp_path / f"{turn}.png"
        pending.append((renderer.start_capture(turn % images, path), path, list(expected)))
    for capture_, path, wanted in pending:
        capture_.finish()
        assert levels(read_png(path), tiles) == wanted


def test_reused_command_buffers_draw_to_the_pixel_what_those_recorded_anew_draw(
    open_renderer: OpenRenderer, tmp_path: Path
) -> None:
    drawn: dict[CommandBuffers, list[Bytes]] = {}
    for mode in MODES:
        renderer = open_renderer(WIDTH, HEIGHT, tiles=len(FORMATS))
        renderer.set_command_buffers(mode)
        for tile, form in enumerate(FORMATS):
            renderer.prepare(form, 3, tile)
            for slot in range(3):
                renderer.upload(noise(form, 10 * tile + slot), slot, tile)
        drawn[mode] = []
        random = np.random.default_rng(5)
        for turn in range(12):
            new = [tile for tile in range(len(FORMATS)) if turn == 0 or random.random() < 0.6]
            show(renderer, [frame_in(int(random.integers(3)), tile) for tile in new], turn % 2)
            drawn[mode].append(capture(renderer, tmp_path / "drawn.png", turn % 2))
    assert all(np.array_equal(anew, again) for anew, again in zip(drawn["record"], drawn["reuse"], strict=True))
    assert len({picture.tobytes() for picture in drawn["reuse"]}) == 12


@pytest.mark.parametrize("mode", MODES)
def test_tiles_have_formats_of_their_own(open_renderer: OpenRenderer, tmp_path: Path, mode: CommandBuffers) -> None:
    """Each picture comes out in its cell as it does alone in a window of the cell's size."""
    tiles = len(FORMATS)
    renderer = open_renderer(WIDTH, HEIGHT, tiles=tiles)
    renderer.set_command_buffers(mode)
    cells = grid_cells(tiles, WIDTH, HEIGHT)
    for tile, form in enumerate(FORMATS):
        renderer.prepare(form, 1, tile)
        renderer.upload(noise(form, tile), 0, tile)
    show(renderer, [frame_in(0, tile) for tile in range(tiles)])
    pixels = capture(renderer, tmp_path / "tiles.png").astype(int)
    for tile, form in enumerate(FORMATS):
        alone = open_renderer(cells[tile].width, cells[tile].height)
        alone.prepare(form, 1)
        alone.upload(noise(form, tile), 0)
        show(alone, [frame_in(0)])
        difference = cut(pixels, cells[tile]) - capture(alone, tmp_path / "alone.png").astype(int)
        assert np.abs(difference).max() <= 2, tile  # positions are computed in float32 from another corner


def test_a_recorded_command_buffer_is_submitted_again_and_nothing_is_recorded(open_renderer: OpenRenderer) -> None:
    renderer = open_renderer(WIDTH, HEIGHT, images=3, tiles=2)
    prepare(renderer, 2, slots=4)
    recorded = {}
    for mode in MODES:
        renderer.set_command_buffers(mode)
        before = 0
        for turn in range(60):
            if turn == 30:
                before = renderer.recordings
            show(renderer, [frame_in(turn % 4, tile) for tile in range(2)], turn % 3)
        recorded[mode] = renderer.recordings - before
    assert recorded == {"record": 30, "reuse": 0}


def test_the_mode_changes_with_the_next_frame_and_keeps_every_picture(
    open_renderer: OpenRenderer, tmp_path: Path
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT, tiles=2)
    prepare(renderer, 2, slots=4)
    for turn in range(40):
        renderer.set_command_buffers(MODES[turn // 2 % 2])
        renderer.upload(flat(20 + turn), turn % 4, turn % 2)
        show(renderer, [frame_in(turn % 4, turn % 2)])
        expected = [20 + turn - turn % 2, 20 + turn - 1 + turn % 2]
        if turn:
            assert levels(capture(renderer, tmp_path / "drawn.png"), 2) == expected


@pytest.mark.parametrize("tiles", [1, 2])
def test_what_was_recorded_is_made_anew_when_format_strides_slots_or_images_change(
    open_renderer: OpenRenderer, tmp_path: Path, tiles: int
) -> None:
    renderer = open_renderer(WIDTH, HEIGHT, tiles=tiles)
    renderer.set_command_buffers("reuse")
    prepare(renderer, tiles)
    path = tmp_path / "drawn.png"

    def shown(level: int, form: PictureFormat = GREY, padding: int = 0) -> int | None:
        tile = tiles - 1
        for turn in range(2 * FRAMES_IN_FLIGHT * 4):  # every plane set and both images, again and again
            renderer.upload(flat(level, form, padding), turn % 2, tile)
            show(renderer, [frame_in(turn % 2, tile)], turn % 2)
        return levels(capture(renderer, path, 1), tiles)[tile]

    assert shown(100) == 100
    assert shown(110, padding=7) == 110
    assert shown(120, padding=300) == 120  # the slot takes a larger buffer
    assert shown(130) == 130
    other = reference.picture_format(96, 60, planes=1, shift=(0, 0), full_range=True)
    renderer.prepare(other, 2, tiles - 1)
    assert shown(140, other) == 140
    renderer.prepare(GREY, 2, tiles - 1)
    assert shown(150) == 150
    renderer.prepare(GREY, 6, tiles - 1)
    assert shown(160) == 160
    renderer.rebuild(1)
    renderer.rebuild(3)
    assert shown(170) == 170


def test_a_new_format_in_one_tile_leaves_the_others_as_they_are(open_renderer: OpenRenderer, tmp_path: Path) -> None:
    renderer = open_renderer(WIDTH, HEIGHT, tiles=2)
    prepare(renderer, 2)
    for tile in range(2):
        renderer.upload(flat(60 + tile), 0, tile)
    show(renderer, [frame_in(0, 0), frame_in(0, 1)])
    renderer.prepare(reference.picture_format(96, 60), 2, 1)
    renderer.upload(flat(70), 1, 0)
    show(renderer, [frame_in(1, 0)])
    assert levels(capture(renderer, tmp_path / "drawn.png"), 2) == [70, 0]


@pytest.mark.parametrize("mode", MODES)
def test_five_hundred_frames_leave_the_number_of_objects_flat(
    open_renderer: OpenRenderer, mode: CommandBuffers
) -> None:
    renderer = open_renderer(64, 48, images=3, tiles=2)
    renderer.set_command_buffers(mode)
    prepare(renderer, 2, slots=5)
    counts = []
    for turn in range(600):
        show(renderer, [frame_in(turn % 5, turn % 2)], turn % 3)
        if turn >= 100:
            counts.append(renderer.live_objects())
    assert len(counts) == 500
    assert all(count == counts[0] for count in counts)


@pytest.mark.parametrize("mode", MODES)
def test_every_frame_of_a_picture_is_told_the_thread_s_cost_of_submitting_it(
    open_renderer: OpenRenderer, mode: CommandBuffers
) -> None:
    renderer = open_renderer(64, 48, tiles=2)
    renderer.set_command_buffers(mode)
    prepare(renderer, 2)
    for _ in range(10):
        frames = [frame_in(0, 0), frame_in(0, 1)]
        assert frames[0].submit_cpu_ns == NO_STAMP_NS
        before_ns = time.thread_time_ns()
        ticket = renderer.render(frames, 0)
        spent_ns = time.thread_time_ns() - before_ns
        assert 0 < frames[0].submit_cpu_ns == frames[1].submit_cpu_ns <= spent_ns
        renderer.wait(ticket, SECOND_NS)
        times = renderer.gpu_times(ticket)
        assert times is not None
        assert NO_STAMP_NS < times[0] <= times[1]


def test_images_that_come_and_go_leave_no_command_buffers_behind(open_renderer: OpenRenderer) -> None:
    renderer = open_renderer(64, 48, tiles=2)
    renderer.set_command_buffers("reuse")
    prepare(renderer, 2)
    counts = []
    for _ in range(60):
        renderer.rebuild(1)
        renderer.rebuild(2)
        for turn in range(8):
            show(renderer, [frame_in(turn % 2, 0), frame_in(turn % 2, 1)], turn % 2)
        counts.append(renderer.live_objects()["CommandBuffer"])
    assert counts[10] == counts[-1]
