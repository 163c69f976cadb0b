"""The session speaks up about losses once, and about asked-for ones never."""

from __future__ import annotations

from app.config.sections import Alerts
from app.core.clock import NS_PER_S
from app.core.vocabulary import LOSS_CLASSES, Fate
from app.ipc.frame_ring import FrameCounters
from app.ipc.messages import EngineEvent
from app.session.loss_watch import LossWatch


def watch(losses_a_second: int, fate: Fate, seconds: int = 20) -> list[EngineEvent]:
    loss_watch = LossWatch()
    told = []
    for tenth in range(10 * seconds):
        lost = dict.fromkeys(LOSS_CLASSES, 0) | {fate: losses_a_second * tenth // 10}
        event = loss_watch.look(FrameCounters(99, 9, lost, None, 0, 0), Alerts(), tenth * NS_PER_S // 10)
        told += [] if event is None else [event]
    return told


def test_a_lasting_loss_is_told_once() -> None:
    told = watch(5, Fate.DEADLINE_MISSED)
    assert [(event.severity, event.kind) for event in told] == [("warning", "frames_lost")]


def test_a_heavy_loss_is_critical() -> None:
    assert "error" in [event.severity for event in watch(40, Fate.DECODE_OVERFLOW)]


def test_frames_dropped_on_purpose_alarm_nobody() -> None:
    assert watch(40, Fate.DECIMATED) == []
