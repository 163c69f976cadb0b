"""A file as something that FFmpeg opens, and what is wrong with it if that fails."""

from __future__ import annotations

import difflib
import os
import stat
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.error import FFmpegError, InvalidDataError
from av.video.stream import VideoStream

from app.core.errors import SourceError
from app.engine.sources.hardware_decoding import open_container
from app.engine.sources.media_address import Cures, lower_first, plain_reason

_SNIFFED_BYTES: Final = 4096
_MP4_BOXES_READ: Final = 1000

_CONVERT: Final = "convert it, for example with: ffmpeg -i INPUT -c:v libx264 OUTPUT.mp4"
_CURES: Final = Cures(
    no_video="name a file with a video stream",
    no_decoder=_CONVERT,
    no_picture="check the file with ffprobe, or copy or record it again",
    rearrange="convert it, for example with: ffmpeg -i INPUT -pix_fmt yuv420p OUTPUT.mp4",
)


class FileAddress:
    """Implements `MediaAddress` for a path."""

    def __init__(self, location: str) -> None:
        self._location = location

    @property
    def name(self) -> str:
        """The path as the user gave it."""
        return self._location

    @property
    def cures(self) -> Cures:
        """What to do about a file."""
        return _CURES

    def open(self, hwaccel: HWAccel | None = None) -> InputContainer:
        """Open the file.

        Raises:
            SourceError: there is no such file, it may not be read, or it is no video.
            NoHardwareError: not with `hwaccel`.
        """
        path = Path(self._location)
        _check_file(path)
        try:
            # With "file:" a colon in a file name is not taken for a protocol.
            return open_container(f"file:{self._location}", hwaccel)
        except FFmpegError as error:
            raise SourceError(_open_failure(path, error)) from error

    def shortcomings(self, stream: VideoStream) -> list[str]:
        """Return nothing: a file is asked for nothing that it could fall short of."""
        del stream
        return []


def _check_file(path: Path) -> None:
    try:
        status = path.stat()
    except FileNotFoundError:
        raise SourceError(f"{path}: there is no such file; {_similar_name(path)}") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise SourceError(f"{path}: {lower_first(reason)}; check the path and its permissions") from None
    if stat.S_ISDIR(status.st_mode):
        raise SourceError(f"{path}: this is a folder; name a video file in it")
    if not stat.S_ISREG(status.st_mode):
        raise SourceError(f"{path}: this is a device or a pipe; name a video file")
    if not os.access(path, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
        raise SourceError(f"{path}: this user may not read it; allow it with: chmod u+r '{path}' (as its owner)")
    if status.st_size == 0:
        raise SourceError(f"{path}: the file is empty (0 bytes); copy or record it again")


def _similar_name(path: Path) -> str:
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"there is no folder {path.parent} either; check the path"
    similar = difflib.get_close_matches(path.name, names, n=1)
    return f"did you mean {path.with_name(similar[0])}?" if similar else "check the path"


def _open_failure(path: Path, error: FFmpegError) -> str:
    reason = plain_reason(error)
    if not isinstance(error, InvalidDataError):
        return f"{path}: cannot be opened ({reason}); check the file"
    if _is_mp4_without_index(path):
        return (
            f"{path}: the MP4 has no index (moov box), its recording or copy was cut off before the end; "
            "copy it again, or record to a format that survives a cut (Matroska, MPEG-TS, fragmented MP4)"
        )
    if _is_text(path):
        return f"{path}: this is a text file, not a video; name a video file"
    return f"{path}: not a video that FFmpeg can read ({reason}); check the file with ffprobe, or {_CONVERT}"


def _is_mp4_without_index(path: Path) -> bool:
    boxes = list(_mp4_boxes(path))
    return boxes[:1] == [b"ftyp"] and not {b"moov", b"moof"} & set(boxes)


def _mp4_boxes(path: Path) -> Iterator[bytes]:
    """Yield the types of the top-level boxes (ISO/IEC 14496-12, 4.2) as far as they are whole or begun."""
    end = path.stat().st_size
    with path.open("rb") as file:
        for _ in range(_MP4_BOXES_READ):
            header = file.read(16)
            if len(header) < 8:
                return
            size, kind = struct.unpack(">I4s", header[:8])
            yield kind
            if size == 1 and len(header) == 16:
                size = struct.unpack(">Q", header[8:])[0]
            next_box = file.tell() - len(header) + size
            if size < 8 or next_box >= end:
                return
            file.seek(next_box)


def _is_text(path: Path) -> bool:
    with path.open("rb") as file:
        data = file.read(_SNIFFED_BYTES)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        # A character cut by the end of what was read is no sign against text.
        if error.start < len(data) - 3:
            return False
        text = data[: error.start].decode("utf-8")
    return all(character.isprintable() or character in "\n\r\t\f" for character in text)
