"""Where packets go: nowhere, or into a file that stays playable whatever ends the program."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.core.errors import InvalidInputError, Problem

FRAGMENT_MS: Final = 250
"""Longest piece of a file that is not yet written: what a crash loses."""

CONTAINERS: Final = {".mp4": "mp4", ".ts": "mpegts", ".mkv": "matroska"}
"""FFmpeg's muxer by file name."""

_OPTIONS: Final[dict[str, dict[str, str]]] = {
    "mp4": {
        # A whole index at the front and none at the end: each fragment stands on its own.
        "movflags": "frag_keyframe+empty_moov+default_base_moof",
        "frag_duration": str(FRAGMENT_MS * 1000),
        "flush_packets": "1",
    },
    "mpegts": {"flush_packets": "1"},
    "matroska": {"cluster_time_limit": str(FRAGMENT_MS), "flush_packets": "1"},
}

_CODECS_OF_MPEGTS: Final = frozenset({"libx264", "h264_nvenc", "hevc_nvenc"})


@dataclass(frozen=True, slots=True)
class Destination:
    """A file to write. `container`: FFmpeg's name of the muxer."""

    path: Path
    container: str

    @property
    def options(self) -> dict[str, str]:
        """Return the muxer's options."""
        return dict(_OPTIONS[self.container])

    def part(self, number: int) -> Path:
        """Return the path of a part, from 1: `clip.mp4`, `clip.part2.mp4`, …

        A new part begins when the picture changes its size or format, which no stream of these containers can.
        """
        return self.path if number == 1 else self.path.with_name(f"{self.path.stem}.part{number}{self.path.suffix}")


def parse_destination(text: str) -> Destination | None:
    """Return what a destination text means; None for "" (packets are counted, not kept).

    Raises:
        InvalidInputError: another kind of file, or a folder that is not there. (A file that is there is found when it
            is made, so that nobody comes between.)
    """
    if not text:
        return None
    path = Path(text)
    container = CONTAINERS.get(path.suffix.lower())
    if container is None:
        raise _refusal(text, "ends in none of .mp4, .ts and .mkv", "name the file so that its ending says its kind")
    if not path.absolute().parent.is_dir():
        raise _refusal(text, f"lies in a folder that is not there ({path.absolute().parent})", "make the folder first")
    return Destination(path, container)


def check_codec(destination: Destination, codec: str) -> None:
    """Refuse a codec that the container cannot hold so that a player finds it.

    Raises:
        InvalidInputError: it cannot.
    """
    if destination.container == "mpegts" and codec not in _CODECS_OF_MPEGTS:
        raise _refusal(str(destination.path), f"is MPEG-TS, which has no place for {codec}", "use .mkv or .mp4")


def already_there(path: Path) -> InvalidInputError:
    """Return the refusal to overwrite a file."""
    return _refusal(str(path), "exists already", "choose another name, or move the file away")


def _refusal(text: str, expected: str, hint: str) -> InvalidInputError:
    return InvalidInputError([Problem("encode_to", text, expected, hint)])
