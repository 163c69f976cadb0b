"""A preview stream as a source: the client side of the protocol that `app.stream` serves."""

from __future__ import annotations

import time
from typing import Final
from urllib.parse import urlsplit

from app.config.source_text import PreviewStreamSpec
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.errors import SourceError
from app.engine.sources.media_description import MATRIX_NAMES, PictureKind, colours_title
from app.engine.sources.preview_message import JpegDecoder, MalformedCount, MalformedMessageError
from app.engine.sources.preview_receiver import PreviewReceiver, Received
from app.engine.sources.source import Delivery
from app.ipc.messages import SourceInfo

FIRST_PICTURE_TIMEOUT_S: Final = 15.0
"""Longer than the longest interval of a preview stream (2 s) and a sluggish connection."""

_LONGEST_STEP_NS: Final = 3600 * NS_PER_S


class PreviewStreamSource:
    """Implements `Source` for `preview+ws://…` and `preview+wss://…`.

    A thread of its own receives, so that a message is stamped when it comes in, whatever the decoder is at. A
    connection that is lost is opened again, at growing intervals and without end; the first picture behind the gap
    begins a new segment. Presentation times are the server's.

    Args:
        spec: where, and with which token.

    Raises:
        SourceError: it cannot be opened, or no picture came.
    """

    def __init__(self, spec: PreviewStreamSpec) -> None:
        self._name = spec.redacted
        self._host = urlsplit(spec.url).netloc
        self._malformed = MalformedCount(self._name)
        self._decoder = JpegDecoder()
        self._timeline = ServerTimeline()
        self._postponed_ns = 0
        self._gap = ""
        self._started = False
        self._receiver = PreviewReceiver(spec, self._malformed)
        try:
            self._info = self._await_picture()
        except BaseException:
            self.close()
            raise

    @property
    def info(self) -> SourceInfo:
        """What the stream turned out to be; replaced when its pictures change."""
        return self._info

    def next(self) -> Delivery | None:
        """Block until the next picture is decoded or lost; None after `interrupt`.

        The stream begins with what comes in after the first call: what came while the pipeline was being built has
        waited for that, which is no property of the stream.

        Raises:
            SourceError: receiving broke off by an error of its own. A connection that is lost raises nothing.
        """
        if not self._started:
            self._started = True
            self._begin()
        while (received := self._receiver.take()) is not None:
            self._postponed_ns = self._receiver.postponed_ns
            delivery = self._delivery(received)
            if delivery is not None:
                return delivery
        if self._receiver.failure:
            raise SourceError(f"{self._name}: {self._receiver.failure}")
        return None

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call: lost connections, messages that could not be read."""
        return self._receiver.take_notices() + self._malformed.news()

    def put_off(self, by_ns: int) -> None:
        """Leave out a pause. The stream went on meanwhile: of what came in then, the newest is kept."""
        self._receiver.put_off(by_ns)

    @property
    def postponed_ns(self) -> int:
        """How much time had been left out in all when the last delivery was taken."""
        return self._postponed_ns

    def interrupt(self) -> None:
        """Make a blocked `next` return None soon."""
        self._receiver.interrupt()

    def close(self) -> None:
        """Close the connection."""
        self._receiver.close()

    def _await_picture(self) -> SourceInfo:
        """Learn from a first picture what the stream is."""
        deadline_s = time.monotonic() + FIRST_PICTURE_TIMEOUT_S
        while (left_s := deadline_s - time.monotonic()) > 0 and (received := self._receiver.take(left_s)) is not None:
            self._delivery(received)
            if self._decoder.kind is not None:
                return _describe(self._host, self._decoder.kind)
        raise SourceError(f"{self._name}: {self._receiver.failure or self._reason_of_silence()}")

    def _reason_of_silence(self) -> str:
        if self._malformed.last:
            return (
                f"nothing that came could be read (of the last message: {self._malformed.last}); "
                "check that the address is that of a preview stream"
            )
        return (
            f"connected, but no picture came within {FIRST_PICTURE_TIMEOUT_S:g} s; "
            "check that the run it shows is not paused"
        )

    def _begin(self) -> None:
        self._receiver.forget_waiting()
        self._timeline = ServerTimeline()
        self._gap = ""

    def _delivery(self, received: Received) -> Delivery | None:
        """Return what becomes of a message; None when its picture cannot be decoded."""
        self._gap = self._gap or received.gap
        before = self._decoder.kind
        decode_start_ns = time.monotonic_ns()
        try:
            picture = None if received.is_lost else self._decoder.decode(received.message.jpeg)
        except MalformedMessageError as error:
            self._malformed.add(str(error))
            return None
        pts_ns, step = self._timeline.place(received.message.timestamp_ms)
        breaks = ", ".join(filter(None, (self._gap, step, self._adopt(before))))
        self._gap = ""
        if picture is None:
            return Delivery(None, pts_ns, received.arrive_ns, NO_STAMP_NS, NO_STAMP_NS, discontinuity=breaks)
        decode_end_ns = time.monotonic_ns()
        return Delivery(picture, pts_ns, received.arrive_ns, decode_start_ns, decode_end_ns, True, breaks)

    def _adopt(self, before: PictureKind | None) -> str:
        """Follow a change of the pictures since the one before; return what changed, or ""."""
        kind = self._decoder.kind
        change = kind.change_since(before) if kind is not None and before is not None else ""
        if kind is not None and change:
            self._info = _describe(self._host, kind)
        return change


class ServerTimeline:
    """Turns the server's times into presentation times that begin at 0 and never fall."""

    def __init__(self) -> None:
        self._base_ms: float | None = None
        self._last_ns = 0

    def place(self, timestamp_ms: float) -> tuple[int, str]:
        """Return the presentation time in ns, and why a segment must begin there, or ""."""
        if self._base_ms is None:
            self._base_ms = timestamp_ms
        pts_ns = round((timestamp_ms - self._base_ms) * NS_PER_MS)
        step_ns = pts_ns - self._last_ns
        if 0 <= step_ns <= _LONGEST_STEP_NS:
            self._last_ns = pts_ns
            return pts_ns, ""
        self._last_ns += NS_PER_MS
        self._base_ms = timestamp_ms - self._last_ns / NS_PER_MS
        direction = "back" if step_ns < 0 else "ahead"
        return self._last_ns, f"the server's time went {direction} by {abs(step_ns) / NS_PER_S:.1f} s"


def _describe(host: str, kind: PictureKind) -> SourceInfo:
    picture_format = kind.format
    parts = [
        f"preview stream of {host}",
        f"JPEG {picture_format.width}×{picture_format.height}",
        f"{kind.decoded_name} rearranged to {kind.rearranged_to}" if kind.rearranged_to else kind.decoded_name,
        colours_title(picture_format),
        "rate as it comes",
    ]
    return SourceInfo(
        description=", ".join(parts),
        width=picture_format.width,
        height=picture_format.height,
        rate_hz=None,
        free_running=False,
        live=True,
        pixel_format=picture_format.name,
        matrix=MATRIX_NAMES[picture_format.matrix],
        colour_range="full" if picture_format.full_range else "limited",
        rotation_degrees=picture_format.rotation_degrees,
        decoder="software",
        duration_s=None,
    )
