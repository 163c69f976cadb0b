"""What a picture costs to submit and to draw, under each mode of command buffers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.analysis.gpu_work import by_command_buffers, gpu_us, gpu_work_statistics, interpolation_ms, submit_cpu_us
from app.analysis.run_data import RunData
from app.analysis.summary import Missing
from app.config.editing import replace_options
from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS
from app.core.records import empty_frames
from app.ipc.messages import ConfigApplied
from tests.analysis.run_builder import START_NS, Made, made_frames, made_run


def changed_run(*serials_and_modes: tuple[int, str, str]) -> RunData:
    """Return a run of ten frames a serial, whose mode changed from one to another at these serials."""
    run = made_run(Made(seconds=1.0))
    frames = run.frames[:40].copy()
    frames["config_serial"] = np.repeat([1, 2, 3, 4], 10)
    history = tuple(
        ConfigApplied(serial, START_NS + serial, {"command_buffers": [old, new]}, {})
        for serial, old, new in serials_and_modes
    )
    return replace(run, frames=frames, config_history=history)


def test_times_are_whole_where_stamped_and_missing_where_not() -> None:
    frames = empty_frames(2)
    frames["submit_cpu_ns"][0], frames["interpolation_ns"][0] = 15_500, 700_000
    frames["gpu_start_ns"][0], frames["gpu_end_ns"][0] = 1_000_000, 3_500_000
    for measure, value in ((submit_cpu_us, 15.5), (interpolation_ms, 0.7), (gpu_us, 2500.0)):
        assert measure(frames)[0] == pytest.approx(value)
        assert np.isnan(measure(frames)[1])


def test_a_run_without_a_gpu_says_why_there_are_no_costs() -> None:
    frames = made_frames(Made(gpu=False))
    frames["submit_cpu_ns"] = NO_STAMP_NS
    found = gpu_work_statistics(frames)
    assert all(isinstance(value, Missing) and value.reason for value in found.values())


def test_a_mode_that_never_changed_has_every_frame() -> None:
    run = made_run(config=replace_options(VeoConfig(), {"command_buffers": "record"}))
    parts = by_command_buffers(run, run.frames)
    assert {mode: len(frames) for mode, frames in parts.items()} == {"record": len(run.frames)}


def test_frames_belong_to_the_mode_in_force_when_their_fate_was_decided() -> None:
    run = changed_run((3, "reuse", "record"))
    parts = by_command_buffers(run, run.frames)
    assert {mode: set(frames["config_serial"]) for mode, frames in parts.items()} == {"reuse": {1, 2}, "record": {3, 4}}


def test_a_mode_that_came_back_is_one_part() -> None:
    run = changed_run((2, "reuse", "record"), (4, "record", "reuse"))
    parts = by_command_buffers(run, run.frames)
    assert {mode: sorted(set(frames["config_serial"])) for mode, frames in parts.items()} == {
        "reuse": [1, 4],
        "record": [2, 3],
    }


def test_no_frames_have_no_mode() -> None:
    run = changed_run((2, "reuse", "record"))
    assert by_command_buffers(run, run.frames[:0]) == {}
