"""The command of a report makes the run again."""

from __future__ import annotations

import shlex

from app.config.editing import apply_settings, replace_options
from app.config.veoconfig import VeoConfig
from app.export.reproduction import differences_from_default, run_command
from tests.analysis.run_builder import Made, made_run


def test_the_settings_of_the_command_give_the_configuration_back() -> None:
    config = replace_options(
        VeoConfig(),
        {
            "render_latency_ms": 50.5,
            "preview_fps": 30.0,
            "present_mode": "MAILBOX",
            "frame_queue_depth": 9,
            "thermal_guard.enabled": True,
            "gpu_clock_lock_mhz": [1500, 1800],
            "name": "a 'quoted' preset; rm -rf $HOME",
        },
    )
    words = shlex.split(run_command(made_run(Made(seconds=1.0), config=config)))
    settings = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
    assert len(settings) == 7
    assert "preview_fps=30" in settings
    assert apply_settings(VeoConfig(), settings) == config


def test_the_command_names_source_sink_and_length() -> None:
    words = shlex.split(run_command(made_run(Made(seconds=6.0), source_text="/videos/my film.mp4")))
    assert words == [
        *("veotuner", "run", "/videos/my film.mp4", "--sink", "virtual:60", "--seconds", "6", "--warmup", "1"),
    ]


def test_nothing_is_invented_for_a_recording_that_does_not_say() -> None:
    assert run_command(made_run(Made(seconds=1.0), source_text="")) == ""


def test_a_default_configuration_has_no_differences() -> None:
    assert differences_from_default(VeoConfig()) == {}
