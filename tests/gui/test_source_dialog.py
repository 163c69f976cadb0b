"""What is set in the form of a synthetic source is what its source text means."""

from __future__ import annotations

import pytest
from pytestqt.qtbot import QtBot

from app.config.source_text import SyntheticSpec, parse_source
from app.gui.source_dialog import SyntheticDialog


def dialog_set_to(spec: SyntheticSpec, qtbot: QtBot) -> SyntheticDialog:
    dialog = SyntheticDialog()
    qtbot.addWidget(dialog)
    dialog.width_box.setValue(spec.width)
    dialog.height_box.setValue(spec.height)
    dialog.rate_box.setValue(spec.rate_hz)
    dialog.decode_mean_box.setValue(spec.decode_mean_ms)
    dialog.decode_sd_box.setValue(spec.decode_sd_ms)
    dialog.arrival_box.setValue(spec.arrival_jitter_ms)
    dialog.stall_share_box.setValue(spec.stall_probability * 100)
    dialog.stall_box.setValue(spec.stall_ms)
    dialog.seed_box.setValue(spec.seed)
    return dialog


@pytest.mark.parametrize(
    "spec",
    [
        SyntheticSpec(1280, 720, 60.0, seed=1),
        SyntheticSpec(640, 360, 0.0),
        SyntheticSpec(1280, 720, 59.94, decode_mean_ms=4.5, decode_sd_ms=1.25, arrival_jitter_ms=2.0),
        SyntheticSpec(8192, 16, 1000.0, stall_probability=0.0029, stall_ms=9999.99, seed=2**31 - 1),
    ],
)
def test_the_text_means_what_the_form_shows(spec: SyntheticSpec, qtbot: QtBot) -> None:
    dialog = dialog_set_to(spec, qtbot)
    assert parse_source(dialog.source_text()) == spec
    assert dialog.text_label.text() == dialog.source_text()


@pytest.mark.parametrize(("probability", "stall_ms"), [(0.5, 0.0), (0.0, 200.0)])
def test_half_a_stall_is_none(probability: float, stall_ms: float, qtbot: QtBot) -> None:
    spec = SyntheticSpec(64, 64, 60.0, stall_probability=probability, stall_ms=stall_ms)
    assert dialog_set_to(spec, qtbot).source_text() == "synthetic:64x64@60"
