"""What has to be known of a place that pictures come from: how it is opened, and what to tell its user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.error import ExitError, FFmpegError
from av.video.stream import VideoStream

NO_DATA: Final = "no data came in time"


@dataclass(frozen=True, slots=True)
class Cures:
    """What to do about a container that opens and cannot be played; each the end of a sentence.

    Attributes:
        no_video: there is no video stream in it.
        no_decoder: its codec is unknown here.
        no_picture: nothing could be decoded.
        rearrange: libswscale cannot make planes of its pixel format.
    """

    no_video: str
    no_decoder: str
    no_picture: str
    rearrange: str


class MediaAddress(Protocol):
    """A file, a network address or a camera, as something that FFmpeg opens."""

    @property
    def name(self) -> str:
        """What messages call it; without secrets."""
        ...

    @property
    def cures(self) -> Cures:
        """What a user can do about the stream behind it."""
        ...

    def open(self, hwaccel: HWAccel | None = None) -> InputContainer:
        """Open it anew; decoders run on `hwaccel` where one is given.

        Raises:
            SourceError: it cannot be opened; the text says why and what to do.
            NoHardwareError: it can, but not with `hwaccel`.
        """
        ...

    def shortcomings(self, stream: VideoStream) -> list[str]:
        """Return in what the stream is not as it was asked for, a sentence each."""
        ...


def plain_reason(error: FFmpegError) -> str:
    """Return FFmpeg's reason as part of a sentence. Never the whole message, which repeats the address."""
    return NO_DATA if isinstance(error, ExitError) else lower_first(error.strerror)


def lower_first(text: str | None) -> str:
    """Return `text` as it stands within a sentence."""
    return (text[:1].lower() + text[1:]) if text else "unknown reason"
