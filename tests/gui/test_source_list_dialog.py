"""The list of sources: what is added, removed and moved is what is played, and secrets are not shown."""

from __future__ import annotations

import pytest
from PySide6.QtWidgets import QDialogButtonBox
from pytestqt.qtbot import QtBot

from app.gui.source_list_dialog import SourceListDialog

pytestmark = pytest.mark.x11


def dialog_of(qtbot: QtBot, *sources: str, most: int = 9) -> SourceListDialog:
    dialog = SourceListDialog(sources, {"file": lambda: "clip.mp4", "address": lambda: ""}, most)
    qtbot.addWidget(dialog)
    return dialog


def test_sources_are_added_removed_and_moved(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot, "a.mp4", "b.mp4")
    dialog.add_buttons["file"].click()
    assert dialog.sources() == ("a.mp4", "b.mp4", "clip.mp4")
    dialog.earlier.click()
    dialog.earlier.click()
    assert dialog.sources() == ("clip.mp4", "a.mp4", "b.mp4")
    dialog.later.click()
    dialog.remove.click()
    assert dialog.sources() == ("a.mp4", "b.mp4")


def test_a_question_that_is_not_answered_adds_nothing(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot, "a.mp4")
    dialog.add_buttons["address"].click()
    assert dialog.sources() == ("a.mp4",)


def test_no_more_are_added_than_the_grid_shows_and_an_empty_list_is_not_taken(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot, "a.mp4", most=2)
    ok = dialog.buttons.button(QDialogButtonBox.StandardButton.Ok)
    dialog.add_buttons["file"].click()
    assert not dialog.add_buttons["file"].isEnabled()
    dialog.remove.click()
    dialog.remove.click()
    assert not ok.isEnabled()
    assert not dialog.remove.isEnabled()


def test_a_token_is_not_shown(qtbot: QtBot) -> None:
    dialog = dialog_of(qtbot, "preview+ws://127.0.0.1:1/v1/preview/a#token=secret")
    item = dialog.list.item(0)
    assert item is not None
    assert "secret" not in item.text() + item.toolTip()
    assert dialog.sources() == ("preview+ws://127.0.0.1:1/v1/preview/a#token=secret",)
