"""Event rows, frame records, status line, help and source texts: words made from facts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from app.config.options import option
from app.core.records import empty_frames
from app.core.vocabulary import LOSS_CLASSES, DisplayTimeSource, Fate
from app.gui.event_text import change_label, event_rows, loss_text, run_time_text
from app.gui.frame_record_text import frame_record_rows
from app.gui.help_text import focus_help, shortcut_table
from app.gui.main_window import SHORTCUT_LIST
from app.gui.status_line import StatusFacts, status_items
from app.ipc.messages import ConfigApplied, EngineEvent, EngineStatus, RunFailed, SegmentEnded, SinkInfo
from app.telemetry.sampler import SamplerCost
from tests.gui.test_live_series import ORIGIN_NS, frames_at_60_hz

SINK = SinkInfo(
    "x11", 60.0, "MAILBOX", "FIFO", "not offered", ["FIFO"], 3, "present_fence", None, "llvmpipe", True, "", "",
    1280, 720,
)  # fmt: skip


def test_a_config_change_is_told_with_both_values_and_when_it_acts() -> None:
    applied = ConfigApplied(2, 5, {"present_mode": ["FIFO", "MAILBOX"]}, {"present_mode": "swapchain rebuilt in 3 ms"})
    row = event_rows(applied)[0]
    assert (row.kind, row.text) == ("config", "present_mode FIFO → MAILBOX (swapchain rebuilt in 3 ms)")
    assert change_label(applied) == "present_mode FIFO → MAILBOX"


def test_values_in_events_carry_their_unit() -> None:
    applied = ConfigApplied(2, 5, {"render_latency_ms": [40, 90]}, {})
    assert change_label(applied) == "render_latency_ms 40 ms → 90 ms"


@pytest.mark.parametrize(
    ("message", "severity"),
    [(EngineEvent("warning", "stall", "the source stalled", 5), "warning"), (RunFailed("SinkError", "lost"), "error")],
)
def test_severity_is_kept(message: EngineEvent | RunFailed, severity: str) -> None:
    assert event_rows(message)[0].severity == severity


def test_a_status_is_no_event_and_a_segment_is() -> None:
    assert event_rows(EngineStatus(1, 0.1, 0.1, 1, 0, 0, 0, None)) == []
    assert event_rows(SegmentEnded(1, 7, "pause"))[0].text == "segment 1 ends: pause"


def test_losses_between_two_looks_are_summed_by_class() -> None:
    before = dict.fromkeys(LOSS_CLASSES, 1)
    now = {**before, Fate.SUPERSEDED: 31, Fate.DEADLINE_MISSED: 3}
    assert loss_text(before, now) == "2 deadline_missed, 30 superseded"
    assert loss_text(now, now) == ""


def test_run_times_never_read_minus_zero() -> None:
    assert run_time_text(ORIGIN_NS - 1_000_000, ORIGIN_NS) == "0.00 s"
    assert run_time_text(ORIGIN_NS + 12_410_000_000, ORIGIN_NS) == "12.41 s"


def test_a_record_shows_every_stamp_since_arrival_and_since_the_one_before() -> None:
    rows = frame_record_rows(frames_at_60_hz(60, 1, source=DisplayTimeSource.VIRTUAL_DISPLAY), ORIGIN_NS)
    table = {name: (value, step) for name, value, step in rows}
    assert table["frame"] == ("60", "")
    assert table["arrive"] == ("1000 ms of the run", "")
    assert table["displayed"] == ("33 ms", "+3 ms")
    assert table["decode_start"] == ("—", "")
    assert table["image_index"] == ("—", "")


def test_a_record_of_nothing_is_dashes() -> None:
    frames = empty_frames(1)
    frames["fate"] = Fate.SOURCE_LATE
    rows = {name: value for name, value, _ in frame_record_rows(frames, ORIGIN_NS)}
    assert rows["fate"] == "source_late"
    assert rows["displayed"] == "—"
    assert rows["present mode"] == "never presented"


def test_the_status_line_names_refresh_sink_display_time_images_and_costs() -> None:
    facts = StatusFacts(
        sink=replace(SINK, device_is_software=False),
        status=EngineStatus(1, 0.08, 0.02, 1, 0, 0, 0, None),
        gui_cpu_ratio=0.11,
        sampler=SamplerCost(cpu_ratio=0.002),
        recorded_s=41.0,
    )
    texts = [item.text for item in status_items(facts)]
    assert texts == [
        "60.0 Hz", "X11 1280×720", "display time: present_fence", "3 images", "engine 8.0 %", "GUI 11 %",
        "telemetry 0.2 %", "● REC 00:41",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (StatusFacts(sink=replace(SINK, paces_fifo=False)), "FIFO does not pace on this driver"),
        (StatusFacts(sink=SINK), "software Vulkan"),
        (StatusFacts(gpu_is_simulated=True), "GPU telemetry SIMULATED"),
        (StatusFacts(lapped=7), "7 records missed"),
        (StatusFacts(is_paused=True), "❚❚ paused: Space goes on"),
    ],
)
def test_what_makes_numbers_doubtful_is_said_as_a_warning(facts: StatusFacts, text: str) -> None:
    assert text in [item.text for item in status_items(facts) if item.is_warning]


def test_costs_that_are_not_known_are_dashes() -> None:
    texts = [item.text for item in status_items(StatusFacts(gui_cpu_ratio=math.nan))]
    assert texts == ["no engine", "engine —", "GUI —", "telemetry —"]


def test_help_explains_the_focused_option_or_says_how_to_ask() -> None:
    assert "Playout delay" in focus_help(option("render_latency_ms"), None)
    assert "Tab" in focus_help(None, None)


def test_every_command_with_a_key_is_in_the_list_and_no_key_is_given_twice() -> None:
    keys = [key for _, key, _ in SHORTCUT_LIST]
    assert len(keys) == len(set(keys))
    assert {"Space", "Ctrl+Z", "Ctrl+Y"} <= set(keys)
    assert "<b>Space</b>" in shortcut_table(SHORTCUT_LIST)


def test_a_loaded_preset_is_labelled_by_the_options_that_act_not_by_its_name() -> None:
    changes: dict[str, list[Any]] = {"name": ["", "b"], "description": ["", "Even motion"], "frame_queue_depth": [4, 6]}
    assert change_label(ConfigApplied(2, 5, changes, {})) == "frame_queue_depth 4 frames → 6 frames"
    assert change_label(ConfigApplied(2, 5, {"name": ["a", "b"]}, {})) == "name a → b"


@pytest.mark.parametrize(
    ("sink_hz", "screen_hz", "text"),
    [
        (59.94, 60.0, "59.9 Hz"),
        (None, 60.0, "screen 60.0 Hz (nominal)"),
        (None, 0.0, "refresh unknown"),
        (None, math.nan, "refresh unknown"),
    ],
)
def test_a_refresh_rate_says_who_told_it(sink_hz: float | None, screen_hz: float, text: str) -> None:
    facts = StatusFacts(sink=replace(SINK, refresh_hz=sink_hz), screen_refresh_hz=screen_hz)
    assert status_items(facts)[0].text == text
