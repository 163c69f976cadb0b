from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pytest

from app.engine.vulkan.interpolation import InterpolationKind, Interpolator, interpolation_unavailable
from app.engine.vulkan.one_time import OneTimeCommands
from app.engine.vulkan.results import DeviceHungError
from tests.engine.vulkan import reference
from tests.engine.vulkan.made_pictures import Workshop, as_stored, open_workshop, psnr_db, texture
from tests.engine.vulkan.reference import Codes

FORM = reference.picture_format(320, 180)
KINDS: list[InterpolationKind] = ["blend", "motion"]

FORMATS = {
    "420": reference.picture_format(203, 117),
    "422": reference.picture_format(202, 117, shift=(1, 0)),
    "444": reference.picture_format(201, 117, shift=(0, 0)),
    "410": reference.picture_format(203, 118, shift=(2, 2)),
    "grey": reference.picture_format(203, 117, planes=1, shift=(0, 0)),
    "nv12": reference.picture_format(203, 117, planes=2),
    "420-10": reference.picture_format(203, 117, depth=10),
    "422-12": reference.picture_format(202, 117, shift=(1, 0), depth=12),
    "444-16": reference.picture_format(201, 117, shift=(0, 0), depth=16),
    "p010": reference.picture_format(203, 117, planes=2, depth=10, high_aligned=True),
}


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    with open_workshop(FORM) as opened:
        yield opened


@pytest.fixture(scope="module", params=FORMATS.values(), ids=list(FORMATS))
def any_workshop(request: pytest.FixtureRequest) -> Iterator[Workshop]:
    """A workshop for each format in turn."""
    with open_workshop(request.param) as opened:
        yield opened


def gain_db(workshop: Workshop, pair: list[list[Codes]], truth: list[Codes], phase: float = 0.5) -> float:
    """Return by how much `motion` comes nearer to the truth than `blend`."""
    found = [psnr_db(workshop.form, workshop.make(pair, phase, kind), truth) for kind in ("motion", "blend")]
    return found[0] - found[1]


def grey(field: npt.NDArray[np.float64]) -> list[Codes]:
    """Return a picture of `FORM` with a luma of the field, 0…255, and no colour."""
    chroma = np.full(FORM.plane_size(1)[::-1], 128, np.uint16)
    return [np.clip(np.round(field), 0, 255).astype(np.uint16), chroma, chroma]


def positions() -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    y, x = np.mgrid[0 : FORM.height, 0 : FORM.width].astype(np.float64)
    return x, y


# --- blend ------------------------------------------------------------------------------------------------------------


def test_blend_mixes_every_sample_by_the_phase(any_workshop: Workshop) -> None:
    form = any_workshop.form
    pair = [reference.random_codes(form, seed) for seed in (1, 2)]
    earlier, later = (as_stored(form, codes) for codes in pair)
    for phase in (0.25, 0.5, 0.75, 0.1):
        mixed = [(1 - phase) * a.astype(np.float64) + phase * b for a, b in zip(earlier, later, strict=True)]
        for samples, exact in zip(any_workshop.make(pair, phase, "blend"), mixed, strict=True):
            if phase == 0.1:  # which no float holds; a tie may fall either way
                assert np.abs(samples - exact).max() <= 0.51
            else:
                assert np.array_equal(samples, np.floor(exact + 0.5))


