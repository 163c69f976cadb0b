"""On a real Wayland compositor: the window opens, the preview is in one of the engine's own, and both can be seen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.display_check import display_problem
from app.gui.preview_sink import OWN_WINDOW_WORDS
from tests.gui.test_starting import run_gui
from tests.support.weston import Weston
from widgets.preview_host import PreviewHost, PreviewState, PreviewWords


def test_a_compositor_that_answers_is_no_problem(wayland_display: Weston) -> None:
    assert display_problem({"WAYLAND_DISPLAY": wayland_display.display}) == ""


def test_a_run_in_the_window_on_wayland_alone_shows_frames_at_times_that_the_compositor_tells(
    wayland_display: Weston, tmp_path: Path
) -> None:
    result = tmp_path / "run.json"
    done = run_gui(
        "--source", "synthetic:640x360@60,seed=1", "--run-for", "3", "--gpu", "none", "--no-record",
        "--json", str(result), DISPLAY="", QT_QPA_PLATFORM="",
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    run = json.loads(result.read_text())
    assert run["frames"]["displayed"] > 30
    assert "presentation_feedback" in result.read_text()


def test_a_picture_of_the_screen_is_refused_in_a_sentence_on_wayland(wayland_display: Weston, tmp_path: Path) -> None:
    done = run_gui(
        "--run-for", "0.5", "--screenshot", str(tmp_path / "window.png"), DISPLAY="", QT_QPA_PLATFORM=""
    )  # fmt: skip
    assert done.returncode == 1
    assert "use its own screenshot tool" in done.stderr


@pytest.mark.x11
def test_where_the_picture_is_elsewhere_words_stand_in_its_place_and_nothing_is_told_to_the_engine(
    qtbot: QtBot,
) -> None:
    host = PreviewHost()
    qtbot.addWidget(host)
    host.resize(400, 300)
    host.present_elsewhere(OWN_WINDOW_WORDS)
    host.show()
    qtbot.waitExposed(host)
    told: list[object] = []
    host.resized.connect(lambda *size: told.append(size))
    host.occluded.connect(told.append)
    host.show_state(PreviewState.LIVE)
    words = host.findChildren(PreviewWords)[0]
    assert words.isVisible()
    assert not host.container.isVisible()
    host.resize(500, 320)
    host.hide()
    qtbot.wait(50)
    assert told == []
