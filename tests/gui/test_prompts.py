"""Dialogs that tell: they stay open beside what goes on, whoever opened them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QPlainTextEdit

from app.gui.prompts import DialogPrompts
from app.gui.workbench import Workbench
from app.session.session_state import Phase
from tests.gui.conftest import Scenario, until
from tests.gui.test_workbench import running
from widgets.problem_dialog import ProblemDialog

pytestmark = pytest.mark.x11

Play = Callable[[Scenario], None]


def shown_dialogs(workbench: Workbench) -> list[ProblemDialog]:
    return [dialog for dialog in workbench.window.findChildren(ProblemDialog) if dialog.isVisible()]


def close_all(workbench: Workbench) -> None:
    for dialog in shown_dialogs(workbench):
        dialog.close()


def test_a_failure_that_a_task_tells_keeps_no_other_task_from_its_work(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        rescue = QTimer(workbench)  # a dialog that is waited for is closed at last, and missing below
        rescue.timeout.connect(lambda: close_all(workbench))
        rescue.start(3000)
        DialogPrompts(workbench.window).problems("That did not work", "All is as it was.", ["/no/such/report.html"])
        rescue.stop()
        (dialog,) = shown_dialogs(workbench)
        assert dialog.findChildren(QPlainTextEdit)[0].toPlainText() == "/no/such/report.html"
        await running(workbench)
        workbench.runs.stop()
        await until(lambda: workbench.runs.phase is Phase.FINISHED and not workbench.runs.is_busy)
        dialog.close()
        await until(lambda: not workbench.window.findChildren(ProblemDialog))

    play(scenario)


def test_a_window_with_an_open_failure_closes(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        DialogPrompts(workbench.window).problems("That did not work", "All is as it was.", ["first"])
        DialogPrompts(workbench.window).problems("That did not work", "All is as it was.", ["second"])
        assert len(shown_dialogs(workbench)) == 2

    play(scenario)
