"""An address on the network as something that FFmpeg opens, and what is wrong if that fails."""

from __future__ import annotations

import errno
import socket
import time
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from av.codec.hwaccel import HWAccel
from av.container import InputContainer
from av.error import (
    ExitError,
    FFmpegError,
    HTTPError,
    HTTPForbiddenError,
    HTTPNotFoundError,
    HTTPUnauthorizedError,
    InvalidDataError,
    ProtocolNotFoundError,
)
from av.video.stream import VideoStream

from app.config.source_text import FILM_PROTOCOLS, LIVE_PROTOCOLS, NetworkSpec
from app.core.errors import SourceError
from app.engine.sources.hardware_decoding import open_container
from app.engine.sources.media_address import Cures, plain_reason

OPEN_TIMEOUT_S: Final = 6.0
"""For connecting, and again for learning what the stream is."""

READ_TIMEOUT_S: Final = 5.0
"""Silence after which a connection counts as lost."""

FILM_READ_TIMEOUT_S: Final = 15.0
"""The same where it may be a live playlist (HLS), of which FFmpeg reads nothing until the next part is there."""

_DATAGRAMS: Final = ("udp", "rtp")
# Longest look at a stream before it is believed to be known; FFmpeg's own 5 s are a long wait before a picture.
_ANALYSE_US: Final = 3_000_000
# The first that fits: the last HTTP error is the class of them all.
_ANSWERS: Final[dict[type[FFmpegError], str]] = {
    ProtocolNotFoundError: "this FFmpeg is built without {protocol}; have the stream sent by another protocol",
    HTTPUnauthorizedError: "the server wants a user, or another one (401); give USER:PASSWORD@ before the host",
    HTTPForbiddenError: "the server does not let this user see it (403); give another USER:PASSWORD@ before the host",
    HTTPNotFoundError: "the server has nothing at this path (404); check the path",
    HTTPError: "the server answers with an error ({reason}); check the address, or try later",
    InvalidDataError: "what comes is no video that FFmpeg can read ({reason}); {check}",
}


@dataclass(frozen=True, slots=True)
class NetworkAddress:
    """Implements `MediaAddress` for what is named by an address with a protocol.

    Attributes:
        spec: the address.
        live: known to be live. FFmpeg keeps nothing then of what it read to learn what the stream is ("nobuffer"), so
            that a packet comes out when it came in and not seconds later.
        open_timeout_s: for connecting, and again for learning what the stream is.
        read_timeout_s: silence after which a connection counts as lost; None takes what fits the protocol.
    """

    spec: NetworkSpec
    live: bool = False
    open_timeout_s: float = OPEN_TIMEOUT_S
    read_timeout_s: float | None = None

    @property
    def name(self) -> str:
        """The address without its secrets."""
        return self.spec.redacted

    @property
    def cures(self) -> Cures:
        """What to do about a stream on the network."""
        return Cures(
            no_video="name a stream with video",
            no_decoder="have it sent as H.264",
            no_picture=f"see that the sender runs and sends key frames, and {self._check}",
            rearrange="have it sent as H.264 in 4:2:0",
        )

    def as_live(self) -> NetworkAddress:
        """Return the same address, known to be live."""
        return replace(self, live=True)

    def open(self, hwaccel: HWAccel | None = None) -> InputContainer:
        """Connect, and learn what the stream is.

        Raises:
            SourceError: nobody answers, the answer is a refusal, or it is no video.
            NoHardwareError: not with `hwaccel`.
        """
        asked_s = time.monotonic()
        try:
            return open_container(
                self.spec.url,
                hwaccel,
                options=self.options(),
                timeout_s=(self.open_timeout_s, self._read_timeout_s),
            )
        except FFmpegError as error:
            # Some protocols (RTSP) put their own error in the place of FFmpeg's when a wait is cut off.
            cut_off = isinstance(error, ExitError) or time.monotonic() - asked_s >= self.open_timeout_s
            raise SourceError(f"{self.name}: {self._silence() if cut_off else self._failure(error)}") from error

    def options(self) -> dict[str, str]:
        """Return FFmpeg's options for this protocol; those it does not know it leaves alone."""
        protocol = self.spec.protocol
        options = {"analyzeduration": str(_ANALYSE_US)}
        if self.live or protocol in LIVE_PROTOCOLS:
            options["fflags"] = "nobuffer"
        if protocol in ("rtsp", "rtsps"):
            # Over TCP no packet of a picture is lost; UDP is tried where a camera refuses TCP.
            options["rtsp_flags"] = "prefer_tcp"
        if protocol == "udp":
            # Datagrams that came faster than they were read are lost, which is no reason to hang up.
            options["overrun_nonfatal"] = "1"
        if protocol in FILM_PROTOCOLS:
            # A film goes on where it was broken off; has no effect on what cannot be sought in.
            options |= {"reconnect": "1", "reconnect_delay_max": "2"}
        return options

    def shortcomings(self, stream: VideoStream) -> list[str]:
        """Return nothing: a sender is asked for nothing that it could fall short of."""
        del stream
        return []

    @property
    def _read_timeout_s(self) -> float:
        if self.read_timeout_s is not None:
            return self.read_timeout_s
        may_be_a_playlist = self.spec.protocol in FILM_PROTOCOLS and not self.live
        return FILM_READ_TIMEOUT_S if may_be_a_playlist else READ_TIMEOUT_S

    def _failure(self, error: FFmpegError) -> str:
        for kind, sentence in _ANSWERS.items():
            if isinstance(error, kind):
                return sentence.format(reason=plain_reason(error), check=self._check, protocol=self.spec.protocol)
        return self._no_connection(error)

    def _silence(self) -> str:
        if self.spec.protocol in _DATAGRAMS:
            return (
                f"nothing came in within {self.open_timeout_s:g} s; see that the sender runs and sends to this "
                "machine and port, and that no firewall is between"
            )
        return f"no answer within {self.open_timeout_s:g} s; check host and port, and that no firewall is between"

    def _no_connection(self, error: FFmpegError) -> str:
        host = urlsplit(self.spec.url).hostname or ""
        if error.errno == errno.EIO and not _is_known(host):
            return f"the host {host} is not known; check its name and the network"
        if error.errno == errno.ECONNREFUSED:
            return "nobody listens there (connection refused); start the sender, or check the port"
        return f"cannot be opened ({plain_reason(error)}); {self._check}"

    @property
    def _check(self) -> str:
        return f"check it with: ffprobe '{self.name}'"


def _is_known(host: str) -> bool:
    """Tell whether a host name leads to an address. FFmpeg calls a failure of this an input/output error."""
    try:
        socket.getaddrinfo(host, None)
    except (OSError, UnicodeError):
        return False
    return True