# --- both kinds -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_between_two_equal_pictures_lies_the_same_picture(any_workshop: Workshop, kind: InterpolationKind) -> None:
    codes = reference.random_codes(any_workshop.form)
    for phase in (0.25, 0.5, 0.9):
        made = any_workshop.make([codes, codes], phase, kind)
        assert all(np.array_equal(a, b) for a, b in zip(made, as_stored(any_workshop.form, codes), strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("phase", [0.0, 1.0])
def test_at_either_end_lies_the_picture_of_that_end(workshop: Workshop, kind: InterpolationKind, phase: float) -> None:
    clip = texture(FORM)
    pair = [clip.moved(0, 0), clip.moved(6, -3)]
    made = workshop.make(pair, phase, kind)
    assert all(np.array_equal(a, b) for a, b in zip(made, pair[int(phase)], strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("size", [(1, 1), (1, 9), (5, 2), (17, 31), (64, 8)], ids=str)
def test_pictures_smaller_than_a_block_are_made_up_too(kind: InterpolationKind, size: tuple[int, int]) -> None:
    form = reference.picture_format(*size)
    codes = reference.random_codes(form)
    with open_workshop(form) as workshop:
        made = workshop.make([codes, codes], 0.5, kind)
    assert all(np.array_equal(a, b) for a, b in zip(made, codes, strict=True))


def test_nothing_of_one_picture_is_left_in_the_next(workshop: Workshop) -> None:
    clip, other = texture(FORM), texture(FORM, seed=9)
    pair = [clip.moved(0, 0), clip.moved(7.3, 2)]
    alone = workshop.make(pair, 0.5, "motion")
    workshop.make([clip.moved(0, 0), other.moved(0, 0)], 0.5, "motion")
    assert all(np.array_equal(a, b) for a, b in zip(workshop.make(pair, 0.5, "motion"), alone, strict=True))


def test_the_passes_wait_for_what_they_read_and_overwrite(monkeypatch: pytest.MonkeyPatch) -> None:
    """The validation layer follows every access of a command buffer here, and names those that nothing keeps apart."""
    monkeypatch.setenv("VK_LAYER_ENABLES", "VK_VALIDATION_FEATURE_ENABLE_SYNCHRONIZATION_VALIDATION_EXT")
    clip = texture(FORM)
    with open_workshop(FORM) as workshop:
        for kind in KINDS:
            workshop.make([clip.moved(0, 0), clip.moved(4, 0)], 0.5, kind)


def test_the_gpu_time_of_each_picture_in_flight_is_its_own(workshop: Workshop) -> None:
    clip = texture(FORM)
    pair = [clip.moved(0, 0), clip.moved(4.5, 0)]
    workshop.make(pair, 0.5, "motion", frame_in_flight=0)
    first_ns = workshop.interpolator.gpu_time_ns(0)
    workshop.make(pair, 0.5, "blend", frame_in_flight=1)
    assert workshop.interpolator.gpu_time_ns(0) == first_ns
    assert 0 < workshop.interpolator.gpu_time_ns(1) < 10_000_000_000
    assert first_ns > 0


def test_a_start_that_fails_leaves_nothing_behind(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(commands: OneTimeCommands) -> None:
        raise DeviceHungError

    before = workshop.device.census.live_objects()
    monkeypatch.setattr(OneTimeCommands, "wait", hang)
    with pytest.raises(DeviceHungError):
        Interpolator(workshop.device, workshop.clock, FORM, workshop.pictures, 1)
    assert workshop.device.census.live_objects() == before


def test_a_picture_too_large_for_a_buffer_is_refused_with_the_numbers(workshop: Workshop) -> None:
    assert interpolation_unavailable(workshop.device, FORM) == ""
    huge = reference.picture_format(60_000, 60_000, shift=(0, 0), depth=16)
    assert "60000×60000 needs a buffer of" in interpolation_unavailable(workshop.device, huge)


# --- motion -----------------------------------------------------------------------------------------------------------

MOVES = [(2, 0), (0, -3), (4, 2), (1.5, 0.5), (7.25, -3.5), (-11, 5.6), (16, 0), (-22.4, 9), (3.3, 21)]


@pytest.mark.parametrize("phase", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("move", MOVES, ids=str)
def test_motion_is_3_db_nearer_than_blend_to_a_texture_that_moves(
    workshop: Workshop, move: tuple[float, float], phase: float
) -> None:
    clip = texture(FORM)
    truth = clip.moved(move[0] * phase, move[1] * phase)
    assert gain_db(workshop, [clip.moved(0, 0), clip.moved(*move)], truth, phase) >= 3


@pytest.mark.parametrize("move", [(0.5, -0.25), (0.2, 0.1)], ids=str)
def test_a_movement_below_a_pixel_which_blend_shows_well_gets_no_worse(
    workshop: Workshop, move: tuple[float, float]
) -> None:
    clip = texture(FORM)
    assert gain_db(workshop, [clip.moved(0, 0), clip.moved(*move)], clip.moved(move[0] / 2, move[1] / 2)) >= 0


def test_motion_is_followed_in_every_format_and_plane(any_workshop: Workshop) -> None:
    form = any_workshop.form
    clip = texture(form)
    pair, truth = [clip.moved(0, 0), clip.moved(9.4, -4.2)], clip.moved(4.7, -2.1)
    moved, mixed = (any_workshop.make(pair, 0.5, kind) for kind in ("motion", "blend"))
    assert psnr_db(form, moved, truth) >= psnr_db(form, mixed, truth) + 3
    for plane in range(len(truth)):
        errors = [np.abs(a[plane].astype(float) - as_stored(form, truth)[plane]).mean() for a in (moved, mixed)]
        assert errors[0] < 0.5 * errors[1]


def test_a_zoom_is_followed(workshop: Workshop) -> None:
    clip = texture(FORM, finest_px=8).moved(0, 0)[0].astype(np.float64)
    x, y = positions()

    def zoomed(scale: float) -> list[Codes]:
        column, row = (x - 160) * scale + 160, (y - 90) * scale + 90
        return grey(_bilinear(clip, column, row))

    assert gain_db(workshop, [zoomed(1.0), zoomed(0.95)], zoomed(0.975)) >= 3


@pytest.mark.parametrize("radius", [45, 14])
def test_something_that_moves_over_a_ground_at_rest_leaves_the_ground_as_it_is(workshop: Workshop, radius: int) -> None:
    ground, thing = (texture(FORM, seed).moved(0, 0)[0].astype(np.float64) for seed in (3, 4))
    x, y = positions()

    def at(right: float) -> list[Codes]:
        inside = np.hypot(x - 120 - right, y - 90) < radius
        return grey(np.where(inside, np.roll(thing, int(right), axis=1), ground))

    pair, truth = [at(0), at(12)], at(6)
    assert gain_db(workshop, pair, truth) >= 3
    made = workshop.make(pair, 0.5, "motion")
    assert np.array_equal(made[0][:, 220:], truth[0][:, 220:])


@pytest.mark.parametrize("phase", [0.25, 0.5, 0.75])
@pytest.mark.parametrize("detail_px", [(3.0, 3.0), (3.0, 40.0), (40.0, 40.0), (80.0, 20.0)], ids=str)
def test_at_a_cut_motion_is_not_worse_than_blend(
    workshop: Workshop, detail_px: tuple[float, float], phase: float
) -> None:
    pair = [texture(FORM, seed, finest).moved(0, 0) for seed, finest in zip((5, 6), detail_px, strict=True)]
    for truth in pair:
        assert gain_db(workshop, pair, truth, phase) >= -0.5


@pytest.mark.parametrize("level", [16.0, 120.0, 235.0])
def test_a_cut_to_one_colour_is_a_cut(workshop: Workshop, level: float) -> None:
    pair = [texture(FORM).moved(0, 0), grey(np.full((180, 320), level))]
    for truth in pair:
        assert gain_db(workshop, pair, truth) >= -0.5


def test_a_fade_is_no_movement(workshop: Workshop) -> None:
    field = texture(FORM).moved(0, 0)[0].astype(np.float64)
    assert gain_db(workshop, [grey(field), grey(0.7 * field)], grey(0.85 * field)) >= -0.5


def test_noise_on_a_picture_at_rest_is_no_movement(workshop: Workshop) -> None:
    field, random = texture(FORM).moved(0, 0)[0].astype(np.float64), np.random.default_rng(1)
    pair = [grey(field + random.normal(0, 6, field.shape)) for _ in range(2)]
    assert gain_db(workshop, pair, grey(field)) >= -0.5


@pytest.mark.parametrize("period", [8, 12, 16, 24])
def test_a_repeated_texture_that_moves_by_a_quarter_of_its_period_moves_on_and_not_back(
    workshop: Workshop, period: int
) -> None:
    x, y = positions()

    def at(right: float) -> list[Codes]:
        return grey(128 + 60 * np.sin(2 * np.pi * (x - right) / period) + 20 * np.sin(2 * np.pi * y / 90))

    assert gain_db(workshop, [at(0), at(period / 4)], at(period / 8)) >= 3


def _bilinear(
    field: npt.NDArray[np.float64], column: npt.NDArray[np.float64], row: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    left, top = np.floor(column).astype(int), np.floor(row).astype(int)
    right_part, lower_part = column - left, row - top

    def at(x: npt.NDArray[np.int_], y: npt.NDArray[np.int_]) -> npt.NDArray[np.float64]:
        return field[np.clip(y, 0, field.shape[0] - 1), np.clip(x, 0, field.shape[1] - 1)]

    upper = at(left, top) * (1 - right_part) + at(left + 1, top) * right_part
    lower = at(left, top + 1) * (1 - right_part) + at(left + 1, top + 1) * right_part
    return np.asarray(upper * (1 - lower_part) + lower * lower_part)
