"""A camera of Video4Linux as something that FFmpeg opens, and what is wrong if that fails."""

from __future__ import annotations

import errno
import os
import re
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import av.logging
from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.error import FFmpegError
from av.video.stream import VideoStream

from app.config.source_text import CameraSpec
from app.core.errors import SourceError
from app.engine.sources.hardware_decoding import open_container
from app.engine.sources.media_address import Cures, plain_reason

_DEVICE_FORMAT: Final = "video4linux2"
_CURES: Final = Cures(
    no_video="name a camera",
    no_decoder="ask for another format, for example ,format=mjpeg",
    no_picture="see that the camera is not covered by a privacy switch, or plug it in again",
    rearrange="ask for another format, for example ,format=yuyv422",
)
# One line of FFmpeg's list: "Raw       :     yuyv422 :           YUYV 4:2:2 : 640x480 1280x720".
_OFFERED: Final = re.compile(r"(?:Raw|Compressed)\s*:\s*(\S+) :.*:([^:]*)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class CameraAddress:
    """Implements `MediaAddress` for a device file of Video4Linux."""

    spec: CameraSpec

    @property
    def name(self) -> str:
        """The device."""
        return self.spec.device

    @property
    def cures(self) -> Cures:
        """What to do about a camera."""
        return _CURES

    def open(self, hwaccel: HWAccel | None = None) -> InputContainer:
        """Open the camera and begin to capture.

        Raises:
            SourceError: there is no such camera, it may not be opened, is in use, or cannot do what is asked of it.
            NoHardwareError: not with `hwaccel`.
        """
        if sys.platform != "linux":
            raise SourceError(f"{self.name}: Video4Linux cameras exist on Linux only; name another source")
        _check_device(Path(self.spec.device))
        try:
            return open_container(self.spec.device, hwaccel, format_name=_DEVICE_FORMAT, options=self.options())
        except FFmpegError as error:
            raise SourceError(f"{self.name}: {self._failure(error)}") from error

    def options(self) -> dict[str, str]:
        """Return FFmpeg's options for its video4linux2 device; what is not asked for the camera decides."""
        spec = self.spec
        asked = {
            "video_size": "{}x{}".format(*spec.size) if spec.size else "",
            "framerate": f"{spec.rate_hz:.12g}" if spec.rate_hz else "",
            "input_format": spec.input_format,
        }
        return {name: value for name, value in asked.items() if value}

    def shortcomings(self, stream: VideoStream) -> list[str]:
        """Return what the camera gives instead of what it was asked for; a driver takes the nearest it has."""
        spec, decoder = self.spec, stream.codec_context
        told = []
        if spec.size and (decoder.width, decoder.height) != spec.size:
            asked = "{}×{}".format(*spec.size)
            told.append(f"{self.name}: asked for {asked}, the camera gives {decoder.width}×{decoder.height}")
        rate_hz = float(stream.average_rate or 0)
        if spec.rate_hz and rate_hz and abs(rate_hz - spec.rate_hz) > 0.01 * spec.rate_hz:
            told.append(f"{self.name}: asked for {spec.rate_hz:g} fps, the camera gives {rate_hz:.6g}")
        return told

    def _failure(self, error: FFmpegError) -> str:
        match error.errno:
            case errno.EBUSY:
                return f"another program is using this camera; find it with: fuser {self.name}"
            case errno.ENOTTY | errno.ENODEV:
                return f"this device captures no video ({plain_reason(error)}); {_cameras_here()}"
            case errno.EINVAL if self.options():
                return f"the camera cannot do what is asked of it; {_offer_text(offered_formats(self.spec.device))}"
            case _:
                return f"cannot be opened ({plain_reason(error)}); {_cameras_here()}"


def offered_formats(device: str) -> list[str]:
    """Return what a camera can deliver, a line each (`mjpeg 640x480 1280x720`), as FFmpeg lists it; none on failure."""
    with av.logging.Capture() as lines:
        level = av.logging.get_level()
        av.logging.set_level(av.logging.INFO)
        try:
            open_container(device, None, format_name=_DEVICE_FORMAT, options={"list_formats": "all"}).close()
        except FFmpegError:
            pass  # listing always ends so ("immediate exit requested")
        finally:
            av.logging.set_level(level)
    return formats_listed("".join(text for _, _, text in lines))


def formats_listed(text: str) -> list[str]:
    """Return each format that FFmpeg's list names, with its sizes (`mjpeg 640x480 1280x720`)."""
    return [f"{match[1]} {match[2].strip()}".strip() for match in _OFFERED.finditer(text)]


def _offer_text(offered: list[str]) -> str:
    return f"it offers {'; '.join(offered)}" if offered else "leave size, fps and format out"


def _check_device(path: Path) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SourceError(f"{path}: there is no such device; {_cameras_here()}") from None
    except (OSError, ValueError) as error:
        raise SourceError(f"{path}: {error}; check the path and its permissions") from None
    if not stat.S_ISCHR(status.st_mode):
        raise SourceError(f"{path}: this is no device; {_cameras_here()}")
    _check_access(path)


def _check_access(path: Path) -> None:
    if not os.access(path, os.R_OK | os.W_OK, effective_ids=os.access in os.supports_effective_ids):
        join = f"sudo usermod -aG {_group_name(path)} $USER"
        raise SourceError(f"{path}: this user may not open it; join its group with: {join}, and log in again")


def _group_name(path: Path) -> str:
    try:
        return path.group()
    except KeyError:
        return str(path.stat().st_gid)


def _cameras_here() -> str:
    cameras = sorted(str(path) for path in Path("/dev").glob("video*"))
    if not cameras:
        return "this machine has no camera (no /dev/video*); plug one in"
    return f"this machine has {', '.join(cameras)}"
