"""A decoded picture and the facts needed to show its colours and shape correctly."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from typing_extensions import Buffer


class Matrix(IntEnum):
    """Y′CbCr matrix coefficients (ITU-T H.273); RGB means the planes are G, B, R and no matrix applies."""

    BT601 = 0
    BT709 = 1
    BT2020 = 2
    RGB = 3


class ChromaLocation(IntEnum):
    """Where a chroma sample sits relative to its block of luma samples (H.273 chroma sample location type)."""

    LEFT = 0
    CENTER = 1
    TOP_LEFT = 2


@dataclass(frozen=True, slots=True)
class PictureFormat:
    """Everything that must be equal for two pictures to go through one conversion pipeline.

    Attributes:
        width, height: picture size in pixels, before rotation; odd sizes are allowed.
        plane_count: 1 (grey), 2 (luma and interleaved chroma, NV12 and P010) or 3 (planar).
        chroma_shift_x, chroma_shift_y: log2 of the chroma subsampling; 1, 1 is 4:2:0 and 0, 0 is 4:4:4.
        bit_depth: significant bits a sample: 8 (one byte) or 9–16 (two bytes, little-endian).
        high_aligned: samples of more than 8 bits sit in the high bits (P010), not the low ones (yuv420p10le).
        matrix, full_range, chroma_location: colour description.
        rotation_degrees: clockwise rotation to apply for display: 0, 90, 180 or 270.
        sample_aspect: pixel aspect ratio as (numerator, denominator).
        name: FFmpeg's pixel-format name, for people.
    """

    width: int
    height: int
    plane_count: int
    chroma_shift_x: int
    chroma_shift_y: int
    bit_depth: int
    high_aligned: bool
    matrix: Matrix
    full_range: bool
    chroma_location: ChromaLocation
    rotation_degrees: int = 0
    sample_aspect: tuple[int, int] = (1, 1)
    name: str = ""

    @property
    def bytes_per_sample(self) -> int:
        """Return 1 for 8-bit samples, else 2."""
        return 1 if self.bit_depth == 8 else 2

    def plane_size(self, plane: int) -> tuple[int, int]:
        """Return width and height of a plane in samples; an interleaved chroma sample pair counts as one."""
        if plane == 0:
            return self.width, self.height
        return -(-self.width >> self.chroma_shift_x), -(-self.height >> self.chroma_shift_y)

    def components(self, plane: int) -> int:
        """Return how many components a sample of this plane interleaves: 2 for NV12's chroma, else 1."""
        return 2 if self.plane_count == 2 and plane == 1 else 1

    @property
    def display_size(self) -> tuple[int, int]:
        """Return width and height as shown: after pixel aspect and rotation, in square pixels."""
        numerator, denominator = self.sample_aspect
        wide = max(1, round(self.width * numerator / denominator))
        return (self.height, wide) if self.rotation_degrees in (90, 270) else (wide, self.height)


class Plane(NamedTuple):
    """One plane in memory: `data` holds at least `height` rows of `stride_bytes` each (the last may end early)."""

    data: Buffer
    stride_bytes: int


@dataclass(slots=True)
class Picture:
    """A decoded picture in host memory.

    Attributes:
        format: its format. planes: its planes, first luma.
        keep: whatever owns the memory of `planes` (a decoder frame); dropped when the picture is released.
    """

    format: PictureFormat
    planes: tuple[Plane, ...]
    keep: object = None
