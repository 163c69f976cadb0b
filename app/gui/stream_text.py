"""The preview stream in words. The token is in none of them."""

from __future__ import annotations

from dataclasses import dataclass

from app.gui.status_item import StatusItem
from app.ipc.stream_messages import MAX_CLIENTS, StreamStatus


@dataclass(frozen=True, slots=True)
class StreamFacts:
    """The stream as its server said last: its address, "" while no server is ready, and whom it serves."""

    url: str
    status: StreamStatus | None = None


def stream_item(facts: StreamFacts) -> StatusItem:
    """Return the entry of the status line."""
    if not facts.url:
        return StatusItem("stream", "stream starting", "The server of the preview stream is not ready yet.")
    clients = facts.status.clients if facts.status else 0
    tip = "\n".join((f"Preview stream at {facts.url}", *(f"{name}: {value}" for name, value in stream_rows(facts))))
    return StatusItem("stream", f"stream {clients} of {MAX_CLIENTS}", tip)


def stream_words(facts: StreamFacts) -> str:
    """Return where the stream is served and who watches, in a line."""
    if not facts.url:
        return "the server is starting"
    return f"served at {facts.url}, {facts.status.clients if facts.status else 0} of {MAX_CLIENTS} clients"


def stream_rows(facts: StreamFacts) -> list[tuple[str, str]]:
    """Return what the server counts, by name; dashes before it has said anything."""
    status = facts.status
    if status is None:
        return [(name, "—") for name in _NAMES]
    values = (
        f"{status.clients} of {MAX_CLIENTS}",
        f"{status.sent}",
        f"{status.dropped}",
        f"{status.refused}",
        f"{status.cut}",
        f"{status.torn}",
        f"{status.cpu_ratio * 100:.1f} % of a core, {status.resident_bytes / 1e6:.0f} MB",
    )
    return list(zip(_NAMES, values, strict=True))


_NAMES = (
    "Clients",
    "Messages sent",
    "Dropped for a newer one",
    "Connections refused",
    "Clients cut off",
    "Pictures copied again",
    "Server's cost",
)
