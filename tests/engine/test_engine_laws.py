"""The real engine process on the virtual display: the laws that its scheduler and display must obey.

Times asserted here are the virtual display's own stamps or differences to them; a slow machine costs losses, and where
a test cannot bear one it says so.
"""

from __future__ import annotations

import itertools
import time

import numpy as np
import numpy.typing as npt
import pytest

from app.analysis.frame_intervals import display_intervals
from app.core.clock import NO_STAMP_NS
from app.core.records import FrameArray, difference_ms
from app.core.vocabulary import Fate
from app.ipc.messages import ConfigApplied, RunFailed, RunFinished, SegmentEnded, SegmentStarted, SetPaused, SetScreen
from tests.support.disturbance import again_if_disturbed
from tests.support.engine_harness import EngineHarness, of_fate

REFRESH_NS = 1e9 / 60
SOURCE_60 = "synthetic:320x180@60"


def latency_ms(frames: FrameArray) -> npt.NDArray[np.float64]:
    shown = of_fate(frames, Fate.DISPLAYED)
    return difference_ms(shown["displayed_ns"], shown["arrive_ns"])


@again_if_disturbed
def test_an_even_source_on_an_even_display_loses_nothing_and_does_not_jitter() -> None:
    with EngineHarness(SOURCE_60, "virtual:60,process=none", {"render_latency_ms": 60}) as engine:
        engine.ready()
        frames = engine.run_frames(600)
        engine.finish()
    shown = of_fate(frames, Fate.DISPLAYED)
    assert len(shown) == len(frames)
    assert np.std(np.diff(shown["displayed_ns"][1:])) / 1e6 < 0.2


@again_if_disturbed
@pytest.mark.parametrize("images", [2, 3, 4])
def test_saturated_fifo_shows_a_frame_images_minus_one_refreshes_after_acquire(images: int) -> None:
    with EngineHarness(
        "synthetic:320x180@0", f"virtual:60,images={images},process=none", {"present_mode": "FIFO"}
    ) as engine:
        engine.ready()
        frames = engine.run_frames(120)
        engine.finish()
    shown = of_fate(frames, Fate.DISPLAYED)[images:]
    delay = (shown["displayed_ns"] - shown["acquire_end_ns"]) / REFRESH_NS
    assert np.median(delay) == pytest.approx(images - 1, abs=0.1)
    assert np.all(shown["due_ns"] == NO_STAMP_NS)


@again_if_disturbed
def test_mailbox_at_twice_the_refresh_supersedes_half() -> None:
    with EngineHarness(
        "synthetic:320x180@120", "virtual:60,process=none", {"present_mode": "MAILBOX", "render_latency_ms": 60}
    ) as engine:
        engine.ready()
        frames = engine.run_frames(1000)
        engine.finish()
    settled = frames[20:]
    assert len(of_fate(settled, Fate.SUPERSEDED)) / len(settled) == pytest.approx(0.5, abs=0.01)


@again_if_disturbed
def test_raising_the_latency_by_three_refreshes_moves_the_median_by_exactly_three_and_back() -> None:
    with EngineHarness(SOURCE_60, "virtual:60,process=none", {"render_latency_ms": 40}) as engine:
        engine.ready()
        engine.run_frames(90)
        medians, repeats, frames = [], [], engine.frames()
        for latency in (90, 40):
            before = engine.counters()
            serial = engine.change(render_latency_ms=latency)
            engine.wait_for(ConfigApplied)
            frames = engine.run_frames(90)
            old, new = frames[frames["config_serial"] == serial - 1], frames[frames["config_serial"] == serial]
            medians.append(np.median(latency_ms(new[30:])) - np.median(latency_ms(old[-60:])))
            repeats.append((engine.counters().repeated or 0) - (before.repeated or 0))
        engine.finish()
    assert np.array(medians) == pytest.approx([3 * REFRESH_NS / 1e6, -3 * REFRESH_NS / 1e6], abs=0.05)
    lost = frames[frames["fate"] != Fate.DISPLAYED]
    assert len(lost) <= 3
    assert repeats == [3, 0]


