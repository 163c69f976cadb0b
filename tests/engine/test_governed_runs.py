"""Governors in the real engine: what they decide is what the display shows, and every decision has its numbers."""

from __future__ import annotations

import re
import time

import numpy as np
import pytest

from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.records import FLAG_INTERPOLATED, FrameArray
from app.core.vocabulary import Fate, Governor
from app.engine.governors.compensation import rate_of_delay
from app.ipc.messages import GovernorDecision, GovernorReadings
from tests.support.disturbance import again_if_disturbed
from tests.support.engine_harness import EngineHarness, of_fate

STALLING = "synthetic:64x64@60,stall=0.03:250,seed=2"
DISPLAY = "virtual:60,process=none"
TABLE = ((40.0, 60.0), (80.0, 45.0), (200.0, 30.0))


def decisions_of(engine: EngineHarness, governor: str) -> list[GovernorDecision]:
    return [told for told in engine.messages if isinstance(told, GovernorDecision) and told.governor == governor]


def shown_rate_hz(frames: FrameArray, since_ns: int) -> float:
    shown = of_fate(frames, Fate.DISPLAYED)
    stamps = shown["displayed_ns"][shown["displayed_ns"] > since_ns]
    return float(NS_PER_S / np.mean(np.diff(stamps)))


def test_the_rate_follows_the_table_when_the_source_delivers_late() -> None:
    """Each ceiling told is the one that the table gives for the p95 told with it; slower delivery, lower rate."""
    config = {"frame_compensation": {"enabled": True}, "render_latency_ms": 60, "frame_queue_depth": 8}
    with EngineHarness(STALLING, DISPLAY, config) as engine:
        engine.ready()
        frames = engine.run_frames(600)
        engine.finish()
        decisions = decisions_of(engine, "compensation")
    told = [re.search(r"delay ([\d.]+) ms .*ceiling ([\d.]+) fps", decision.reason) for decision in decisions]
    pairs = [(float(match[1]), float(match[2])) for match in told if match is not None]
    assert max(delay_ms for delay_ms, _ in pairs) > 80
    for delay_ms, ceiling_hz in pairs:
        assert ceiling_hz == pytest.approx(rate_of_delay(TABLE, delay_ms), abs=0.1)
    decimated = of_fate(frames, Fate.DECIMATED)
    assert len(decimated) > 50
    assert set(decimated["governor"]) == {Governor.COMPENSATION}


@again_if_disturbed
def test_heat_told_to_the_engine_lowers_the_rate_that_is_shown_and_cooling_raises_it_again() -> None:
    config = {
        "thermal_guard": {"enabled": True, "dwell_s": 0.5, "hysteresis_c": 3},
        "render_latency_ms": 60,
        "frame_queue_depth": 8,
    }
    rates_hz = []
    with EngineHarness("synthetic:64x64@60", DISPLAY, config) as engine:
        engine.ready()
        engine.run_frames(60)
        for temperature_c in (90.0, 60.0):
            engine.send(GovernorReadings(time.monotonic_ns(), temperature_c, None, None, None, ""))
            engine.wait_for(GovernorDecision)
            changed_ns = time.monotonic_ns() + 200 * NS_PER_MS
            rates_hz.append(shown_rate_hz(engine.run_frames(120), changed_ns))
        engine.finish()
    assert rates_hz == pytest.approx([36, 60], rel=0.03)


@again_if_disturbed
@pytest.mark.parametrize("kind", ["blend", "motion"])
def test_made_up_pictures_fill_the_places_of_decimated_frames_and_tell_what_they_cost(kind: str) -> None:
    config = {
        "thermal_guard": {"enabled": False},
        "frame_compensation": {"enabled": True, "table": [[0.001, 30]], "interpolation": kind},
        "render_latency_ms": 150,
        "frame_queue_depth": 24,
        "min_image_count": 4,
    }
    source = "synthetic:160x96@60,arrival_jitter_ms=3,seed=1"
    with EngineHarness(source, "virtual:60", config, validation=True) as engine:
        engine.ready()
        frames = engine.run_frames(300)
        engine.finish()
    made_up = frames[(frames["flags"] & FLAG_INTERPOLATED) != 0]
    assert len(made_up) > 40
    assert set(made_up["fate"]) == {Fate.DECIMATED}
    assert np.all(made_up["displayed_ns"] != NO_STAMP_NS)
    assert np.all(made_up["image_index"] >= 0)
    timed = made_up["interpolation_ns"][made_up["interpolation_ns"] != NO_STAMP_NS]
    assert len(timed) > 0.9 * len(made_up)
    assert np.all(timed > 0)
    on_screen = np.sort(frames["displayed_ns"][frames["displayed_ns"] != NO_STAMP_NS])[-100:]
    assert np.median(np.diff(on_screen)) == pytest.approx(NS_PER_S / 60, rel=0.02)


def test_the_delay_that_made_up_pictures_cost_is_one_source_interval_at_half_the_rate() -> None:
    config = {
        "frame_compensation": {"enabled": True, "table": [[0.001, 30]], "interpolation": "blend"},
        "render_latency_ms": 50,
        "frame_queue_depth": 12,
    }
    source = "synthetic:64x64@60,arrival_jitter_ms=3,seed=1"
    with EngineHarness(source, DISPLAY, config) as engine:
        engine.ready()
        frames = engine.run_frames(400)
        engine.finish()
        (told,) = decisions_of(engine, "compensation")
    assert told.reason.endswith("making pictures up (blend) adds 16.7 ms of latency")
    due_ms = (frames["due_ns"] - frames["pts_ns"]) / 1e6
    known = due_ms[frames["due_ns"] != NO_STAMP_NS]
    assert known.max() - known.min() == pytest.approx(1000 / 60, abs=0.5)
