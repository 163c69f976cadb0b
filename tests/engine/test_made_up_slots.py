"""Made-up pictures and the staging slots of their neighbours: none is lost, none is used by two, whatever is dropped.

The engine audits its slots at its end (`tests.support.checked_engine`), which `finish` notices by its exit code.
"""

from __future__ import annotations

import itertools

import pytest

from app.core.clock import NO_STAMP_NS
from app.core.records import FLAG_INTERPOLATED
from app.core.vocabulary import Fate
from app.ipc.messages import EngineEvent
from tests.support.checked_engine import WITHOUT_COMPUTE
from tests.support.engine_harness import EngineHarness
from tests.support.random_walk import walk_faults

AUDITED = "tests.support.checked_engine"
SOURCE = "synthetic:64x64@120,arrival_jitter_ms=3,stall=0.02:120,seed=3"


def made_up(kind: str = "blend", **others: object) -> dict[str, object]:
    rule = {"enabled": True, "window": 16, "table": [[0.001, 40]], "interpolation": kind}
    return {"frame_compensation": rule, "render_latency_ms": 60, **others}


def overflowing() -> list[dict[str, object]]:
    """Every way in which a frame is dropped while another one is to be made up from it."""
    policies, depths, modes = ("drop_oldest", "drop_newest", "block"), (1, 2, 3), ("FIFO", "MAILBOX", "IMMEDIATE")
    return [
        made_up(overflow_policy=policy, frame_queue_depth=depth, present_mode=mode, sync_mode=sync)
        for policy, (depth, mode, sync) in itertools.product(
            policies, zip(depths, modes, ("WaitForNextFrame", "Immediate", "WaitForNextFrame"), strict=True)
        )
    ]


@pytest.mark.parametrize("sink", ["virtual:60,images=2,process=none", "virtual:60"])
def test_no_slot_is_lost_or_doubled_however_the_queue_overflows(sink: str) -> None:
    """One run that goes through all of them, with LOW_LATENCY in between."""
    with EngineHarness([SOURCE, SOURCE], sink, validation=True, module=AUDITED) as engine:
        engine.ready()
        for config in overflowing():
            for mode in ("LOW_JITTER", "LOW_LATENCY"):
                engine.change(**config, latency_mode=mode)
                engine.run_frames(40)
        finished = engine.finish()
        assert walk_faults(engine.frames(), engine.messages, finished) == []


def test_a_device_that_makes_no_pictures_up_shows_the_one_before_and_loses_no_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(WITHOUT_COMPUTE, "1")
    with EngineHarness(SOURCE, "virtual:60", made_up(frame_queue_depth=12), module=AUDITED) as engine:
        engine.ready()
        engine.run_frames(400)
        finished = engine.finish()
        frames = engine.frames()
        assert walk_faults(frames, engine.messages, finished) == []
    decimated = frames[frames["fate"] == Fate.DECIMATED]
    assert len(decimated) > 40
    assert not (decimated["flags"] & FLAG_INTERPOLATED).any()
    assert (decimated["displayed_ns"] == NO_STAMP_NS).all()
    assert any(isinstance(told, EngineEvent) and "are not made up" in told.text for told in engine.messages)
