"""Pictures of any planar format, and configurations, for the tests of the encode branch."""

from __future__ import annotations

from typing import Any

import numpy as np

from app.config.veoconfig import VeoConfig, config_from_object
from app.engine.picture import ChromaLocation, Matrix, Picture, PictureFormat, Plane

INTERVAL_60_NS = 16_666_667


def yuv420p(width: int = 320, height: int = 192) -> PictureFormat:
    return PictureFormat(width, height, 3, 1, 1, 8, False, Matrix.BT709, False, ChromaLocation.LEFT, name="yuv420p")


def filled_picture(picture_format: PictureFormat, codes: tuple[int, ...], padding_bytes: int = 0) -> Picture:
    """A picture of one colour: a sample code for each component, in the order in which they lie in memory."""
    planes, dtype = [], np.dtype("u1" if picture_format.bit_depth == 8 else "<u2")
    remaining = list(codes)
    for plane in range(picture_format.plane_count):
        width, height = picture_format.plane_size(plane)
        components = picture_format.components(plane)
        stride = width * components * dtype.itemsize + padding_bytes
        rows = np.full((height, stride), 0xAA, np.uint8)
        samples = np.tile(np.array(remaining[:components], dtype), width)
        rows[:, : stride - padding_bytes] = samples.view(np.uint8)
        del remaining[:components]
        planes.append(Plane(rows.tobytes()[: rows.size - padding_bytes], stride))
    return Picture(picture_format, tuple(planes))


def moving_picture(number: int, picture_format: PictureFormat | None = None, *, noisy: bool = False) -> Picture:
    """A picture whose luma moves with its number: detail in it costs a key frame more than the frames between."""
    picture_format = picture_format or yuv420p()
    width, height = picture_format.plane_size(0)
    texture = np.random.default_rng(1).integers(16, 235, (height, width), dtype=np.uint8)
    luma = np.roll(texture if noisy else texture // 16 + 100, 2 * number, axis=1)
    planes = [Plane(np.ascontiguousarray(luma).data, width)]
    for plane in range(1, picture_format.plane_count):
        chroma_width, chroma_height = picture_format.plane_size(plane)
        planes.append(Plane(bytes([128]) * (chroma_width * chroma_height), chroma_width))
    return Picture(picture_format, tuple(planes))


def config_of(depth: int = 4, guard: dict[str, Any] | None = None, **encoder: Any) -> VeoConfig:
    """A configuration with libx264 at its fastest, and what is given."""
    return config_from_object(
        {
            "nvenc_queue_depth": depth,
            "encoder": {"enabled": True, "codec": "libx264", "preset": "p1", **encoder},
            "iframe_guard": guard or {},
        }
    )
