"""Thumbnails become messages: JPEG by FFmpeg's encoder, Base64, JSON; once for all clients."""

from __future__ import annotations

import base64
import json
from fractions import Fraction
from typing import Final

import numpy as np
from av.codec.context import CodecContext
from av.video.codeccontext import VideoCodecContext
from av.video.frame import VideoFrame

from app.core.clock import NS_PER_MS
from app.ipc.thumbnail_block import Thumbnail

_QUANTISER: Final = 4
"""FFmpeg's scale is 1–31; 4 is about quality 85 elsewhere: artefacts cannot be seen at thumbnail size."""

_FORMAT: Final = "yuvj420p"


class JpegEncoder:
    """Makes a JPEG (JFIF) picture of a thumbnail; keeps one encoder for the present size."""

    def __init__(self) -> None:
        self._context: VideoCodecContext | None = None

    def encode(self, thumbnail: Thumbnail) -> bytes:
        """Return the picture as JPEG."""
        context = self._context_for(thumbnail.width, thumbnail.height)
        rows = np.frombuffer(thumbnail.pixels, np.uint8).reshape(thumbnail.height * 3 // 2, thumbnail.width)
        frame = VideoFrame.from_ndarray(rows, format=_FORMAT)
        frame.pts = thumbnail.serial
        return b"".join(bytes(packet) for packet in context.encode(frame))

    def _context_for(self, width: int, height: int) -> VideoCodecContext:
        context = self._context
        if context is None or (context.width, context.height) != (width, height):
            context = CodecContext.create("mjpeg", "w")
            assert isinstance(context, VideoCodecContext)
            context.width, context.height, context.pix_fmt = width, height, _FORMAT
            context.time_base = Fraction(1, 1)  # a picture an encoder tick: pts is the serial
            context.qmin = context.qmax = _QUANTISER
            context.thread_count = 1  # a picture takes a millisecond or two; as many threads as processors do not help
            self._context = context
        return context


def preview_message(thumbnail: Thumbnail, jpeg: bytes) -> bytes:
    """Return the message of the protocol: UTF-8 JSON with `frame_index`, `timestamp_ms` and `data`.

    `timestamp_ms` counts from 1970 (UTC) with the microseconds as decimals.
    """
    fields = {
        "frame_index": thumbnail.frame_index,
        "timestamp_ms": round(thumbnail.unix_ns / NS_PER_MS, 3),
        "data": base64.b64encode(jpeg).decode(),
    }
    return json.dumps(fields, separators=(",", ":")).encode()
