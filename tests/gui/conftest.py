"""A whole workbench in a test: its own settings file, prompts that answer, and an event loop that runs both worlds."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import qasync  # type: ignore[import-untyped]  # ships no type information
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from app.gui.prompts import Unsaved
from app.gui.run_controller import RunController
from app.gui.settings import GuiSettings
from app.gui.workbench import Workbench, WorkbenchParts


class AnsweringPrompts:
    """Answers every question as told and remembers what it was asked and shown."""

    def __init__(self) -> None:
        self.answer = Unsaved.CANCEL
        self.open_answer: Path | None = None
        self.save_answer: Path | None = None
        self.text_answer = ""
        self.asked: list[tuple[str, list[str]]] = []
        self.shown: list[tuple[str, list[str]]] = []

    def unsaved(self, preset_name: str, changes: Sequence[str]) -> Unsaved:
        self.asked.append((preset_name, list(changes)))
        return self.answer

    def open_path(self, _title: str, _pattern: str, _folder: Path) -> Path | None:
        return self.open_answer

    def save_path(self, _title: str, _pattern: str, _suggested: Path) -> Path | None:
        return self.save_answer

    def text(self, _title: str, _label: str) -> str:
        return self.text_answer

    def problems(self, title: str, _intro: str, lines: Sequence[str]) -> None:
        self.shown.append((title, list(lines)))


@pytest.fixture
def settings(tmp_path: Path) -> GuiSettings:
    return GuiSettings(tmp_path / "window.ini")


@pytest.fixture
def prompts() -> AnsweringPrompts:
    return AnsweringPrompts()


Scenario = Callable[[Workbench], Coroutine[Any, Any, None]]


@pytest.fixture
def play(qapp: QApplication, settings: GuiSettings, prompts: AnsweringPrompts) -> Iterator[Callable[[Scenario], None]]:
    """Run a scenario in a shown workbench with the real session and engine, and close it afterwards."""
    qapp.setQuitOnLastWindowClosed(False)
    loop = qasync.QEventLoop(qapp)

    async def perform(scenario: Scenario) -> None:
        runs = RunController(gpu="none")
        runs.records = False
        workbench = Workbench(WorkbenchParts(settings, runs, prompts))
        workbench.window.show()
        try:
            await scenario(workbench)
        finally:
            workbench.close_without_asking()
            await workbench.closed

    def run(scenario: Scenario) -> None:
        loop.run_until_complete(perform(scenario))
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        gc.collect()  # a window's history is 30 MB, in circles that would otherwise wait for a full collection

    yield run
    loop.close()


async def until(reached: Callable[[], object], timeout_s: float = 30.0) -> None:
    """Return when a condition holds; fail when it does not within the time."""

    async def look() -> None:
        while not reached():  # noqa: ASYNC110 - the condition may be about anything in the window
            await asyncio.sleep(0.02)

    await asyncio.wait_for(look(), timeout_s)
