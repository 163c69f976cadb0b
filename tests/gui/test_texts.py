"""Event rows, frame records, status line, help and source texts: words made from facts."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from app.config.options import option
from app.config.veoconfig import VeoConfig
from app.core.records import FLAG_INTERPOLATED, empty_frames
from app.core.vocabulary import LOSS_CLASSES, DisplayTimeSource, Fate, Governor
from app.gui.config_log import ConfigLog
from app.gui.encoder_status import EncoderFacts
from app.gui.event_text import change_label, decision_label, event_rows, loss_text, run_time_text
from app.gui.frame_record_text import frame_record_rows
from app.gui.help_text import focus_help, shortcut_table
from app.gui.main_window import SHORTCUT_LIST
from app.gui.status_item import StatusItem
from app.gui.status_line import StatusFacts, fitting_texts, status_items
from app.gui.stream_text import StreamFacts
from app.ipc.messages import (
    ConfigApplied,
    EncodeRecords,
    EncoderState,
    EngineEvent,
    EngineStatus,
    GovernorDecision,
    RunFailed,
    SegmentEnded,
    SegmentStarted,
    SinkInfo,
    SourceInfo,
)
from app.ipc.stream_messages import StreamStatus
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
        "60.00 Hz", "X11 1280×720", "display time: present_fence", "3 images", "engine 8.0 %", "GUI 11 %",
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


SOURCE = SourceInfo(
    "h264 High, 1280×720", 1280, 720, 59.94, False, False, "yuv420p", "bt709", "limited", 0, "software", 10.0
)  # fmt: skip
ENCODER = EncoderState("libx264", "libx264, 1280×720 yuv420p, preset p4, tune ull", 1, "", "")


def item(facts: StatusFacts, name: str) -> StatusItem:
    return next(item for item in status_items(facts) if item.name == name)


def test_a_measured_refresh_says_from_how_many_display_times() -> None:
    sink = replace(SINK, refresh_hz=59.951, refresh_source="measured from 300 display times")
    assert item(StatusFacts(sink=sink), "refresh").text == "59.95 Hz (measured from 300 display times)"


@pytest.mark.parametrize("source", list(DisplayTimeSource))
def test_every_display_time_says_how_near_to_the_light_it_is(source: DisplayTimeSource) -> None:
    sink = replace(SINK, display_time_source=source.label, display_time_quality=source.quality)
    text = item(StatusFacts(sink=sink), "display_time").text
    assert text.startswith(f"display time: {source.label} ({source.quality}: ")


def test_a_fence_is_a_bound_before_the_light_and_the_fit_of_the_clocks_is_in_the_tool_tip() -> None:
    status = EngineStatus(1, 0.1, 0.1, 1, 0, 0, 0, None, 0.0, -1.25, 2400.0)
    shown = item(StatusFacts(sink=replace(SINK, display_time_quality="bound"), status=status), "display_time")
    assert shown.text == "display time: present_fence (bound: before the light)"
    assert "drift -1.25 ppm, residual 2.4 µs" in shown.tip


def test_the_rates_of_all_sources_are_named() -> None:
    free = replace(SOURCE, rate_hz=None, free_running=True)
    facts = StatusFacts(sink=SINK, sources=(SOURCE, replace(SOURCE, rate_hz=30.0), free))
    assert item(facts, "sources").text == "3 sources: 59.94 · 30 · free fps"
    assert "1: h264 High" in item(facts, "sources").tip


@pytest.mark.parametrize(
    ("facts", "text", "is_warning"),
    [
        (EncoderFacts(ENCODER), "libx264 · gives each frame out at once", False),
        (EncoderFacts(replace(ENCODER, holds_frames=3)), "libx264 · encoder holds 3 frames", False),
        (EncoderFacts(replace(ENCODER, holds_frames=None)), "libx264 · not measured yet", False),
        (EncoderFacts(replace(ENCODER, notice="no NVENC")), "⚠ libx264 · gives each frame out at once", True),
        (EncoderFacts(ENCODER, silent_s=3.2), "⚠ libx264 · gave nothing out for 3 s", True),
        (EncoderFacts(EncoderState("", "off", None, "", "preview.mp4 exists")), "✖ encoder ended", True),
    ],
)
def test_the_encoder_says_what_it_holds_and_when_something_is_wrong(
    facts: EncoderFacts, text: str, is_warning: bool
) -> None:
    shown = item(StatusFacts(sink=SINK, encoder=facts), "encoder")
    assert (shown.text, shown.is_warning) == (text, is_warning)
    assert facts.state.notice in shown.tip


def test_the_stream_says_how_many_watch_of_how_many_may() -> None:
    status = StreamStatus(1, 2, 40, 3, 1, 0, 0, 0.012, 40_000_000)
    facts = StatusFacts(sink=SINK, stream=StreamFacts("ws://127.0.0.1:4711/v1/preview/1", status))
    assert item(facts, "stream").text == "stream 2 of 16"
    assert "ws://127.0.0.1:4711/v1/preview/1" in item(facts, "stream").tip
    assert item(replace(facts, stream=StreamFacts("")), "stream").text == "stream starting"


def test_a_narrow_line_shortens_its_longest_texts_first_and_only_as_far_as_it_must() -> None:
    items = [
        StatusItem("refresh", "59.95 Hz (measured from 300 display times)", "", short="59.95 Hz"),
        StatusItem("images", "3 images", ""),
        StatusItem("pacing", "FIFO does not pace on this driver", "", short="FIFO unpaced"),
    ]
    assert fitting_texts(items, 10_000, len) == [item.text for item in items]
    assert fitting_texts(items, 90, len) == ["59.95 Hz", "3 images", "FIFO does not pace on this driver"]
    assert fitting_texts(items, 10, len) == ["59.95 Hz", "3 images", "FIFO unpaced"]


def test_a_decision_is_told_with_its_rate_and_its_reason() -> None:
    decision = GovernorDecision("thermal", 7, "ceiling 43.2 fps", 43.0, "82 °C is 7 °C above start_c")
    row = event_rows(decision)[0]
    assert (row.at_ns, row.kind) == (7, "governor")
    assert row.text == "thermal: ceiling 43.2 fps, 43 fps from now on – 82 °C is 7 °C above start_c"
    assert decision_label(decision) == "thermal: ceiling 43.2 fps"


def test_an_encoder_with_a_notice_is_a_warning_and_its_records_are_no_event() -> None:
    assert event_rows(replace(ENCODER, notice="no NVENC here"))[0].severity == "warning"
    assert event_rows(ENCODER)[0].text == "libx264, 1280×720 yuv420p, preset p4, tune ull"
    assert event_rows(EncodeRecords("")) == []


def test_a_segment_of_another_source_names_it() -> None:
    assert event_rows(SegmentStarted(3, 7, "start", 2))[0].text == "segment 3 of source 3 begins: start"


def test_a_frame_says_who_decimated_it_and_how_the_picture_in_its_place_was_made_up() -> None:
    frames = frames_at_60_hz(60, 1, source=DisplayTimeSource.VIRTUAL_DISPLAY)
    frames["fate"], frames["governor"], frames["flags"] = Fate.DECIMATED, Governor.THERMAL, FLAG_INTERPOLATED
    frames["interpolation_ns"] = 2_140_000
    rows = {name: value for name, value, _ in frame_record_rows(frames, ORIGIN_NS, "motion")}
    assert rows["fate"] == "decimated by thermal"
    assert rows["picture"] == "made up (motion, 2.1 ms)"
    assert rows["flags"] == "interpolated"
    assert rows["display time"] == "virtual_display (exact)"


def test_a_frame_with_a_picture_of_its_own_says_so_and_one_never_presented_too() -> None:
    own = frame_record_rows(frames_at_60_hz(60, 1, source=DisplayTimeSource.VIRTUAL_DISPLAY), ORIGIN_NS)
    assert ("picture", "its own", "") in own
    lost = empty_frames(1)
    lost["fate"] = Fate.QUEUE_OVERFLOW
    assert ("picture", "never presented", "") in frame_record_rows(lost, ORIGIN_NS)


def test_a_record_knows_the_option_of_its_own_time() -> None:
    log = ConfigLog()
    key = "frame_compensation.interpolation"
    assert log.value(key, 3, VeoConfig()) == "none"
    log.add(ConfigApplied(4, 1, {key: ["none", "blend"]}, {}))
    log.add(ConfigApplied(9, 2, {key: ["blend", "motion"]}, {}))
    assert [log.value(key, serial, VeoConfig()) for serial in (3, 4, 8, 9)] == ["none", "blend", "blend", "motion"]


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
        (59.94, 60.0, "59.94 Hz"),
        (None, 60.0, "screen 60.0 Hz (nominal)"),
        (None, 0.0, "refresh unknown"),
        (None, math.nan, "refresh unknown"),
    ],
)
def test_a_refresh_rate_says_who_told_it(sink_hz: float | None, screen_hz: float, text: str) -> None:
    facts = StatusFacts(sink=replace(SINK, refresh_hz=sink_hz), screen_refresh_hz=screen_hz)
    assert status_items(facts)[0].text == text
