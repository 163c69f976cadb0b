"""Host code can wait for the display: frame by frame, in order, and with a clear end."""

from __future__ import annotations

import asyncio

import pytest

from app.core.errors import EngineError
from app.core.vocabulary import Fate
from app.session.display_barrier import DisplayBarrier
from app.session.session import Session
from app.session.session_state import Phase, RunRequest

REQUEST = RunRequest("synthetic:64x36@100", "virtual:100,process=none", gpu="none")


def start(session: Session) -> None:
    session.start()
    assert session.wait_for(lambda state: state.phase is not Phase.STARTING, 30).phase is Phase.RUNNING


def test_each_displayed_frame_is_awaited_once_and_in_order() -> None:
    async def follow(barrier: DisplayBarrier) -> list[int]:
        records = [await barrier.next_displayed(10) for _ in range(20)]
        assert all(record["fate"] == Fate.DISPLAYED and record["displayed_ns"] > 0 for record in records)
        return [int(record["frame_id"]) for record in records]

    with Session(REQUEST) as session:
        start(session)
        with DisplayBarrier(session) as barrier:
            numbers = asyncio.run(follow(barrier))
    assert numbers == sorted(set(numbers))


def test_a_display_that_shows_nothing_is_a_time_out_and_the_end_of_the_run_is_said() -> None:
    async def drain(barrier: DisplayBarrier) -> None:
        while True:
            await barrier.next_displayed(10)

    with Session(REQUEST) as session:
        start(session)
        with DisplayBarrier(session, source_index=1) as other, pytest.raises(TimeoutError):
            asyncio.run(other.next_displayed(0.1))
        with DisplayBarrier(session) as barrier:
            session.stop()
            with pytest.raises(EngineError, match="run is over"):
                asyncio.run(drain(barrier))
