"""Decoding on the GPU (NVDEC through FFmpeg), found out by trying: nothing else tells what a driver can do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import av
from av.codec import Codec
from av.codec.hwaccel import HWAccel, hwdevices_available
from av.container import InputContainer
from av.error import FFmpegError
from av.video.codeccontext import VideoCodecContext

HARDWARE_NAME: Final = "NVDEC"
_DEVICE_TYPE: Final = "cuda"
_SURFACES_IN_HAND: Final = 1


class NoHardwareError(Exception):
    """The media opens, but not with the hardware decoder; the text says why, as part of a sentence."""


@functools.cache
def nvdec_device_fault() -> str:
    """Return why there is no CUDA device for FFmpeg, "" when there is one.

    A device is made and thrown away. Without an NVIDIA driver that takes under a millisecond and nothing is printed;
    with one it starts CUDA in this process, so it is done once.
    """
    if _DEVICE_TYPE not in hwdevices_available():
        return "left out of this FFmpeg"
    try:
        new_accelerator().create(Codec("h264", "r"))
    except (FFmpegError, NotImplementedError):
        return "no CUDA device"
    return ""


def new_accelerator() -> HWAccel:
    """Return what tells FFmpeg to decode on the GPU or not at all; decoded pictures are downloaded."""
    return HWAccel(_DEVICE_TYPE, allow_software_fallback=False)


@dataclass(frozen=True, slots=True)
class HardwareDecoding:
    """How NVDEC is tried for a source.

    Attributes:
        decode_depth: pictures that the queue behind the decoder holds (`nvdec_queue_depth`).
        device_fault: tells why there is no device, "" when there is one.
        accelerator: makes what FFmpeg is given.
    """

    decode_depth: int
    device_fault: Callable[[], str] = nvdec_device_fault
    accelerator: Callable[[], HWAccel] = new_accelerator

    @property
    def extra_hw_frames(self) -> int:
        """Surfaces to have beyond what the codec needs: one a queued picture, and the one being downloaded.

        Pictures are downloaded and give their surface back at once, so that these are spare; with fewer, a decoder
        that is read in bursts runs out ("No decoder surfaces left"). Fixed when the source is opened.
        """
        return self.decode_depth + _SURFACES_IN_HAND

    def set_up(self, decoder: VideoCodecContext) -> None:
        """Set the number of surfaces, before the decoder has seen its first packet.

        Raises:
            NoHardwareError: FFmpeg's decoder has no NVDEC form. So it is with AV1 too: PyAV takes libdav1d for it, not
                FFmpeg's own decoder, which has one.
        """
        if not decoder.is_hwaccel:
            raise NoHardwareError(f"{decoder.name} decodes in software only")
        decoder.options = {**decoder.options, "extra_hw_frames": str(self.extra_hw_frames)}


def open_container(
    location: str,
    hwaccel: HWAccel | None,
    *,
    format_name: str | None = None,
    options: dict[str, str] | None = None,
    timeout_s: tuple[float, float] | None = None,
) -> InputContainer:
    """Open a container with PyAV, telling a fault of the decoder device from one of the media.

    Args:
        location: as FFmpeg takes it.
        hwaccel: what to decode on, None for software.
        format_name: FFmpeg's demuxer or device, None to find out.
        options: of the demuxer and the protocol.
        timeout_s: for opening and for each read; None waits for ever.

    Raises:
        FFmpegError: the media cannot be opened.
        NoHardwareError: `hwaccel` was given and does not work for any of its streams.
    """
    try:
        return av.open(
            location,
            mode="r",
            format=format_name,
            options=options,
            metadata_errors="replace",
            timeout=timeout_s,
            hwaccel=hwaccel,
        )
    except FFmpegError as error:
        # What opening the media raises names it; what making a decoder device raises names nothing.
        if hwaccel is None or error.filename is not None:
            raise
        raise NoHardwareError(f"no device ({error.strerror})") from error
    except RuntimeError as error:
        raise NoHardwareError("its decoder is software only") from error
