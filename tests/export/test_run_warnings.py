"""A reader is told what the numbers cannot be trusted for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.analysis.run_data import SinkAt
from app.config.editing import replace_options
from app.config.veoconfig import VeoConfig
from app.core.clock import NS_PER_MS
from app.core.vocabulary import DisplayTimeSource
from app.export.run_warnings import run_warnings
from tests.analysis.run_builder import (
    START_NS,
    Made,
    made_encoder,
    made_encodes,
    made_frames,
    made_run,
    made_sink,
    made_telemetry,
    run_of_two_sources,
)


def warnings_of(sink: dict[str, Any] | None = None, **changes: Any) -> str:
    hardware = {"device": "Example GPU", "device_is_software": False, "kind": "x11"}
    history = (SinkAt(START_NS, made_sink(**(hardware | (sink or {})))),)
    return "\n".join(run_warnings(made_run(Made(seconds=4.0), sink_history=history, **changes)))


def test_a_sound_run_on_hardware_has_none() -> None:
    assert warnings_of() == ""


@pytest.mark.parametrize(
    ("sink", "words"),
    [
        ({"device_is_software": True, "device": "llvmpipe"}, "llvmpipe is software Vulkan"),
        ({"paces_fifo": False}, "does not pace"),
        (
            {"present_mode_requested": "MAILBOX", "grant_reason": "not offered"},
            "MAILBOX was requested and FIFO granted",
        ),
        ({"kind": "virtual"}, "display is virtual"),
    ],
)
def test_what_the_sink_is_not_is_said(sink: dict[str, Any], words: str) -> None:
    assert words in warnings_of(sink)


@pytest.mark.parametrize("source", [each for each in DisplayTimeSource if each and not each.is_display_truth])
def test_a_display_time_that_is_a_lower_bound_is_called_one(source: DisplayTimeSource) -> None:
    frames = made_frames(Made(seconds=4.0))
    frames["display_time_source"] = source
    text = warnings_of(frames=frames)
    assert source.label in text
    assert "lower bounds" in text


def test_a_change_of_the_display_time_source_is_said() -> None:
    frames = made_frames(Made(seconds=4.0))
    frames["display_time_source"][100:] = DisplayTimeSource.PRESENT_WAIT
    assert "source changed" in warnings_of(frames=frames)


def test_counters_that_do_not_add_up_are_said() -> None:
    run = made_run(Made(seconds=4.0))
    broken = replace(run, counters=replace(run.counters, produced=run.counters.produced + 2))
    assert "2 frames are neither displayed, lost nor in flight" in run_warnings(broken)[0]


def test_rates_and_latencies_that_contradict_each_other_are_said() -> None:
    frames = made_frames(Made(seconds=4.0))
    frames["arrive_ns"][::2] = frames["displayed_ns"][::2] + 200 * NS_PER_MS
    assert "Little's law does not hold" in warnings_of(frames=frames)


def test_simulated_readings_and_lost_records_are_said() -> None:
    text = warnings_of(telemetry=made_telemetry(4.0, gpu="simulated"), lapped_records=7, notices=("recovered",))
    assert "SIMULATED" in text
    assert "7 frame records" in text
    assert text.startswith("recovered")


def test_a_run_shorter_than_its_warm_up_is_said() -> None:
    assert "ended within its warm-up of 9 s" in warnings_of(warmup_s=9.0)


def test_what_a_bound_means_is_said_with_it() -> None:
    frames = made_frames(Made(seconds=4.0))
    frames["display_time_source"] = DisplayTimeSource.PRESENT_FENCE
    text = warnings_of(frames=frames)
    assert "present_fence, which is only a bound: taken before the picture reached the screen" in text
    assert "intervals are those of the stamps, not of the screen" in text


def test_frames_left_out_on_purpose_are_told_by_who_left_them_out() -> None:
    frames = made_frames(Made(seconds=4.0, decimate_every=4, makes_up=True))
    text = warnings_of(frames=frames)
    assert "60 frames were left out on purpose: 60 by frame compensation (frame_compensation)" in text
    assert "In the place of 60 of them a picture made up from its neighbours was shown" in text


@pytest.mark.parametrize(
    ("settings", "cure"),
    [
        ({"encoder.tune": "hq"}, "encoder.tune=ull removes it"),
        ({"encoder.tune": "ll", "encoder.b_frames": 2}, "encoder.b_frames=0 removes it"),
        (
            {"encoder.tune": "hq", "encoder.b_frames": 2, "encoder.lookahead": 8},
            "encoder.tune=ull with encoder.b_frames=0 with encoder.lookahead=0 remove it",
        ),
        ({}, "no setting asks for it"),
    ],
)
def test_an_encoder_that_holds_frames_is_told_with_the_settings_that_remove_it(
    settings: dict[str, Any], cure: str
) -> None:
    text = warnings_of(encoder=made_encoder(holds_frames=3), config=replace_options(VeoConfig(), settings))
    assert "The encoder holds 3 frames before it gives one out (2 × the frame interval of delay, 33.3 ms)" in text
    assert cure in text


def test_an_encoder_that_gives_each_frame_out_at_once_is_no_warning() -> None:
    assert warnings_of(encoder=made_encoder(holds_frames=1)) == ""


def test_frames_that_the_encoder_skipped_and_its_own_words_are_told() -> None:
    rows = made_encodes(Made(seconds=4.0), skipped_every=24)
    text = warnings_of(encodes=rows, encoder=made_encoder(notice="h264_nvenc is not usable here"))
    assert "10 of 240 frames were skipped by the encoder" in text
    assert "Encoder libx264: h264_nvenc is not usable here." in text


def test_a_warning_about_one_of_several_sources_names_it() -> None:
    run = run_of_two_sources(Made(seconds=6.0), Made(seconds=0.8, rate_hz=30.0))
    (text,) = [text for text in run_warnings(run) if "ended within its warm-up" in text]
    assert text.startswith("Source 2: The run ended within its warm-up of 1 s")
