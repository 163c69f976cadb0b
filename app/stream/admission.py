"""Who may watch: the decision on one request to open a preview stream."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from http import HTTPStatus
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from app.ipc.stream_messages import MAX_CLIENTS

_PREFIX: Final = "/v1/preview/"
_SCHEME: Final = "bearer"


class Refusal(NamedTuple):
    """The answer to a request that is not let in; `text` says what to do."""

    status: HTTPStatus
    text: str


def preview_path(request_id: str) -> str:
    """Return the path at which the preview of a request is served."""
    return _PREFIX + quote(request_id, safe="")


def refusal_of(path: str, authorization: Sequence[str], *, request_id: str, token: str, clients: int) -> Refusal | None:
    """Decide on a request; None lets it in.

    The token comes first, so that nobody without it learns which requests run or how many watch. It is taken from the
    header only: an address ends up in histories and logs, and a page in a browser, which cannot set the header, cannot
    open the stream behind its user's back.

    Args:
        path: of the request, with its query if any.
        authorization: every `Authorization` header of the request.
        request_id: the one that is running. token: of this server.
        clients: connected now.
    """
    if not _bears(authorization, token):
        text = "The token is missing or wrong: send the header “Authorization: Bearer TOKEN” with this run's token.\n"
        return Refusal(HTTPStatus.UNAUTHORIZED, text)
    if _requested(path) != request_id:
        text = f"No such request is running: this server has {preview_path(request_id)} only.\n"
        return Refusal(HTTPStatus.NOT_FOUND, text)
    if clients >= MAX_CLIENTS:
        text = f"{MAX_CLIENTS} clients watch already, which is the most; close one of them, then try again.\n"
        return Refusal(HTTPStatus.SERVICE_UNAVAILABLE, text)
    return None


def _bears(authorization: Sequence[str], token: str) -> bool:
    if len(authorization) != 1:
        return False
    scheme, _, credentials = authorization[0].partition(" ")
    # In constant time, so that the time of an answer does not tell how much of a guess is right.
    matches = hmac.compare_digest(credentials.strip().encode(errors="surrogateescape"), token.encode())
    return scheme.lower() == _SCHEME and matches


def _requested(path: str) -> str | None:
    path = path.partition("?")[0]
    return unquote(path.removeprefix(_PREFIX)) if path.startswith(_PREFIX) else None
