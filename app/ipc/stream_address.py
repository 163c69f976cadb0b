"""Where a preview stream listens: the socket, and the sentence for an address that cannot be had."""

from __future__ import annotations

import os
import socket


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens on a host and TCP port, 0 for a free one.

    Raises:
        OSError: the address cannot be had; `address_refused` says it to a person.
    """
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    except UnicodeError as error:  # a label is empty or too long to be looked up
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from error
    return socket.create_server((str(address[0]), port), family=family)


def address_refused(host: str, port: int, error: OSError) -> str:
    """Return why nothing can listen there and what to do."""
    where = f"{host}, port {port}" if port else host
    cure = "choose a port that is free, or 0 for any" if port else "choose an address of this machine"
    # Of other errors, `create_server` lengthens the text by the address, which is named already.
    reason = error.strerror if isinstance(error, socket.gaierror) else os.strerror(error.errno or 0)
    return f"the preview stream cannot listen on {where} ({reason}); {cure}"
