"""Where frame interpolation keeps what in its buffers: pyramid levels, vector fields and the planes it makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from app.engine.picture import PictureFormat

BLOCK: Final = 8
"""Side of a block of the motion search, in pixels of its level; `BLOCK` of assets/shaders/interpolation.glsl."""

LEAST_LEVEL_SIDE: Final = 32
"""Shortest side of a level worth searching: four blocks. A pyramid reaches down to it, so that the longest movement
found is a fixed share of the picture, about an eighth of its height."""

MOST_LEVELS: Final = 8
"""More would let vectors, 16 bits in 1/16 pixel, run over: eight reach 6 · 2⁷ + 127 of 2047 pixels."""

SEARCH_RADIUS: Final = 6
"""Longest displacement tried on the coarsest level, in its pixels."""

EVIDENCE_LEVELS: Final = 3
"""Most levels on which a cut is looked for; `EVIDENCE_LEVELS` of assets/shaders/interpolation.glsl."""

TALLY_WORDS: Final = 2 * EVIDENCE_LEVELS
"""Words before the first vector of the motion buffer: for each level changed blocks, and those without a match."""


class Level(NamedTuple):
    """One level of a luma pyramid.

    Attributes:
        width, height: in pixels. first_word: of the level, in a pyramid. first_vector: of the level, in a field.
    """

    width: int
    height: int
    first_word: int
    first_vector: int

    @property
    def stride_words(self) -> int:
        """Return the words of a line; a word holds four samples."""
        return -(-self.width // 4)

    @property
    def blocks(self) -> tuple[int, int]:
        """Return how many blocks the level has across and down; those at the edge may be cut."""
        return -(-self.width // BLOCK), -(-self.height // BLOCK)

    @property
    def end_word(self) -> int:
        """Return the first word after the level."""
        return self.first_word + self.stride_words * self.height

    @property
    def end_vector(self) -> int:
        """Return the first vector after the level's."""
        return self.first_vector + self.blocks[0] * self.blocks[1]


class MadePlane(NamedTuple):
    """A plane of the made-up picture in the output buffer: lines of whole words."""

    first_word: int
    stride_words: int
    height: int
    texels_per_word: int


@dataclass(frozen=True, slots=True)
class InterpolationLayout:
    """The layout for one picture format.

    Attributes:
        levels: finest first. planes: as the picture's. made_words: size of the made-up picture.
    """

    levels: tuple[Level, ...]
    planes: tuple[MadePlane, ...]
    made_words: int

    @property
    def pyramid_words(self) -> int:
        """Return the words of one picture's pyramid."""
        return self.levels[-1].end_word

    @property
    def field_vectors(self) -> int:
        """Return the vectors of all levels."""
        return self.levels[-1].end_vector

    @property
    def evidence_levels(self) -> int:
        """Return on how many levels, from the finest, a cut is looked for."""
        return min(EVIDENCE_LEVELS, len(self.levels))

    @property
    def buffer_bytes(self) -> tuple[int, int, int, int]:
        """Return the sizes of the four buffers: two pyramids, vectors found and smoothed, motion, made-up picture."""
        finest = self.levels[0].end_vector
        words = (2 * self.pyramid_words, 2 * self.field_vectors, TALLY_WORDS + 2 * finest, self.made_words)
        return 4 * words[0], 4 * words[1], 4 * words[2], 4 * words[3]


def lay_out(picture_format: PictureFormat) -> InterpolationLayout:
    """Return the layout for pictures of a format."""
    planes, made_words = _planes(picture_format)
    return InterpolationLayout(_levels(picture_format.width, picture_format.height), planes, made_words)


def _levels(width: int, height: int) -> tuple[Level, ...]:
    levels = [Level(width, height, 0, 0)]
    while len(levels) < MOST_LEVELS:
        finer = levels[-1]
        width, height = -(-finer.width // 2), -(-finer.height // 2)
        if min(width, height) < LEAST_LEVEL_SIDE:
            break
        levels.append(Level(width, height, finer.end_word, finer.end_vector))
    return tuple(levels)


def _planes(picture_format: PictureFormat) -> tuple[tuple[MadePlane, ...], int]:
    planes, position = [], 0
    for plane in range(picture_format.plane_count):
        width, height = picture_format.plane_size(plane)
        texels = 4 // (picture_format.components(plane) * picture_format.bytes_per_sample)
        planes.append(MadePlane(position, -(-width // texels), height, texels))
        position += planes[-1].stride_words * height
    return tuple(planes), position
