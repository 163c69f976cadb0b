"""Thumbnails in shared memory: the engine writes the newest one and never waits; the stream server copies it out.

Layout: a 4 KiB header (identity, what the engine makes, how many look on), then `SLOTS` slots of one thumbnail each.
Every slot has a sequence that is odd while the slot is being written. `published` rises when a slot is complete. A
reader copies the newest slot and looks at its sequence again: if that moved, the copy may be torn and the next try
takes the thumbnail that has become the newest. On the order of stores, see `app.ipc.frame_ring`.

Pixels are Y′CbCr 4:2:0 in three planes, full range, BT.601: what JPEG (JFIF) holds, so the server need not convert.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.ipc.shared_block import SharedBlock

MAX_WIDTH: Final = 960
MAX_HEIGHT: Final = 540
SLOTS: Final = 4
"""One newest, one being written, and two more: a reader has two whole intervals to copy in before it is lapped."""

_HEADER_BYTES: Final = 4096
_SLOT_HEADER_BYTES: Final = 4096
_PIXEL_BYTES: Final = MAX_WIDTH * MAX_HEIGHT * 3 // 2
_SLOT_BYTES: Final = _SLOT_HEADER_BYTES + -(-_PIXEL_BYTES // 4096) * 4096
_MAGIC: Final = 0x56454F5448554D42  # "VEOTHUMB"
_IDENTITY = struct.Struct("<QII")  # magic, layout version, slots
_VERSION: Final = 1
_TRIES: Final = 8

# Indexes of 64-bit words in the header; a cache line apart where another process writes.
_WANTED_WORD: Final = 8  # width, height, interval in ms
_PUBLISHED_WORD: Final = 16
_VIEWERS_WORD: Final = 24

_SEQUENCE_WORD: Final = 0  # in a slot, then `_FACTS`
_FACTS: Final = 6  # serial, frame index, at_ns, unix_ns, width, height

Plane8 = npt.NDArray[np.uint8]
"""One plane, shape (rows, columns), uint8; rows may be apart."""


@dataclass(frozen=True, slots=True)
class Thumbnail:
    """A small picture and the frame it shows.

    Attributes:
        serial: number of the thumbnail, from 1.
        frame_index: position of the frame in the whole video, from 0.
        at_ns: when the engine had the frame ready, CLOCK_MONOTONIC. unix_ns: the same instant, ns since 1970 (UTC).
        width, height: px, even.
        pixels: planes Y′, Cb, Cr without gaps, full range.
    """

    serial: int
    frame_index: int
    at_ns: int
    unix_ns: int
    width: int
    height: int
    pixels: bytes


@dataclass(frozen=True, slots=True)
class WantedThumbnail:
    """What the engine makes: the box in px that a thumbnail fits into, and the least time between two in ms."""

    width: int
    height: int
    interval_ms: int


def thumbnail_block_bytes() -> int:
    """Return the size of the shared block that holds the thumbnails."""
    return _HEADER_BYTES + SLOTS * _SLOT_BYTES


class ThumbnailWriter:
    """The engine's end. One writer only; no call waits for anyone.

    Args:
        block: shared memory of at least `thumbnail_block_bytes()`.
    """

    def __init__(self, block: SharedBlock) -> None:
        self._memory = memoryview(block.memory)
        self._words = self._memory.cast("Q")
        self._bytes = np.frombuffer(self._memory, np.uint8)
        _IDENTITY.pack_into(self._memory, 0, _MAGIC, _VERSION, SLOTS)
        self._serial = self._words[_PUBLISHED_WORD]

    @property
    def viewers(self) -> int:
        """How many clients look on, as the server last said; nobody needs a thumbnail at 0."""
        return self._words[_VIEWERS_WORD]

    def want(self, wanted: WantedThumbnail) -> None:
        """Tell the server what is made from here on."""
        words = self._words
        words[_WANTED_WORD], words[_WANTED_WORD + 1] = wanted.width, wanted.height
        words[_WANTED_WORD + 2] = wanted.interval_ms

    def write(self, frame_index: int, at_ns: int, unix_ns: int, planes: Sequence[Plane8]) -> None:
        """Publish a thumbnail in place of the oldest.

        Args:
            frame_index: position of the frame in the whole video.
            at_ns: CLOCK_MONOTONIC. unix_ns: the same instant since 1970.
            planes: Y′, Cb, Cr; the first has the thumbnail's size, both even, the others half of it.

        Raises:
            ValueError: the size is odd, zero or too large.
        """
        height, width = planes[0].shape
        if width % 2 or height % 2 or not (0 < width <= MAX_WIDTH and 0 < height <= MAX_HEIGHT):
            raise ValueError(f"a thumbnail is even and at most {MAX_WIDTH}×{MAX_HEIGHT}, not {width}×{height}")
        serial = self._serial + 1
        offset = _slot_offset(serial)
        word = offset // 8
        words = self._words
        # An engine that was killed while it wrote leaves an odd sequence, so it is set to odd, not raised by one.
        words[word + _SEQUENCE_WORD] = sequence = words[word + _SEQUENCE_WORD] + 1 | 1
        for index, value in enumerate((serial, frame_index, at_ns, unix_ns, width, height), word + 1):
            words[index] = value
        self._copy(offset + _SLOT_HEADER_BYTES, planes)
        words[word + _SEQUENCE_WORD] = sequence + 1
        words[_PUBLISHED_WORD] = self._serial = serial

    def close(self) -> None:
        """Let go of the shared memory, so that the block can be closed."""
        del self._bytes
        self._words.release()
        self._memory.release()

    def _copy(self, offset: int, planes: Sequence[Plane8]) -> None:
        for plane in planes:
            end = offset + plane.size
            # numpy copies without the interpreter lock, which the present loop wants.
            np.copyto(self._bytes[offset:end].reshape(plane.shape), plane)
            offset = end


class ThumbnailReader:
    """The server's end. One reader; not safe to share between threads.

    Attributes:
        torn: copies that were thrown away because the engine had written over them meanwhile.
    """

    def __init__(self, block: SharedBlock) -> None:
        self._memory = memoryview(block.memory)
        self._words = self._memory.cast("Q")
        self.torn = 0

    def wanted(self) -> WantedThumbnail | None:
        """Return what the engine makes; None before it has said so."""
        if _IDENTITY.unpack_from(self._memory, 0) != (_MAGIC, _VERSION, SLOTS):
            return None
        width, height, interval_ms = self._words[_WANTED_WORD : _WANTED_WORD + 3].tolist()
        return WantedThumbnail(width, height, interval_ms) if width else None

    def set_viewers(self, count: int) -> None:
        """Tell the engine how many clients look on; at 0 it makes no thumbnails."""
        self._words[_VIEWERS_WORD] = count

    @property
    def published(self) -> int:
        """Serial of the newest thumbnail; 0 when there has been none."""
        return self._words[_PUBLISHED_WORD]

    def newest(self, after_serial: int) -> Thumbnail | None:
        """Return the newest thumbnail if it is newer than `after_serial`; never waits.

        None also when the engine wrote over every copy that was tried, which only a reader that is kept from running
        sees; the next call tries again.
        """
        for _ in range(_TRIES):
            serial = self._words[_PUBLISHED_WORD]
            if serial <= after_serial:
                return None
            thumbnail = self._copy(serial)
            if thumbnail is not None:
                return thumbnail
            self.torn += 1
        return None

    def close(self) -> None:
        """Let go of the shared memory, so that the block can be closed."""
        self._words.release()
        self._memory.release()

    def _copy(self, serial: int) -> Thumbnail | None:
        """Return the thumbnail of that serial; None when it is being, or was meanwhile, written over."""
        offset = _slot_offset(serial)
        word = offset // 8
        before = self._words[word + _SEQUENCE_WORD]
        found, frame_index, at_ns, unix_ns, width, height = self._words[word + 1 : word + 1 + _FACTS].tolist()
        # A torn header may hold any size; the copy is bounded before it is judged.
        length = min(width * height * 3 // 2, _PIXEL_BYTES)
        start = offset + _SLOT_HEADER_BYTES
        pixels = bytes(self._memory[start : start + length])
        if before % 2 or found != serial or before != self._words[word + _SEQUENCE_WORD]:
            return None
        return Thumbnail(serial, frame_index, at_ns, unix_ns, width, height, pixels)


def _slot_offset(serial: int) -> int:
    return _HEADER_BYTES + serial % SLOTS * _SLOT_BYTES
