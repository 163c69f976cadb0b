"""What stands beside options while a run goes on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from app.config.editing import replace_options
from app.config.options import is_option
from app.config.veoconfig import VeoConfig
from app.gui.free_path import free_path
from app.gui.option_notes import (
    DECISION_KEYS,
    decision_notes,
    encoder_notes,
    interpolation_notes,
    sink_notes,
    stream_notes,
)
from app.gui.stream_text import StreamFacts
from app.ipc.messages import EncoderState, GovernorDecision
from tests.gui.test_texts import ENCODER, SINK, SOURCE

KEY = "frame_compensation.interpolation"


def test_every_governor_s_decision_stands_beside_an_option_that_exists() -> None:
    for governor, key in DECISION_KEYS.items():
        assert is_option(key)
        assert decision_notes(GovernorDecision(governor, 1, "ceiling 43 fps", 43.0, "82 °C")) == {
            key: "last: ceiling 43 fps – 82 °C"
        }


def test_a_governor_of_another_version_is_no_note() -> None:
    assert decision_notes(GovernorDecision("tidal", 1, "a", None, "b")) == {}


def test_a_present_mode_says_what_was_granted_and_what_needs_no_rebuild() -> None:
    sink = replace(SINK, live_modes=["FIFO", "IMMEDIATE"])
    assert sink_notes(sink)["present_mode"] == (
        "requested: MAILBOX · granted: FIFO (not offered) · without a rebuild: IMMEDIATE"
    )


def test_the_encoder_stands_beside_its_switch_and_goes_when_it_is_off() -> None:
    assert "libx264" in encoder_notes(ENCODER)["encoder.enabled"]
    assert encoder_notes(EncoderState("", "off", None, "", "")) == {"encoder.enabled": ""}
    assert (
        "preview.mp4 exists"
        in encoder_notes(EncoderState("", "off", None, "", "preview.mp4 exists"))["encoder.enabled"]
    )


def test_the_address_of_the_stream_stands_beside_its_switch() -> None:
    notes = stream_notes(StreamFacts("ws://127.0.0.1:1/v1/preview/a"))
    assert notes == {"enable_preview": "served at ws://127.0.0.1:1/v1/preview/a, 0 of 16 clients"}
    assert stream_notes(None) == {"enable_preview": ""}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({}, ""),
        ({"frame_compensation.enabled": True}, ""),
        ({"frame_compensation.enabled": True, KEY: "motion"}, "one source interval (16.7 ms) later"),
        (
            {"frame_compensation.enabled": True, KEY: "motion", "latency_mode": "LOW_LATENCY"},
            "does nothing under LOW_LATENCY",
        ),
    ],
)
def test_made_up_pictures_say_what_they_cost_in_latency(changes: dict[str, object], words: str) -> None:
    config = replace_options(VeoConfig(), changes)
    assert words in interpolation_notes(config, replace(SOURCE, rate_hz=60.0))[KEY]
    assert bool(words) is bool(interpolation_notes(config, None)[KEY])


def test_a_file_that_is_there_gets_a_number_behind_its_name(tmp_path: Path) -> None:
    wanted = tmp_path / "preview.mp4"
    assert free_path(wanted) == wanted
    wanted.touch()
    (tmp_path / "preview-2.mp4").touch()
    assert free_path(wanted) == tmp_path / "preview-3.mp4"
