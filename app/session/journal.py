"""`events.jsonl`: everything a run's engine and session said, one JSON object a line, in the order it was said.

A line is `{"received_ns": N, "entry": {"type": …, …}}`. Entries are the engine's messages as they came, and the
session's own below. The whole history of a run is a fold over these lines (`app.session.run_history`), so a recording
cut off by SIGKILL is told by the very code that told the live run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from app.core.vocabulary import Fate
from app.ipc.frame_ring import FrameCounters
from app.ipc.messages import ENGINE_MESSAGES, FromEngine


@dataclass(frozen=True, slots=True)
class ConfigRequested:
    """A whole configuration was sent to the engine under a serial."""

    config_serial: int
    config: dict[str, Any]


@dataclass(frozen=True, slots=True)
class RecordedCounters:
    """The run's totals as the recorder found them in the ring, and how many records it has lost to lapping so far."""

    counters: FrameCounters
    lapped: int


@dataclass(frozen=True, slots=True)
class RunEnded:
    """The run is over. `failure` is "" when it ended as asked."""

    ended_ns: int
    failure: str


Entry = FromEngine | ConfigRequested | RecordedCounters | RunEnded
_OWN: Final = {cls.__name__: cls for cls in (ConfigRequested, RecordedCounters, RunEnded)}


class JournalLine(NamedTuple):
    """One line: when this process received or made the entry (CLOCK_MONOTONIC ns), and the entry."""

    received_ns: int
    entry: Entry


def encode_line(received_ns: int, entry: Entry) -> bytes:
    """Return one line with its newline."""
    if isinstance(entry, ConfigRequested | RecordedCounters | RunEnded):
        text = _own_json(entry)
    else:
        text = ENGINE_MESSAGES.encode(entry)
    return b'{"received_ns": %d, "entry": %s}\n' % (received_ns, text)


def decode_line(line: bytes) -> JournalLine:
    """Return the entry of one line.

    Raises:
        ValueError: not a line of a journal, for instance because the writer was killed in the middle of it.
    """
    try:
        outer = json.loads(line)
        received_ns, entry = int(outer["received_ns"]), outer["entry"]
        return JournalLine(received_ns, _own_entry(entry) or _message(entry))
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not a journal line: {error!r}") from error


def read_journal(path: Path) -> Iterator[JournalLine]:
    """Yield the whole lines of a journal; a line cut off or unreadable is left out.

    Raises:
        OSError: the file cannot be read.
    """
    with path.open("rb") as file:
        for line in file:
            try:
                yield decode_line(line)
            except ValueError:
                continue


def _own_json(entry: ConfigRequested | RecordedCounters | RunEnded) -> bytes:
    fields = asdict(entry)
    if isinstance(entry, RecordedCounters):
        fields["counters"]["lost"] = {fate.label: count for fate, count in entry.counters.lost.items()}
    return json.dumps({"type": type(entry).__name__, **fields}).encode()


def _own_entry(fields: dict[str, Any]) -> ConfigRequested | RecordedCounters | RunEnded | None:
    cls = _OWN.get(fields["type"])
    if cls is None:
        return None
    values = {key: value for key, value in fields.items() if key != "type"}
    if cls is RecordedCounters:
        values["counters"] = _counters(values["counters"])
    own: ConfigRequested | RecordedCounters | RunEnded = cls(**values)
    return own


def _counters(fields: dict[str, Any]) -> FrameCounters:
    lost = {Fate[label.upper()]: count for label, count in fields["lost"].items()}
    return FrameCounters(**{**fields, "lost": lost})


def _message(fields: dict[str, Any]) -> FromEngine:
    message: Any = ENGINE_MESSAGES.from_object(fields)
    if not isinstance(message, FromEngine):
        raise ValueError(f"{type(message).__name__} is no message of an engine")  # noqa: TRY004 - bad data
    return message