@again_if_disturbed
def test_on_immediate_the_latency_moves_by_what_was_asked() -> None:
    with EngineHarness(
        SOURCE_60, "virtual:60,process=none", {"present_mode": "IMMEDIATE", "render_latency_ms": 45}
    ) as engine:
        engine.ready()
        first = latency_ms(engine.run_frames(90)[30:])
        serial = engine.change(render_latency_ms=105)
        frames = engine.run_frames(120)
        engine.finish()
    second = latency_ms(frames[frames["config_serial"] == serial][30:])
    assert np.median(second) - np.median(first) == pytest.approx(60, abs=2)


@pytest.mark.parametrize("mode", ["FIFO", "FIFO_RELAXED", "FIFO_LATEST_READY", "MAILBOX", "IMMEDIATE"])
@pytest.mark.parametrize("policy", ["block", "drop_oldest", "drop_newest"])
@pytest.mark.parametrize("latency_mode", ["LOW_JITTER", "LOW_LATENCY"])
def test_frames_balance_under_every_mode_policy_and_stall(mode: str, policy: str, latency_mode: str) -> None:
    """`finish` fails when a frame disappeared or was counted twice."""
    config = {
        "present_mode": mode,
        "overflow_policy": policy,
        "latency_mode": latency_mode,
        "frame_queue_depth": 1,
        "render_latency_ms": 80,
    }
    source = "synthetic:64x64@240,arrival_jitter_ms=3,decode_ms=1±1,stall=0.02:120,seed=5"
    with EngineHarness(source, "virtual:120,process=none", config) as engine:
        engine.ready()
        engine.run_frames(120)
        engine.change(min_image_count=2, frame_queue_depth=3)
        engine.run_frames(60)
        engine.finish()


@again_if_disturbed
def test_preview_fps_decimates_evenly_and_says_so() -> None:
    with EngineHarness(SOURCE_60, "virtual:60,process=none", {"preview_fps": 20}) as engine:
        engine.ready()
        frames = engine.run_frames(120)
        engine.finish()
    shown = of_fate(frames, Fate.DISPLAYED)
    assert set(np.unique(frames["fate"])) <= {Fate.DISPLAYED, Fate.DECIMATED, Fate.DEADLINE_MISSED}
    assert np.median(np.diff(shown["frame_id"].astype(np.int64))) == 3
    assert np.median(shown["refreshes"]) == 3


def test_what_a_stall_of_the_source_costs_is_booked_to_the_source() -> None:
    source = "synthetic:64x64@60,stall=0.03:200,seed=3"
    with EngineHarness(source, "virtual:60,process=none", {"render_latency_ms": 60}) as engine:
        engine.ready()
        frames = engine.run_frames(240)
        engine.finish()
    late = of_fate(frames, Fate.SOURCE_LATE)
    assert len(late) > 10
    assert np.all(late["arrive_ns"] - late["due_ns"] > REFRESH_NS / 2)


def test_no_interval_spans_a_stall_though_the_frames_behind_it_overflow() -> None:
    source = "synthetic:64x64@60,stall=0.02:1500,seed=3"
    with EngineHarness(source, "virtual:60,process=none", {"render_latency_ms": 60}) as engine:
        engine.ready()
        frames = engine.run_frames(240)
        engine.finish()
    assert len(of_fate(frames, Fate.DECODE_OVERFLOW)) > 10
    assert frames["segment"].max() > 1
    assert display_intervals(frames).interval_ns.max() < 1_000_000_000


@again_if_disturbed
def test_low_latency_ignores_the_render_latency() -> None:
    with EngineHarness(
        SOURCE_60, "virtual:60,process=none", {"latency_mode": "LOW_LATENCY", "render_latency_ms": 400}
    ) as engine:
        engine.ready()
        frames = engine.run_frames(120)
        engine.finish()
    assert np.median(latency_ms(frames)) < 3 * REFRESH_NS / 1e6


