"""Thumbnails as messages: the picture survives, and the message is what the protocol says."""

from __future__ import annotations

import base64
import json

import av
import numpy as np
import pytest

from app.ipc.thumbnail_block import Thumbnail
from app.stream.jpeg import JpegEncoder, preview_message


def thumbnail_of(serial: int, width: int, height: int, unix_ns: int = 0) -> Thumbnail:
    """A ramp in luma, and chroma that is neither neutral nor equal."""
    ramp = np.tile(np.linspace(0, 255, width).astype(np.uint8), (height, 1))
    cb, cr = (np.full((height // 2, width // 2), level, np.uint8) for level in (90, 200))
    return Thumbnail(serial, serial * 7, 0, unix_ns, width, height, ramp.tobytes() + cb.tobytes() + cr.tobytes())


def decoded(jpeg: bytes) -> av.VideoFrame:
    decoder = av.CodecContext.create("mjpeg", "r")
    (frame,) = decoder.decode(av.Packet(jpeg))
    assert isinstance(frame, av.VideoFrame)
    return frame


@pytest.mark.parametrize(("width", "height"), [(320, 180), (640, 360), (960, 540), (2, 2), (102, 180)])
def test_a_picture_comes_out_of_any_jpeg_decoder_as_it_went_in(width: int, height: int) -> None:
    thumbnail = thumbnail_of(1, width, height)
    frame = decoded(JpegEncoder().encode(thumbnail))
    assert (frame.width, frame.height, frame.format.name) == (width, height, "yuvj420p")
    expected = np.frombuffer(thumbnail.pixels, np.uint8).reshape(height * 3 // 2, width)
    error = np.abs(frame.to_ndarray().astype(int) - expected)
    assert (error.mean() < 1.5, error.max() <= 12) == (True, True)


def test_every_thumbnail_comes_out_at_once_also_when_the_size_changes() -> None:
    encoder = JpegEncoder()
    for serial, (width, height) in enumerate([(320, 180), (320, 180), (640, 360), (320, 180)], 1):
        assert decoded(encoder.encode(thumbnail_of(serial, width, height))).width == width


def test_a_message_is_a_json_object_with_the_three_fields_of_the_protocol() -> None:
    thumbnail = thumbnail_of(3, 2, 2, unix_ns=1_700_000_000_123_456_789)
    message = json.loads(preview_message(thumbnail, b"\xff\xd8picture"))
    assert message == {
        "frame_index": 21,
        "timestamp_ms": 1_700_000_000_123.457,
        "data": base64.b64encode(b"\xff\xd8picture").decode(),
    }
