"""The whole window with the real session, engine and X server: what a person does, and what must come of it."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QDoubleSpinBox, QSpinBox

from app.core.bar_code import read_bar_code
from app.core.vocabulary import Fate
from app.gui.action_table import ACTIONS
from app.gui.prompts import Unsaved
from app.gui.window_capture import grab_window
from app.gui.workbench import Workbench
from app.session.session_state import Phase
from tests.gui.conftest import AnsweringPrompts, Scenario, until
from widgets.preview_host import PreviewState
from widgets.theme import ThemeChoice

pytestmark = pytest.mark.x11

SOURCE = "synthetic:640x360@60,seed=1"
Play = Callable[[Scenario], None]


async def running(workbench: Workbench, source: str = SOURCE) -> None:
    await workbench.until_shown()
    workbench.sources.play(source)
    await until(lambda: not workbench.runs.is_busy and workbench.runs.source == source)
    await until(lambda: workbench.runs.phase in {Phase.RUNNING, Phase.FAILED, Phase.FINISHED})
    state = workbench.runs.state
    assert state is not None
    assert state.failure == ""
    await until(lambda: workbench.live.recent_records(10.0).size > 20)


async def more_frames(workbench: Workbench, count: int) -> None:
    live = workbench.live
    before = live.curve(live.interval_metric()).x.size
    await until(lambda: live.curve(live.interval_metric()).x.size > before + count)


def rgb_of(image: QImage) -> np.ndarray[tuple[int, int, int], np.dtype[np.uint8]]:
    image = image.convertToFormat(QImage.Format.Format_RGB888)
    rows = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), image.bytesPerLine())
    return rows[:, : image.width() * 3].reshape(image.height(), image.width(), 3)


def picture_rectangle(workbench: Workbench, aspect: float) -> tuple[int, int, int, int]:
    """Return left, top, width and height of the letterboxed picture inside the window, in device pixels."""
    host, ratio = workbench.window.host.container, workbench.window.devicePixelRatioF()
    corner = host.mapTo(workbench.window, host.rect().topLeft())
    width, height = host.width() * ratio, host.height() * ratio
    shown_width = min(width, height * aspect)
    shown_height = min(height, width / aspect)
    left, top = corner.x() * ratio + (width - shown_width) / 2, corner.y() * ratio + (height - shown_height) / 2
    return round(left), round(top), round(shown_width), round(shown_height)


def test_a_picture_of_the_window_holds_the_engine_s_own_pixels(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        await asyncio.sleep(0.3)
        picture = rgb_of(grab_window(workbench.window).toImage())
        left, top, width, height = picture_rectangle(workbench, 16 / 9)
        number = read_bar_code(picture[top : top + height, left : left + width])
        assert number is not None
        await until(lambda: workbench.live.recent_records(10.0)["frame_id"].max() > number + 10)
        records = workbench.live.recent_records(10.0)
        shown = records[records["fate"] == Fate.DISPLAYED]["frame_id"]
        assert number in shown

    play(scenario)


def test_a_dragged_slider_reaches_the_engine_and_says_when_it_acts(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        row = workbench.window.panel.rows["render_latency_ms"]
        spin = row.findChildren(QDoubleSpinBox)[0]
        for value in (40.0, 60.0, 80.0, 90.0):
            spin.setValue(value)
        await until(lambda: any("→ 90 ms" in event.text for event in workbench.live.events()))
        assert "next frame" in row.notes.text()
        assert "was 33.3 ms" in row.notes.text()
        assert any("render_latency_ms" in text for _, _, text in workbench.window.events.rows)

    play(scenario)


def test_the_interval_of_a_perfect_run_is_known_without_any_change(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        await until(lambda: workbench.live.nominal_ms == pytest.approx(1000 / 60, rel=0.01))

    play(scenario)


def test_a_present_mode_is_shown_as_requested_and_as_granted(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.model.set_option("present_mode", "IMMEDIATE")
        row = workbench.window.panel.rows["present_mode"]
        await until(lambda: "requested: IMMEDIATE · granted:" in row.notes.text())
        assert "the swapchain has" in workbench.window.panel.rows["min_image_count"].notes.text()

    play(scenario)


def test_space_pauses_and_goes_on_and_the_surface_stays_the_engine_s(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.window.activateWindow()
        await until(workbench.window.isActiveWindow)
        workbench.window.graphs.setFocus()
        QTest.keyClick(workbench.window, Qt.Key.Key_Space)
        await until(lambda: workbench.runs.phase is Phase.PAUSED)
        shown = [workbench.window.host.state]
        assert not workbench.window.status.labels["paused"].isHidden()
        QTest.keyClick(workbench.window, Qt.Key.Key_Space)
        await until(lambda: workbench.runs.phase is Phase.RUNNING)
        shown.append(workbench.window.host.state)
        assert shown == [PreviewState.PAUSED, PreviewState.LIVE]

    play(scenario)


def test_a_killed_engine_leaves_the_window_which_offers_a_restart(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        state = workbench.runs.state
        assert state is not None
        assert state.engine_pid is not None
        os.kill(state.engine_pid, signal.SIGKILL)
        await until(lambda: workbench.window.host.state is PreviewState.FAILED)
        assert workbench.window.isVisible()
        assert workbench.live.curve(workbench.live.interval_metric()).x.size > 20
        workbench.window.host.action_requested.emit("restart")
        await until(lambda: workbench.runs.phase is Phase.RUNNING)
        await until(lambda: workbench.live.recent_records(10.0).size > 20)

    play(scenario)


def test_a_source_that_cannot_be_opened_is_told_and_the_next_one_plays(
    play: Play, prompts: AnsweringPrompts, tmp_path: Path
) -> None:
    no_video = tmp_path / "text.mp4"
    no_video.write_text("this is no video")

    async def scenario(workbench: Workbench) -> None:
        await workbench.until_shown()
        workbench.sources.play("synthetic:64x@60")
        assert "synthetic" in prompts.shown[0][1][0]
        assert workbench.window.host.state is PreviewState.EMPTY
        workbench.sources.play(str(no_video))
        await until(lambda: workbench.runs.phase is Phase.FAILED)
        assert any("text.mp4" in text for _, _, text in workbench.window.events.rows)
        await until(lambda: not workbench.runs.is_busy)
        await running(workbench)

    play(scenario)


def test_a_file_that_ends_leaves_its_graphs_and_offers_to_run_again(play: Play, sample_video: Path) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench, str(sample_video))
        await until(lambda: workbench.window.host.state is PreviewState.FINISHED)
        assert workbench.live.recent_records(10.0).size > 30
        assert not workbench.window.actions_by_name["stop"].isEnabled()

    play(scenario)


def test_one_button_plays_the_sample_and_tells_how_far_it_is_made(
    play: Play, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))  # where no other test has made it before

    async def scenario(workbench: Workbench) -> None:
        told: list[float] = []
        workbench.sources.progressed.connect(lambda _what, ratio: told.append(ratio))
        workbench.window.host.action_requested.emit("sample")
        await until(lambda: workbench.runs.phase is Phase.RUNNING, 120.0)
        assert workbench.sources.sources[0].endswith(".mp4?loop")
        assert told == sorted(told)
        assert told[-1] == pytest.approx(1.0, abs=0.1)
        await until(lambda: workbench.live.recent_records(10.0).size > 20)

    play(scenario)


def test_unsaved_changes_keep_the_window_open_when_the_user_says_cancel(play: Play, prompts: AnsweringPrompts) -> None:
    async def scenario(workbench: Workbench) -> None:
        workbench.model.set_option("frame_queue_depth", 12)
        prompts.answer = Unsaved.CANCEL
        workbench.window.close()
        assert workbench.window.isVisible()
        assert prompts.asked == [("defaults", ["frame_queue_depth: 4 frames → 12 frames"])]
        prompts.answer = Unsaved.DISCARD
        workbench.window.close()
        await workbench.closed

    play(scenario)


def test_the_title_counts_the_edits_and_undo_takes_them_back(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        workbench.model.set_option("frame_queue_depth", 12)
        workbench.model.set_option("present_mode", "MAILBOX")
        assert workbench.window.preset_button.text() == "preset: defaults • 2 edited"
        assert workbench.window.changes.rows[0] == ("frame_queue_depth", "4 frames", "12 frames")
        for _ in range(2):
            workbench.window.actions_by_name["undo"].trigger()
        assert workbench.window.preset_button.text() == "preset: defaults"
        spin = workbench.window.panel.rows["frame_queue_depth"].findChildren(QSpinBox)[0]
        assert spin.value() == 4

    play(scenario)


def test_full_screen_shows_the_preview_alone_and_escape_brings_everything_back(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        window = workbench.window
        before = window.geometry()
        window.actions_by_name["fullscreen"].trigger()
        await until(lambda: window.host.width() >= window.screen().geometry().width() - 20)
        assert not window.graphs.isVisible()
        window.actions_by_name["leave"].trigger()
        await until(window.graphs.isVisible)
        assert window.geometry() == before

    play(scenario)


def test_a_detached_preview_goes_on_in_its_own_window_and_comes_back(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        host = workbench.window.host
        native = host.window_id()
        workbench.window.actions_by_name["detach"].trigger()
        await until(lambda: host.window() is not workbench.window and host.surface.isExposed())
        await more_frames(workbench, 20)
        detached = workbench.preview.detached
        assert detached is not None
        detached.close()
        await until(lambda: host.window() is workbench.window and host.surface.isExposed())
        assert host.window_id() == native
        await more_frames(workbench, 20)

    play(scenario)


def test_pinning_a_frame_shows_its_record(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.window.actions_by_name["pin"].trigger()
        names = [name for name, _, _ in workbench.window.record.rows]
        assert "present_call" in names
        assert workbench.window.record.isVisible()
        workbench.window.actions_by_name["leave"].trigger()
        assert workbench.window.graphs.pin is None

    play(scenario)


def test_a_run_is_started_and_stopped_again_and_again(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        for _ in range(3):
            await running(workbench)
            workbench.runs.stop()
            await until(lambda: workbench.runs.phase is Phase.FINISHED and not workbench.runs.is_busy)

    play(scenario)


def test_a_report_of_the_run_is_written(play: Play, prompts: AnsweringPrompts, tmp_path: Path) -> None:
    prompts.save_answer = tmp_path / "run.html"

    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.captures.ask_report()
        await until((tmp_path / "run.html").exists)
        assert "<html" in (tmp_path / "run.html").read_text()
        assert prompts.shown == []

    play(scenario)


def test_recording_is_per_run_and_turning_it_on_starts_the_run_anew(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.window.actions_by_name["record"].setChecked(True)

        def recorded() -> bool:
            state = workbench.runs.state
            return state is not None and state.phase is Phase.RUNNING and state.recording_dir is not None

        await until(recorded)
        await until(lambda: not workbench.window.status.labels["rec"].isHidden())

    play(scenario)


def test_both_themes_can_be_chosen_and_are_remembered(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        for choice in (ThemeChoice.DARK, ThemeChoice.LIGHT):
            workbench.set_theme(choice)
            dark = QApplication.palette().window().color().lightness() < 128
            assert dark is (choice is ThemeChoice.DARK)
            assert workbench.settings.text("theme", "") == choice.value

    play(scenario)


def test_space_in_a_check_box_presses_it_and_letters_in_the_search_are_text(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        window = workbench.window
        window.activateWindow()
        await until(window.isActiveWindow)
        window.actions_by_name["search"].trigger()
        QTest.keyClicks(window.panel.search, "srf")
        assert window.panel.search.text() == "srf"
        window.panel.search.clear()
        box = window.panel.rows["gpu_clock_lock_mhz"].control.inputs()[0]
        box.setFocus()
        QTest.keyClick(box, Qt.Key.Key_Space)
        assert workbench.model.edits().keys() == {"gpu_clock_lock_mhz"}
        assert workbench.runs.phase is Phase.IDLE

    play(scenario)


def test_every_command_is_in_a_menu_or_has_a_key(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        for spec in ACTIONS:
            action = workbench.window.actions_by_name[spec.name]
            assert action.toolTip()
            assert action.associatedObjects()

    play(scenario)


def test_escape_ends_typing_so_that_plain_keys_are_commands_again(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        window, actions = workbench.window, workbench.window.actions_by_name
        actions["search"].trigger()
        window.panel.search.setText("queue")
        actions["leave"].trigger()
        assert window.panel.search.text() == ""
        assert window.focusWidget() is window.graphs
        window.panel.rows["frame_queue_depth"].findChildren(QSpinBox)[0].setFocus()
        actions["leave"].trigger()
        assert window.focusWidget() is window.graphs

    play(scenario)


def test_full_screen_and_back_leaves_the_docks_as_they_were(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        window = workbench.window
        window.docks["frame"].raise_()
        await asyncio.sleep(0.1)
        before = {name: dock.size() for name, dock in window.docks.items() if not dock.visibleRegion().isEmpty()}
        window.actions_by_name["fullscreen"].setChecked(True)
        await asyncio.sleep(0.2)
        window.actions_by_name["fullscreen"].setChecked(False)
        await until(lambda: window.docks["controls"].size() == before["controls"])
        assert {name for name, dock in window.docks.items() if not dock.visibleRegion().isEmpty()} == set(before)

    play(scenario)


def test_a_detached_preview_leaves_no_hole_in_the_window(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        window = workbench.window
        before = window.split.sizes()
        window.actions_by_name["detach"].setChecked(True)
        await until(lambda: window.split.sizes()[0] <= window.tile_row.height() + 20)
        window.actions_by_name["detach"].setChecked(False)
        await until(lambda: window.split.sizes() == before)
        assert window.focusWidget() is window.host

    play(scenario)


def test_a_window_that_starts_with_a_source_has_no_number_chosen(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        assert workbench.window.focusWidget() is workbench.window.host

    play(scenario)


def test_the_window_fits_a_small_screen_whatever_is_measured(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        await more_frames(workbench, 40)  # the headings of the graphs have been written
        least = workbench.window.minimumSizeHint()
        assert least.width() <= 960  # 1920×1080 at twice the scale
        assert least.height() <= 520

    play(scenario)


def test_a_source_that_cannot_be_used_is_no_engine_that_stopped(play: Play, tmp_path: Path) -> None:
    text = tmp_path / "notes.mp4"
    text.write_text("no video")

    async def scenario(workbench: Workbench) -> None:
        await workbench.until_shown()
        workbench.sources.play(str(text))
        await until(lambda: workbench.window.host.state is PreviewState.REFUSED and not workbench.runs.is_busy)
        assert workbench.window.status.currentMessage() == ""
        await running(workbench)

    play(scenario)


def test_readings_that_were_switched_off_say_so_instead_of_being_waited_for(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        assert "switched off" in workbench.live.note("temperature").missing
        assert "switched off" in workbench.live.note("bandwidth").missing

    play(scenario)
