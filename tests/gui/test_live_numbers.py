"""The tiles: unit always, N and definition in the tip, a dash with its reason when missing."""

from __future__ import annotations

import math

from app.core.records import empty_frames
from app.core.vocabulary import LOSS_CLASSES, DisplayTimeSource, Fate
from app.gui.live_numbers import live_tiles, lost_of_run, lost_of_source
from app.gui.source_series import SourceSeries
from app.ipc.frame_ring import FrameCounters
from tests.gui.test_live_series import ORIGIN_NS, frames_at_60_hz

TRUTH = DisplayTimeSource.VIRTUAL_DISPLAY
NOBODY = dict.fromkeys(LOSS_CLASSES, 0)


def test_numbers_carry_unit_n_and_definition() -> None:
    tiles = live_tiles(frames_at_60_hz(0, 300, source=TRUTH), "display_interval_ms", 16.667, None, "display time: x")
    assert (tiles["p50"].value, tiles["p50"].basis) == ("16.67 ms", "N 299")
    assert tiles["latency"].value == "33 ms"
    assert "Difference of the display times" in tiles["p50"].tip
    assert "N = 299, the last 10 s; display time: x" in tiles["p50"].tip
    assert tiles["low"].value.endswith(" fps")


def test_a_p99_of_too_few_frames_is_a_dash_with_its_reason() -> None:
    tile = live_tiles(frames_at_60_hz(0, 50, source=TRUTH), "display_interval_ms", 16.667, None, "")["p99"]
    assert tile.value == "—"
    assert "needs 100 samples, there are 49" in tile.reason


def test_nothing_yet_is_a_dash_everywhere_and_no_zero() -> None:
    tiles = live_tiles(empty_frames(0), "display_interval_ms", math.nan, None, "")
    assert {tile.value for tile in tiles.values()} == {"—"}
    assert all(tile.reason for tile in tiles.values())


def test_without_a_display_time_the_tiles_say_that_they_speak_of_present_calls() -> None:
    frames = frames_at_60_hz(0, 300, source=DisplayTimeSource.PRESENT_FENCE)
    tiles = live_tiles(frames, "present_interval_ms", 16.667, None, "")
    assert tiles["p50"].basis == "N 299 calls"
    assert "Computed from present calls" in tiles["jitter"].tip


def test_losses_are_counted_for_the_run_and_told_by_class() -> None:
    lost = {**NOBODY, Fate.QUEUE_OVERFLOW: 3, Fate.DEADLINE_MISSED: 2}
    counted = lost_of_run(FrameCounters(500, 490, lost, 1, 5, 1))
    tile = live_tiles(empty_frames(0), "display_interval_ms", math.nan, counted, "")["lost"]
    assert (tile.value, tile.basis) == ("5 frames", "1 %")
    assert "queue_overflow: 3" in tile.tip
    assert "5 in flight" in tile.tip


def test_losses_of_one_of_several_sources_are_a_part_of_its_own_frames() -> None:
    series = SourceSeries(1000)
    frames = frames_at_60_hz(0, 100, source=TRUTH)
    frames["fate"][:4] = Fate.SUPERSEDED
    series.take(frames, ORIGIN_NS)
    tile = live_tiles(empty_frames(0), "display_interval_ms", math.nan, lost_of_source(series), "")["lost"]
    assert (tile.value, tile.basis) == ("4 frames", "4 %")
    assert "4 of 100 records of this source since the run began" in tile.tip
