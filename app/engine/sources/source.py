"""What the pipeline asks of a source."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from app.core.clock import NO_STAMP_NS
from app.engine.picture import Picture
from app.ipc.messages import SourceInfo


@dataclass(slots=True)
class Delivery:
    """One frame as the source delivered and decoded it. Stamps are CLOCK_MONOTONIC ns.

    Attributes:
        picture: the decoded picture; None when the frame was lost before decoding (`decode_overflow`).
        pts_ns: time within the stream, from 0 at the first frame; goes on rising over a loop. `NO_STAMP_NS` if the
            stream has none.
        arrive_ns: when its data were delivered: by the schedule of a file that is played live, whatever the pipeline
            does; when they were read, from a sender that really is live.
        decode_start_ns, decode_end_ns: `NO_STAMP_NS` when never decoded.
        key_frame: coded as a key frame.
        discontinuity: why a new segment must begin with this frame (`resolution changed to 640×360`), or "".
    """

    picture: Picture | None
    pts_ns: int
    arrive_ns: int
    decode_start_ns: int
    decode_end_ns: int
    key_frame: bool = False
    discontinuity: str = ""

    def put_off(self, by_ns: int) -> None:
        """Move the stamps, because that much time has passed which shall not count."""
        self.arrive_ns += by_ns
        if self.decode_start_ns != NO_STAMP_NS:
            self.decode_start_ns += by_ns
        if self.decode_end_ns != NO_STAMP_NS:
            self.decode_end_ns += by_ns


class Source(Protocol):
    """A stream of decoded frames, pulled by one decode thread.

    A source is made by `open_source`, which raises `SourceError` with a cure when it cannot be opened. It never opens
    windows and never touches the GPU (hardware decode apart).
    """

    @property
    def info(self) -> SourceInfo:
        """What the source turned out to be; constant until a delivery with a `discontinuity`."""
        ...

    def next(self) -> Delivery | None:
        """Block until the next frame is decoded; None at the end of the stream or after `interrupt`.

        Raises:
            SourceError: the stream broke; the text says where and what to do. The source is at its end then.
        """
        ...

    def take_notices(self) -> list[str]:
        """Return what the user should know since the last call (repairs, damage), a sentence each; from any thread."""
        ...

    def put_off(self, by_ns: int) -> None:
        """Put off all that is not delivered yet: that much time has passed which shall not count (a pause).

        From any thread. The schedule goes on as if the clock had stood still; nothing is skipped, nothing comes in a
        burst. A sender that really is live does not wait: what it sent meanwhile is left out, and what it sends next
        comes with a `discontinuity`.
        """
        ...

    @property
    def postponed_ns(self) -> int:
        """How far the last delivery of `next` was put off in all; decode thread only."""
        ...

    def interrupt(self) -> None:
        """Make a blocked `next` return None soon, from any thread; the source is at its end then."""
        ...

    def close(self) -> None:
        """Free decoder and file; after the decode thread has ended."""
        ...
