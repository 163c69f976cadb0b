"""The connection to a preview stream's server: opened with the token, and every way it fails put into a sentence."""

from __future__ import annotations

import socket
import ssl
from contextlib import AbstractContextManager
from typing import Final
from urllib.parse import urlsplit

from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.frames import CloseCode
from websockets.sync.client import ClientConnection, connect

from app.config.source_text import PreviewStreamSpec
from app.engine.sources.preview_message import MAX_MESSAGE_BYTES

OPEN_TIMEOUT_S: Final = 5.0
_CLOSE_TIMEOUT_S: Final = 0.5
_KEEPALIVE_S: Final = 10.0
"""A server that answers no ping for so long is taken for lost."""

CONNECTION_ERRORS: Final = (OSError, WebSocketException, EOFError)
"""All that opening and reading a connection may raise (`TimeoutError` and TLS errors are `OSError`)."""

_STATUS_CURES: Final = {
    401: "the server does not accept the token (401); write the token of that run behind the address: #token=TOKEN",
    403: "the server does not let this client in (403); check the token behind the address",
    404: "the server does not run this request (404); check the id at the end of the address",
    503: "the server has no room for another client (503); close one of its clients, then try again",
}
_CLOSE_REASONS: Final = {
    CloseCode.GOING_AWAY: "the server shut down",
    CloseCode.POLICY_VIOLATION: "the server cut this client off",
    CloseCode.INTERNAL_ERROR: "the server met an error",
}


def connect_to(spec: PreviewStreamSpec) -> AbstractContextManager[ClientConnection]:
    """Return the context manager that opens the stream; entering it raises one of `CONNECTION_ERRORS`."""
    return connect(
        spec.url,
        additional_headers={"Authorization": f"Bearer {spec.token}"} if spec.token else None,
        compression=None,  # a few bytes could unfold to any size
        proxy=None,  # one for the web would be asked for loopback addresses too
        open_timeout=OPEN_TIMEOUT_S,
        close_timeout=_CLOSE_TIMEOUT_S,
        ping_interval=_KEEPALIVE_S,
        ping_timeout=_KEEPALIVE_S,
        max_size=MAX_MESSAGE_BYTES,
    )


def failure_text(error: Exception, spec: PreviewStreamSpec) -> str:
    """Return why a connection could not be opened or was lost, with what to do; never with the token."""
    if isinstance(error, ConnectionClosed):
        return _close_text(error)
    if isinstance(error, WebSocketException | EOFError):
        return _handshake_text(error, spec)
    if isinstance(error, ssl.SSLError):
        return f"no secure connection comes about ({_tls_reason(error)}); check the certificate, or try preview+ws://"
    if isinstance(error, OSError):
        return _network_text(error)
    return f"the connection failed ({type(error).__name__}: {error})"


def _handshake_text(error: Exception, spec: PreviewStreamSpec) -> str:
    if isinstance(error, InvalidStatus):
        return _status_text(error.response.status_code)
    secure = urlsplit(spec.url).scheme == "wss"
    return f"no WebSocket server answers there; check the address{'' if secure else ', or try preview+wss://'}"


def _network_text(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {OPEN_TIMEOUT_S:g} s; check host and port, and whether the server runs"
    if isinstance(error, socket.gaierror):
        return "the host is not known; check its name"
    reason = (error.strerror or str(error)).lower()
    return f"it cannot be reached ({reason}); check host and port, and whether the server runs"


def _status_text(status: int) -> str:
    other = f"the server answers with HTTP status {status}, so this is no preview stream; check the address"
    return _STATUS_CURES.get(status, other)


def _close_text(error: ConnectionClosed) -> str:
    if error.rcvd is None and error.sent is not None and error.sent.code == CloseCode.MESSAGE_TOO_BIG:
        return f"the server sent a message of more than {MAX_MESSAGE_BYTES >> 20} MiB"
    if error.rcvd is None:
        return "the connection was lost"
    known = [text for code, text in _CLOSE_REASONS.items() if code == error.rcvd.code]
    return known[0] if known else f"the server closed the connection (code {error.rcvd.code})"


def _tls_reason(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    return (error.reason or "TLS error").lower().replace("_", " ")