@again_if_disturbed
@pytest.mark.parametrize("latency_mode", ["LOW_JITTER", "LOW_LATENCY"])
def test_a_pause_ends_the_segment_and_no_time_in_it_becomes_latency(latency_mode: str) -> None:
    config = {"render_latency_ms": 50, "latency_mode": latency_mode}
    with EngineHarness(SOURCE_60, "virtual:60,process=none", config) as engine:
        engine.ready()
        engine.run_frames(60)
        engine.send(SetPaused(True))
        ended = engine.wait_for(SegmentEnded)
        time.sleep(0.4)
        engine.send(SetPaused(False))
        begun = engine.wait_for(SegmentStarted)
        frames = engine.run_frames(90)
        engine.finish()
    assert (ended.reason, begun.reason) == ("paused", "resumed")
    before, after = (latency_ms(frames[frames["segment"] == segment]) for segment in (1, 2))
    if latency_mode == "LOW_JITTER":
        assert np.median(after) == pytest.approx(np.median(before), abs=1.01 * REFRESH_NS / 1e6)
    shown = of_fate(frames, Fate.DISPLAYED)
    stages = [shown[name] for name in ("arrive_ns", "decode_end_ns", "process_end_ns", "acquire_start_ns")]
    assert all(np.all(later >= earlier) for earlier, later in itertools.pairwise(stages))
    assert np.min(after) > 0
    assert np.max(after) < 200


def test_a_present_mode_change_keeps_the_picture_running() -> None:
    with EngineHarness(SOURCE_60, "virtual:60,process=none", {"render_latency_ms": 60}) as engine:
        engine.ready()
        for mode in ("MAILBOX", "IMMEDIATE", "FIFO_RELAXED", "FIFO_LATEST_READY", "FIFO"):
            engine.run_frames(20)
            engine.change(present_mode=mode)
            applied = engine.wait_for(ConfigApplied)
            assert "swapchain rebuilt in" in applied.effects["present_mode"]
        engine.run_frames(20)
        engine.finish()


def test_a_key_that_nothing_obeys_is_said_to_be_only_kept() -> None:
    with EngineHarness(SOURCE_60, "virtual:60,process=none") as engine:
        engine.ready()
        engine.change(name="mine", render_latency_ms=50)
        applied = engine.wait_for(ConfigApplied)
        engine.finish()
    assert applied.effects["render_latency_ms"] == "next frame"
    assert "nothing in this version acts on it" in applied.effects["name"]


@again_if_disturbed
def test_a_source_slower_than_the_display_repeats_frames_evenly() -> None:
    with EngineHarness("synthetic:64x64@30", "virtual:60,process=none", {"render_latency_ms": 80}) as engine:
        engine.ready()
        frames = engine.run_frames(60)
        finished = engine.finish()
    assert isinstance(finished, RunFinished)
    assert np.median(of_fate(frames, Fate.DISPLAYED)["refreshes"]) == 2


@again_if_disturbed
@pytest.mark.parametrize("mode", ["FIFO", "MAILBOX", "IMMEDIATE", "FIFO_LATEST_READY"])
def test_sources_side_by_side_keep_their_own_cadence_and_their_own_records(mode: str) -> None:
    sources = ["synthetic:64x64@60", "synthetic:64x64@30", "synthetic:64x64@24", "synthetic:64x64@60"]
    config = {"render_latency_ms": 50, "frame_queue_depth": 6, "present_mode": mode}
    with EngineHarness(sources, "virtual:60,process=none", config) as engine:
        ready = engine.ready()
        frames = engine.run_frames(500)
        engine.finish()
    assert [info.rate_hz for info in (ready.source, *ready.more_sources)] == [60, 30, 24, 60]
    for index, rate_hz in enumerate((60, 30, 24, 60)):
        mine = frames[frames["source_index"] == index]
        shown = of_fate(mine, Fate.DISPLAYED)
        assert len(shown) >= len(mine) - 2
        assert np.array_equal(np.sort(mine["frame_id"]), np.arange(len(mine)))
        assert np.mean(np.diff(shown["displayed_ns"])) == pytest.approx(1e9 / rate_hz, rel=0.02)
        assert len(np.unique(mine["segment"])) == 1
    assert len(np.unique(frames["segment"])) == 4


def test_a_source_that_cannot_be_opened_is_named_among_several() -> None:
    with EngineHarness(["synthetic:64x64@120", "tests/none.mp4"], "virtual:60,process=none") as engine:
        failed = engine.wait_for(RunFailed)
    assert "none.mp4" in failed.text


