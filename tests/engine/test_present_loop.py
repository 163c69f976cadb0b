"""The present loop beside a process thread that drops frames at the worst moment: it shows what it decided on."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from typing import cast

import numpy as np
import pytest

from app.config.sink_text import VirtualSpec
from app.config.source_text import SyntheticSpec
from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS, NS_PER_MS, MonotonicClock
from app.core.records import FLAG_INTERPOLATED, FRAME_DTYPE, FrameArray
from app.core.vocabulary import Fate, Governor, LatencyMode, OverflowPolicy, PresentMode
from app.engine.doorbell import Doorbell
from app.engine.frame import Frame
from app.engine.lane import Lane, timing_of
from app.engine.outbox import Outbox
from app.engine.present_loop import Output, PresentLoop
from app.engine.scheduling import Pacing, Step
from app.engine.sinks.sink import Settled, SinkRequest
from app.engine.sinks.virtual import VirtualSink
from app.engine.sources.synthetic import SyntheticSource
from app.engine.stages import Rate, Stages
from app.ipc.frame_ring import FrameRingWriter

SLOTS = 8


class _Ring:
    def __init__(self) -> None:
        self.rows: list[bytes] = []

    def write(self, row: bytes) -> None:
        self.rows.append(row)

    def write_counters(self, *totals: object) -> None:
        pass


class _Outbox:
    def post(self, message: object) -> None:
        pass


class _BusySink(VirtualSink):
    """A display that lets something happen while an image is awaited, and notes what it is given to show."""

    def __init__(self) -> None:
        spec = VirtualSpec(60, None, 0, process_on_gpu=False)
        super().__init__(spec, SinkRequest(PresentMode.IMMEDIATE, 3), MonotonicClock())
        self.images = 3
        self.meanwhile: list[object] = []
        self.shown: list[tuple[int, bool]] = []

    def acquire(self, deadline_ns: int) -> int | None:
        return super().acquire(deadline_ns) if self.images else None

    def present(self, frames: Sequence[Frame], image_index: int) -> None:
        for frame in frames:
            assert frame.segment > 0, f"frame {frame.frame_id} is shown though nothing was decided on it"
            made = frame.interpolation
            assert made is not None or not frame.flags & FLAG_INTERPOLATED, f"frame {frame.frame_id} has no picture"
            assert made is None or made.next_frame.pinned_by is frame, (
                "the neighbour of a made-up picture is another frame now"
            )
            self.shown.append((frame.frame_id, made is not None))
        super().present(frames, image_index)


class Bench:
    """A present loop whose process thread is the test."""

    def __init__(self, mode: LatencyMode = LatencyMode.LOW_JITTER, depth: int = 4) -> None:
        config = VeoConfig(latency_mode=mode, render_latency_ms=0)
        self.sink, self.ring, doorbell = _BusySink(), _Ring(), Doorbell()
        source = SyntheticSource(SyntheticSpec(64, 64, 60))
        self.stages = Stages(0, source, self.sink, doorbell, 4)
        self.stages.configure_queues(4, depth, OverflowPolicy.DROP_OLDEST)
        self.stages.slots.grow(SLOTS)
        self.stages.rate = Rate(30, Governor.COMPENSATION, "blend")
        self.lane = Lane(0, source, self.stages, timing_of(config), itertools.count(1))
        output = Output(self.sink, cast("Outbox", _Outbox()), cast("FrameRingWriter", self.ring))
        self.loop = PresentLoop([self.lane], output, doorbell)
        self.start_ns = time.monotonic_ns() - 200 * NS_PER_MS

    def process(self, *, made_up: bool = False, pts_ms: int | None = None) -> None:
        """Do what the process thread does with its next frame; of 200 ms and less it is due already."""
        frame = self.stages.pool.take(self.stages.ledger.produce())
        frame.pts_ns = (frame.frame_id if pts_ms is None else pts_ms) * NS_PER_MS
        frame.arrive_ns = frame.process_end_ns = self.start_ns
        frame.breaks_before = 0
        if made_up:
            frame.flags, frame.governor = FLAG_INTERPOLATED, Governor.COMPENSATION
        else:
            slot = self.stages.slots.take()
            assert slot is not None
            frame.slot = slot
        dropped = self.stages.frame_queue.put(frame).dropped
        if dropped is not None:
            self.stages.aside.append(Settled(dropped, Fate.QUEUE_OVERFLOW))

    def end(self) -> FrameArray:
        """Show what is left, and return the records; every slot must be free again, and none twice."""
        self.sink.images = 3
        for _ in range(40):
            self.loop.turn()
        self.loop.end_segments("stopped", "stopped")
        self.loop.settle()
        assert sorted(self.stages.slots._free) == list(range(SLOTS))
        return np.frombuffer(b"".join(self.ring.rows), FRAME_DTYPE)


def test_a_frame_that_took_the_place_of_the_one_decided_on_is_not_shown_before_it_is_decided_on() -> None:
    bench = Bench(depth=1)
    bench.process()
    bench.loop._look()
    bench.process()  # drops the frame that the loop has just decided to present
    bench.loop._present_ready()
    records = bench.end()
    assert bench.sink.shown == [(1, False)]
    assert sorted(zip(records["frame_id"], records["fate"], strict=True)) == [
        (0, Fate.QUEUE_OVERFLOW), (1, Fate.DISPLAYED)
    ]  # fmt: skip


def test_a_made_up_picture_whose_neighbour_is_dropped_while_it_is_held_is_made_from_the_next_one() -> None:
    bench = Bench(depth=3)
    bench.process()
    bench.loop.turn()
    bench.process(made_up=True)
    bench.process(pts_ms=400)
    bench.sink.images = 0
    bench.loop.turn()
    assert bench.lane.held is not None
    for number in range(5):  # the neighbour overflows, is settled, and its frame object is used again
        bench.process(pts_ms=401 + number)
        bench.loop.settle()
    records = bench.end()
    assert bench.sink.shown[:2] == [(0, False), (1, True)]
    assert records["fate"][(records["flags"] & FLAG_INTERPOLATED) != 0].tolist() == [Fate.DECIMATED]
    assert len(records) == 8


def test_a_held_frame_is_not_given_up_for_the_place_of_a_picture_that_cannot_be_made_up() -> None:
    """A switch to LOW_LATENCY finds places of made-up pictures in the queue, and nothing behind them."""
    bench = Bench(LatencyMode.LOW_LATENCY)
    bench.process()
    bench.sink.images = 0
    bench.loop.turn()
    bench.process(made_up=True)
    bench.process(made_up=True)
    records = bench.end()
    assert bench.sink.shown == [(0, False)]
    assert sorted(zip(records["frame_id"], records["fate"], strict=True)) == [
        (0, Fate.DISPLAYED), (1, Fate.DECIMATED), (2, Fate.DECIMATED)
    ]  # fmt: skip
    assert (records["displayed_ns"][records["frame_id"] > 0] == NO_STAMP_NS).all()


@pytest.mark.parametrize("wanted_hz", [20.0, 30.0, 59.94])
def test_a_free_source_keeps_the_wanted_rate_though_every_wake_up_is_late(wanted_hz: float) -> None:
    source = SyntheticSource(SyntheticSpec(64, 64, 0))
    stages = Stages(0, source, _BusySink(), Doorbell(), 4)
    stages.rate = Rate(wanted_hz)
    lane = Lane(0, source, stages, timing_of(VeoConfig()), itertools.count(1))
    pacing = Pacing(PresentMode.IMMEDIATE, None, 1e9 / 60)
    frame, now_ns, calls = Frame(), 10**9, []
    for number in range(200):
        decision = lane.decide(frame, now_ns, pacing)
        if decision.step is Step.WAIT:
            now_ns = decision.at_ns + (number % 5) * NS_PER_MS // 2
        assert lane.decide(frame, now_ns, pacing).step is Step.PRESENT
        frame.present_call_ns = now_ns
        lane.note_presented(frame, pacing)
        calls.append(now_ns)
    assert (len(calls) - 1) * 1e9 / (calls[-1] - calls[0]) == pytest.approx(wanted_hz, rel=0.001)
