"""A reader is told what the numbers cannot be trusted for."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.analysis.run_data import SinkAt
from app.core.clock import NS_PER_MS
from app.core.vocabulary import DisplayTimeSource
from app.export.run_warnings import run_warnings
from tests.analysis.run_builder import START_NS, Made, made_frames, made_run, made_sink, made_telemetry


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
