"""Edits, undo and redo over every edit and preset load."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.config.veoconfig import VeoConfig
from app.core.vocabulary import PresentMode
from app.gui.config_model import ConfigModel, LoadedPreset
from app.gui.preset_controller import DEFAULTS


class StillClock:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock() -> StillClock:
    return StillClock()


@pytest.fixture
def model(qapp: QApplication, clock: StillClock) -> ConfigModel:
    return ConfigModel(DEFAULTS, clock)


def test_an_edit_shows_in_the_diff_with_both_values(model: ConfigModel) -> None:
    model.set_option("frame_queue_depth", 12)
    assert model.diff_rows() == [("frame_queue_depth", "4 frames", "12 frames")]


def test_a_drag_is_one_step_of_undo_and_a_later_edit_is_another(model: ConfigModel, clock: StillClock) -> None:
    for value in (40.0, 50.0, 60.0):
        clock.now_s += 0.1
        model.set_option("render_latency_ms", value)
    clock.now_s += 5.0
    model.set_option("render_latency_ms", 90.0)
    model.undo_stack.undo()
    assert model.config.render_latency_ms == 60.0
    model.undo_stack.undo()
    assert model.config.render_latency_ms == 33.3
    assert not model.undo_stack.canUndo()


def test_edits_of_two_options_never_merge(model: ConfigModel) -> None:
    model.set_option("frame_queue_depth", 12)
    model.set_option("present_mode", "MAILBOX")
    model.undo_stack.undo()
    assert model.edits().keys() == {"frame_queue_depth"}


def test_loading_a_preset_is_undone_with_what_had_been_edited(model: ConfigModel) -> None:
    model.set_option("frame_queue_depth", 12)
    model.load(LoadedPreset("low", VeoConfig(present_mode=PresentMode.MAILBOX)))
    assert model.edits() == {}
    model.undo_stack.undo()
    assert (model.loaded.name, model.config.frame_queue_depth) == ("defaults", 12)
    model.undo_stack.redo()
    assert (model.loaded.name, model.config.present_mode) == ("low", "MAILBOX")


def test_revert_takes_everything_back_and_undo_brings_it_again(model: ConfigModel) -> None:
    model.set_option("frame_queue_depth", 12)
    model.set_option("present_mode", "MAILBOX")
    model.revert()
    assert model.edits() == {}
    model.undo_stack.undo()
    assert model.edits().keys() == {"frame_queue_depth", "present_mode"}


def test_after_a_save_undo_is_compared_with_the_file(model: ConfigModel) -> None:
    model.set_option("frame_queue_depth", 12)
    model.saved_as(LoadedPreset("mine", model.config))
    model.undo_stack.undo()
    assert model.diff_rows() == [("frame_queue_depth", "12 frames", "4 frames")]


def test_a_value_outside_its_range_is_refused_in_a_sentence_and_changes_nothing(
    model: ConfigModel, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(model.refused) as refused:
        model.set_option("frame_queue_depth", 0)
    assert refused.args[0] == "frame_queue_depth"
    assert "1–64 frames" in refused.args[1]
    assert model.edits() == {}
    assert not model.undo_stack.canUndo()


EDITS = st.lists(
    st.one_of(
        st.tuples(st.just("frame_queue_depth"), st.integers(1, 64)),
        st.tuples(st.just("render_latency_ms"), st.floats(0, 500).map(lambda value: round(value, 1))),
        st.tuples(st.just("present_mode"), st.sampled_from(["FIFO", "MAILBOX", "IMMEDIATE"])),
        st.tuples(st.just("gpu_clock_lock_mhz"), st.sampled_from([None, (1500, 1800), (300, 2100)])),
    ),
    max_size=12,
)


@given(edits=EDITS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_undoing_everything_leads_back_and_redoing_everything_leads_forth(
    qapp: QApplication, edits: list[tuple[str, Any]]
) -> None:
    model = ConfigModel(DEFAULTS, lambda: 0.0)
    for key, value in edits:
        model.set_option(key, value)
    final = model.config
    while model.undo_stack.canUndo():
        model.undo_stack.undo()
    assert model.config == DEFAULTS.config
    while model.undo_stack.canRedo():
        model.undo_stack.redo()
    assert model.config == final
