"""The journal gives back what was noted, and leaves out a line that was cut off."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.vocabulary import LOSS_CLASSES, Fate
from app.ipc.frame_ring import FrameCounters
from app.ipc.messages import ConfigApplied, EngineEvent, EngineReady, SegmentEnded, SegmentStarted, SinkChanged
from app.session.journal import (
    ConfigRequested,
    Entry,
    JournalLine,
    RecordedCounters,
    RunEnded,
    decode_line,
    encode_line,
    read_journal,
)
from app.session.journal_file import JournalFile, try_lock
from app.session.run_history import RunHistory
from tests.session.scripted_engine import SINK, SOURCE

ENTRIES: list[Entry] = [
    EngineReady(SOURCE, SINK),
    SegmentStarted(1, 5, "start"),
    EngineEvent("warning", "stall", "the source stalled – 80 ms", 7),
    ConfigRequested(2, {"frame_queue_depth": 8}),
    ConfigApplied(2, 9, {"frame_queue_depth": [4, 8]}, {"frame_queue_depth": "next frame"}),
    SinkChanged(SINK, "present mode"),
    RecordedCounters(FrameCounters(10, 7, {**dict.fromkeys(LOSS_CLASSES, 0), Fate.SUPERSEDED: 2}, None, 1, 8), 3),
    SegmentEnded(1, 11, "stopped"),
    RunEnded(12, ""),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: type(entry).__name__)
def test_every_kind_of_entry_comes_back_equal(entry: Entry) -> None:
    assert decode_line(encode_line(42, entry)) == JournalLine(42, entry)


@given(st.binary(max_size=60))
def test_no_line_of_garbage_is_taken_for_an_entry_or_breaks_the_reader(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a journal line"):
        decode_line(line)


def test_a_journal_cut_in_its_last_line_gives_all_lines_before(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    lines = [encode_line(number, entry) for number, entry in enumerate(ENTRIES)]
    path.write_bytes(b"".join(lines)[:-3])
    assert [line.entry for line in read_journal(path)] == ENTRIES[:-1]


def test_the_history_is_the_fold_of_its_entries() -> None:
    history = RunHistory()
    for number, entry in enumerate(ENTRIES):
        history.apply(number, entry)
    assert (history.source, history.sink, len(history.sinks)) == (SOURCE, SINK, 2)
    assert [(span.segment, span.ended_ns, span.reason_ended) for span in history.segments] == [(1, 11, "stopped")]
    assert (history.ended_ns, history.failure, history.lapped, history.counters.produced) == (12, "", 3, 10)
    assert history.requested == ConfigRequested(2, {"frame_queue_depth": 8})


def test_an_entry_is_in_the_file_when_append_returns(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal = JournalFile(path)
    journal.append(1, ENTRIES[0])
    assert len(list(read_journal(path))) == 1
    journal.close()


def test_the_writers_lock_is_held_until_it_closes(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    journal = JournalFile(path)
    with path.open("rb") as other:
        assert not try_lock(other)
        journal.close()
        assert try_lock(other)
