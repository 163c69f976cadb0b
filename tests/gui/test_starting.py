"""Before Qt: arguments, the platform, and whether there is a display at all."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from app.gui.__main__ import freeze_memory
from app.gui.arguments import parse_arguments
from app.gui.display_check import choose_platform, display_problem
from app.gui.latest_sender import LatestSender


def run_gui(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the window's process; an environment value of "" takes the variable away."""
    merged = {**os.environ, **environment}
    kept = {name: value for name, value in merged.items() if value}
    return subprocess.run(
        [sys.executable, "-P", "-m", "app.gui", *arguments],
        env={**kept, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_x11_is_taken_wherever_there_is_one_and_a_user_s_own_choice_is_kept() -> None:
    assert choose_platform({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}) == {"QT_QPA_PLATFORM": "xcb"}
    assert choose_platform({"DISPLAY": ":0", "QT_QPA_PLATFORM": "vnc"}) == {}
    assert choose_platform({"WAYLAND_DISPLAY": "wayland-0"}) == {"QT_QPA_PLATFORM": "wayland"}


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "no display was found"),
        ({"WAYLAND_DISPLAY": "wayland-999"}, "the Wayland compositor wayland-999 does not answer"),
        ({"QT_QPA_PLATFORM": "wayland"}, "WAYLAND_DISPLAY is not set"),
        ({"DISPLAY": ":9999"}, "does not answer"),
    ],
)
def test_a_machine_without_a_display_is_told_what_to_do(environment: dict[str, str], words: str) -> None:
    problem = display_problem(environment)
    assert words in problem
    assert "veotuner run SOURCE --sink virtual:60" in problem


def test_a_display_that_answers_is_no_problem(x_display: str) -> None:
    assert display_problem({"DISPLAY": x_display}) == ""


def test_without_a_display_the_process_says_one_sentence_and_ends_with_1() -> None:
    result = run_gui("--run-for", "1", DISPLAY="", WAYLAND_DISPLAY="")
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert result.stderr.startswith("veotuner gui: no window can be opened")


@pytest.mark.parametrize(
    "arguments", [["--run-for", "0"], ["--run-for", "soon"], ["--screenshot", "x.png"], ["--no-such-thing"]]
)
def test_arguments_that_make_no_sense_end_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse_arguments(arguments)
    assert ended.value.code == 2
    assert "veotuner gui: error" in capsys.readouterr().err


def test_of_many_values_in_a_hurry_the_first_and_the_last_are_sent(qtbot: QtBot) -> None:
    sent: list[int] = []
    sender = LatestSender(sent.append, 30)
    for value in range(100):
        sender.offer(value)
    qtbot.waitUntil(lambda: sent[-1:] == [99])
    assert sent == [0, 99]
    qtbot.wait(60)
    sender.offer(100)
    assert sent[-1] == 100
    qtbot.wait(60)


def test_a_drag_reaches_the_engine_about_thirty_times_a_second(qtbot: QtBot) -> None:
    sent: list[int] = []
    sender = LatestSender(sent.append, 33)
    for value in range(100):
        sender.offer(value)
        qtbot.wait(5)
    qtbot.waitUntil(lambda: sent[-1] == 99)
    assert len(sent) <= 100 * 5 * 3 / 33
    qtbot.wait(60)


def test_what_is_there_for_good_is_no_work_for_the_collector_while_a_person_drags() -> None:
    frozen_before = gc.get_freeze_count()
    try:
        freeze_memory()
        assert gc.get_freeze_count() > 50_000  # modules and the option table, before any window
        assert len(gc.get_objects()) < 10_000
    finally:
        gc.unfreeze()
        assert frozen_before == 0