@again_if_disturbed
def test_balanced_lowers_the_delay_to_what_frames_need_a_millisecond_a_second() -> None:
    config = {"latency_mode": "BALANCED", "render_latency_ms": 60, "present_mode": "IMMEDIATE", "frame_queue_depth": 8}
    with EngineHarness("synthetic:64x64@120,decode_ms=4", "virtual:60,process=none", config) as engine:
        engine.ready()
        frames = engine.run_frames(600)
        engine.finish()
    shown = of_fate(frames, Fate.DISPLAYED)
    due = difference_ms(shown["due_ns"], shown["arrive_ns"])
    seconds = (shown["arrive_ns"][-1] - shown["arrive_ns"][60]) / 1e9
    assert due[60] - due[-1] == pytest.approx(seconds, rel=0.25)
    assert np.all(np.diff(due) < 0.1)


@again_if_disturbed
def test_submissions_keep_to_the_grid_of_the_batch_window() -> None:
    config = {"batch_window_us": 10_000, "present_mode": "IMMEDIATE", "render_latency_ms": 40}
    with EngineHarness(SOURCE_60, "virtual:60,process=none", config) as engine:
        engine.ready()
        frames = engine.run_frames(120)
        engine.finish()
    behind_grid_ns = of_fate(frames, Fate.DISPLAYED)["acquire_end_ns"] % 10_000_000
    assert np.median(behind_grid_ns) < 1_000_000


@again_if_disturbed
@pytest.mark.parametrize(("sync_mode", "refreshes"), [("Immediate", 3), ("WaitForNextFrame", 1)])
def test_the_barrier_keeps_one_picture_between_submit_and_display(sync_mode: str, refreshes: int) -> None:
    config = {"sync_mode": sync_mode}
    with EngineHarness("synthetic:64x64@0", "virtual:60,images=4,process=none", config) as engine:
        engine.ready()
        frames = engine.run_frames(120)
        engine.finish()
    shown = of_fate(frames, Fate.DISPLAYED)[10:]
    assert np.median((shown["displayed_ns"] - shown["submit_ns"]) / REFRESH_NS) == pytest.approx(refreshes, abs=0.15)
    if sync_mode == "WaitForNextFrame":
        overlapping = shown["submit_ns"][1:] < shown["displayed_ns"][:-1]
        assert not overlapping.any()


@again_if_disturbed
def test_preview_fps_holds_a_free_running_source_back() -> None:
    with EngineHarness("synthetic:64x64@0", "virtual:240,process=none", {"preview_fps": 40}) as engine:
        engine.ready()
        frames = engine.run_frames(120)
        engine.finish()
    calls = of_fate(frames, Fate.DISPLAYED)["present_call_ns"]
    assert np.mean(np.diff(calls[5:])) / 1e6 == pytest.approx(25, rel=0.03)
    assert not len(of_fate(frames, Fate.DECIMATED))


@again_if_disturbed
@pytest.mark.parametrize("wanted_hz", [20, 30])
def test_a_free_source_held_back_to_an_even_divisor_shows_every_frame_equally_long(wanted_hz: int) -> None:
    with EngineHarness("synthetic:64x64@0", "virtual:60,process=none", {"preview_fps": wanted_hz}) as engine:
        engine.ready()
        frames = engine.run_frames(180)
        engine.finish()
    intervals = np.diff(of_fate(frames, Fate.DISPLAYED)["displayed_ns"][10:]) / REFRESH_NS
    assert np.round(intervals).tolist() == [60 / wanted_hz] * len(intervals)


def test_another_screen_ends_the_segment_of_every_source() -> None:
    with EngineHarness([SOURCE_60, "synthetic:64x64@30"], "virtual:60,process=none") as engine:
        engine.ready()
        engine.run_frames(60)
        engine.send(SetScreen("DP-2", 75.0))
        ended = [engine.wait_for(SegmentEnded) for _ in range(2)]
        begun = [engine.wait_for(SegmentStarted) for _ in range(2)]
        engine.run_frames(30)
        engine.finish()
    moved = "moved to screen DP-2"
    assert {(each.source_index, each.reason) for each in ended} == {(0, moved), (1, moved)}
    assert {each.reason for each in begun} == {"on screen DP-2"}
