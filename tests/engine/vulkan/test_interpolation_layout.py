from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from app.engine.picture import PictureFormat
from app.engine.vulkan.interpolation_layout import (
    BLOCK,
    EVIDENCE_LEVELS,
    LEAST_LEVEL_SIDE,
    MOST_LEVELS,
    SEARCH_RADIUS,
    lay_out,
)
from tests.engine.vulkan import reference

SIDES = st.integers(1, 32_768)


@st.composite
def formats(draw: st.DrawFn) -> PictureFormat:
    planes = draw(st.integers(1, 3))
    shift = draw(st.sampled_from([(0, 0), (1, 0), (1, 1), (2, 2)])) if planes > 1 else (0, 0)
    depth = draw(st.integers(8, 16))
    return reference.picture_format(draw(SIDES), draw(SIDES), planes=planes, shift=shift, depth=depth)


@given(form=formats())
def test_every_plane_has_whole_words_of_its_own_for_every_texel(form: PictureFormat) -> None:
    layout, end = lay_out(form), 0
    for index, plane in enumerate(layout.planes):
        width, height = form.plane_size(index)
        texel_bytes = form.components(index) * form.bytes_per_sample
        assert plane.first_word == end
        assert plane.height == height
        assert 0 <= plane.stride_words * 4 - width * texel_bytes < 4
        assert plane.texels_per_word * texel_bytes == 4
        end += plane.stride_words * height
    assert layout.made_words == end


@given(width=SIDES, height=SIDES)
def test_a_pyramid_halves_until_a_level_would_be_too_small_to_search(width: int, height: int) -> None:
    layout = lay_out(reference.picture_format(width, height))
    levels = layout.levels
    assert (levels[0].width, levels[0].height) == (width, height)
    for finer, coarser in pairwise(levels):
        assert (coarser.width, coarser.height) == (-(-finer.width // 2), -(-finer.height // 2))
        assert min(coarser.width, coarser.height) >= LEAST_LEVEL_SIDE
        assert coarser.first_word == finer.first_word + finer.stride_words * finer.height
        assert coarser.first_vector == finer.first_vector + finer.blocks[0] * finer.blocks[1]
    assert min(levels[-1].width, levels[-1].height) < 2 * LEAST_LEVEL_SIDE or len(levels) == MOST_LEVELS
    # The longest vector in the 16-bit sixteenths of a pixel that the shaders keep.
    assert 16 * (SEARCH_RADIUS * 2 ** (len(levels) - 1) + 2 ** (len(levels) - 1)) < 2**15
    assert 1 <= layout.evidence_levels <= min(EVIDENCE_LEVELS, len(levels))


@given(width=SIDES, height=SIDES)
def test_blocks_cover_every_level_and_four_samples_fit_a_word(width: int, height: int) -> None:
    for level in lay_out(reference.picture_format(width, height)).levels:
        assert 0 <= level.blocks[0] * BLOCK - level.width < BLOCK
        assert 0 <= level.blocks[1] * BLOCK - level.height < BLOCK
        assert 0 <= level.stride_words * 4 - level.width < 4
