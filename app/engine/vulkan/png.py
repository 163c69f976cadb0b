"""A PNG encoder for captured pictures: signature, header, deflated lines, end.

PyAV could do it, but its encoder belongs to the codec side of the engine and converts colours on the way; thirty lines
on zlib write the very bytes that were read back.
"""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Final

import numpy as np

from app.engine.vulkan.memory import Bytes

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COMPRESSION: Final = 1
"""Fastest deflate: a capture is made while frames run."""


def encode_png(rgb: Bytes) -> bytes:
    """Return a PNG file of an image, uint8 of shape (height, width, 3), R′G′B′."""
    height, width, _ = rgb.shape
    lines = np.zeros((height, 1 + 3 * width), np.uint8)  # each line begins with filter type 0
    lines[:, 1:] = rgb.reshape(height, 3 * width)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (
        _SIGNATURE
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(lines.tobytes(), _COMPRESSION))
        + _chunk(b"IEND", b"")
    )


def write_png(path: Path, rgb: Bytes) -> None:
    """Write an image as PNG through a temporary neighbour, so that no reader sees half a file.

    Raises:
        OSError: the file cannot be written.
    """
    part = path.with_name(f".{path.name}.part")
    part.write_bytes(encode_png(rgb))
    part.replace(path)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
