"""A window comes back where it was, on a screen that exists."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PySide6.QtCore import QRect
from PySide6.QtWidgets import QMainWindow
from pytestqt.qtbot import QtBot

from app.gui.settings import RECENT_COUNT, GuiSettings
from app.gui.window_layout import clamp_to_screens, first_geometry, restore_layout, save_layout

LAPTOP = QRect(0, 0, 1280, 720)
BESIDE = QRect(1280, 0, 2560, 1440)
ABOVE = QRect(0, -1080, 1920, 1080)


@given(
    left=st.integers(-10_000, 10_000),
    top=st.integers(-10_000, 10_000),
    width=st.integers(1, 8_000),
    height=st.integers(1, 8_000),
    screens=st.sampled_from([[LAPTOP], [LAPTOP, BESIDE], [BESIDE, ABOVE]]),
)
def test_a_window_lies_wholly_on_one_screen(left: int, top: int, width: int, height: int, screens: list[QRect]) -> None:
    placed = clamp_to_screens(QRect(left, top, width, height), screens)
    assert any(screen.contains(placed) for screen in screens)


def test_a_window_that_fits_stays_where_it_was() -> None:
    wanted = QRect(1400, 100, 1600, 1000)
    assert clamp_to_screens(wanted, [LAPTOP, BESIDE]) == wanted


def test_a_window_of_an_unplugged_screen_comes_to_the_one_that_is_left() -> None:
    assert LAPTOP.contains(clamp_to_screens(QRect(1400, 100, 1600, 1000), [LAPTOP]))


@pytest.mark.parametrize("screen", [LAPTOP, BESIDE, ABOVE])
def test_the_first_window_fits_its_screen(screen: QRect) -> None:
    assert screen.contains(first_geometry(screen))


@pytest.mark.x11
def test_geometry_is_saved_and_restored(qtbot: QtBot, settings: GuiSettings) -> None:
    first, second = QMainWindow(), QMainWindow()
    for window in (first, second):
        qtbot.addWidget(window)
    first.setGeometry(40, 50, 900, 600)
    save_layout(first, settings)
    restore_layout(second, GuiSettings(Path(settings.store.fileName())))
    assert second.geometry() == QRect(40, 50, 900, 600)


@pytest.mark.x11
def test_a_damaged_memory_counts_as_none(qtbot: QtBot, settings: GuiSettings) -> None:
    settings.store.setValue("window/geometry", "nonsense")
    settings.store.setValue("window/docks", 7)
    settings.store.setValue("recent/source", 3)
    window = QMainWindow()
    qtbot.addWidget(window)
    restore_layout(window, settings)
    assert window.width() > 0
    assert settings.recent("source") == []


def test_recent_entries_are_few_unique_and_newest_first(settings: GuiSettings) -> None:
    for index in range(RECENT_COUNT + 3):
        settings.remember("source", f"clip{index}.mp4")
    settings.remember("source", "clip5.mp4")
    recent = settings.recent("source")
    assert recent[0] == "clip5.mp4"
    assert len(recent) == len(set(recent)) == RECENT_COUNT
    settings.forget("source", "clip5.mp4")
    assert "clip5.mp4" not in settings.recent("source")
