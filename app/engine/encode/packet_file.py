"""Writes packets into a file that is playable at every moment."""

from __future__ import annotations

import contextlib
import io
import os
from fractions import Fraction
from pathlib import Path
from typing import Final

import av
from av.packet import Packet

from app.core.errors import EngineError
from app.engine.encode.destination import Destination, already_there

TIME_BASE: Final = Fraction(1, 90_000)
"""Unit of every timestamp in the branch; MPEG's own."""

_BUFFER_BYTES: Final = 1 << 16


class _WholeWrites(io.RawIOBase):
    """A new file, without a buffer of Python's, whose `write` writes all or raises.

    A kernel may write less than asked when the disk is nearly full; FFmpeg takes what is given back for granted.
    """

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]  # FFmpeg gives bytes, not any buffer
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        return os.lseek(self._descriptor, offset, whence)

    def tell(self) -> int:
        return os.lseek(self._descriptor, 0, os.SEEK_CUR)

    def close(self) -> None:
        if not self.closed:
            os.close(self._descriptor)
        super().close()


class PacketFile:
    """One file, made when this object is, never over another; encode thread only after that.

    Packets carry their parameter sets in band, so an encoder may be replaced by another of the same size and format
    without a new file.

    Args:
        destination: where to. part: which part of it, from 1.

    Attributes:
        path: the file.

    Raises:
        InvalidInputError: the file exists.
        EngineError: it cannot be made.
    """

    def __init__(self, destination: Destination, part: int = 1) -> None:
        self.path = destination.part(part)
        self._destination = destination
        self._container: av.container.OutputContainer | None = None
        self._has_packets = False
        try:
            self._file = _WholeWrites(self.path)
        except FileExistsError:
            raise already_there(self.path) from None
        except OSError as error:
            raise EngineError(
                f"{self.path}: the encoded video cannot be written there ({error.strerror}); choose another place"
            ) from error

    def begin(self, codec: str, rate: Fraction, width: int, height: int) -> None:
        """Say what the packets will be."""
        container = av.open(
            self._file,
            "w",
            format=self._destination.container,
            container_options=self._destination.options,
            buffer_size=_BUFFER_BYTES,
        )
        self._stream = container.add_mux_stream(codec, rate=rate, width=width, height=height)
        self._stream.time_base = TIME_BASE
        self._container = container

    def write(self, packet: Packet[av.VideoStream]) -> None:
        """Append a packet.

        Raises:
            OSError: the disk is full or gone. FFmpegError: the muxer refused the packet.
        """
        assert self._container is not None, "begin comes first"
        packet.stream = self._stream  # type: ignore[assignment]  # a stream without codec has no class of its own
        try:
            self._container.mux_one(packet)
        except (OSError, av.FFmpegError):
            # Nothing more goes into a file that refused a write; PyAV leaves the end off where the file is closed.
            self._file.close()
            raise
        self._has_packets = True

    def close(self) -> None:
        """Finish the file; one that never got a packet is removed. Without effect when closed already.

        Raises:
            OSError, FFmpegError: the end could not be written; what was written before stays playable.
        """
        container, self._container = self._container, None
        try:
            if container is not None:
                container.close()
        finally:
            self._file.close()
            if not self._has_packets:
                with contextlib.suppress(FileNotFoundError):
                    self.path.unlink()
