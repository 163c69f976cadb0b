"""Encoder, preview stream, several sources, governors and devices in the whole window with the real engine."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

import av
import pytest
from PySide6.QtWidgets import QApplication, QPushButton

from app.core.vocabulary import Fate
from app.gui.workbench import Workbench
from app.ipc.messages import GovernorDecision
from app.session.session_state import Phase
from tests.gui.conftest import AnsweringPrompts, Scenario, until
from tests.gui.test_workbench import SOURCE, running
from widgets.option_controls import NullableIntegerControl

pytestmark = pytest.mark.x11

Play = Callable[[Scenario], None]
SLOW = "synthetic:320x180@30,seed=2"


def status_text(workbench: Workbench, name: str) -> str:
    """Return the whole text of an entry, which a narrow line shortens; "" where it is not shown."""
    label = workbench.window.status.labels[name]
    return "" if label.isHidden() else label.toolTip().partition("\n")[0]


def events(workbench: Workbench, kind: str) -> list[str]:
    return [text for _, row_kind, text in workbench.window.events.rows if row_kind.endswith(kind)]


def test_encoding_to_a_file_switches_the_encoder_on_and_the_file_plays(
    play: Play, prompts: AnsweringPrompts, tmp_path: Path
) -> None:
    prompts.save_answer = tmp_path / "preview.mkv"

    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.model.set_option("encoder.codec", "libx264")
        workbench.window.actions_by_name["encode"].trigger()
        await until(lambda: "libx264 · gives each frame out at once" in status_text(workbench, "encoder"))
        assert workbench.window.actions_by_name["encode"].isChecked()
        assert workbench.model.config.encoder.enabled
        tile = workbench.window.tiles["encode_ms"]
        await until(lambda: tile.isVisible() and tile.text is not None and tile.text.value.endswith(" ms"))
        assert str(tmp_path / "preview.mkv") in workbench.window.status.labels["encoder"].toolTip()
        assert "preview.mkv" in workbench.window.panel.rows["encoder.enabled"].notes.text()
        workbench.sources.restart()
        await until(lambda: "preview-2.mkv" in workbench.window.status.labels["encoder"].toolTip())
        workbench.runs.stop()
        await until(lambda: workbench.runs.phase is Phase.FINISHED and not workbench.runs.is_busy)

    play(scenario)
    with av.open(str(tmp_path / "preview.mkv")) as film:
        assert sum(1 for _ in film.decode(video=0)) > 20
    assert prompts.shown == []


def test_a_question_for_a_file_that_is_not_answered_encodes_nothing(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        workbench.window.actions_by_name["encode"].trigger()
        assert not workbench.window.actions_by_name["encode"].isChecked()
        assert not workbench.model.config.encoder.enabled

    play(scenario)


def test_an_encoder_that_cannot_write_says_so_and_the_preview_goes_on(
    play: Play, prompts: AnsweringPrompts, tmp_path: Path
) -> None:
    prompts.save_answer = tmp_path / "no-such-folder" / "preview.mp4"

    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.window.actions_by_name["encode"].trigger()
        await until(lambda: workbench.runs.phase is Phase.FAILED or "✖" in status_text(workbench, "encoder"))
        assert any("no-such-folder" in text for _, _, text in workbench.window.events.rows)

    play(scenario)


def test_the_preview_stream_is_switched_on_named_and_copied_and_its_token_is_in_no_text(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        dialog = workbench.window.stream_dialog
        workbench.window.actions_by_name["stream"].trigger()
        assert dialog.isVisible()
        assert dialog.address.text() == "not served: switch it on"
        assert not dialog.copy_source.isEnabled()
        dialog.switch.click()
        assert workbench.model.config.enable_preview
        await until(dialog.copy_source.isEnabled)
        assert dialog.address.text().startswith("ws://127.0.0.1:")
        await until(lambda: status_text(workbench, "stream") == "stream 0 of 16")
        dialog.copy_address.click()
        assert QApplication.clipboard().text() == dialog.address.text()
        dialog.copy_source.click()
        copied = QApplication.clipboard().text()
        token = copied.partition("#token=")[2]
        assert copied.startswith("preview+ws://127.0.0.1:")
        assert len(token) >= 16
        texts = [text for row in workbench.window.events.rows for text in row]
        texts += [label.text() + label.toolTip() for label in workbench.window.status.labels.values()]
        assert not any(token in text for text in [*texts, dialog.address.text()])
        dialog.close()
        workbench.runs.stop()
        await until(lambda: workbench.runs.phase is Phase.FINISHED and not workbench.runs.is_busy)

    play(scenario)


async def both_running(workbench: Workbench) -> None:
    await workbench.until_shown()
    workbench.sources.play_all([SOURCE, SLOW])
    await until(lambda: workbench.runs.phase in {Phase.RUNNING, Phase.FAILED} and not workbench.runs.is_busy)
    state = workbench.runs.state
    assert state is not None
    assert state.failure == ""
    await until(lambda: workbench.live.source_count == 2 and workbench.live.recent_records(10.0).size > 40)


def test_of_two_sources_each_has_graphs_and_numbers_of_its_own(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await both_running(workbench)
        box = workbench.window.source_box
        assert [box.itemText(index) for index in range(box.count())] == [
            "source 1 of 2",
            "source 2 of 2",
        ]
        assert box.isVisible()
        await until(lambda: status_text(workbench, "sources") == "2 sources: 60 · 30 fps")
        assert set(workbench.live.recent_records(10.0)["source_index"]) == {0}
        workbench.window.actions_by_name["next_source"].trigger()
        assert workbench.live.chosen == 1
        await until(lambda: workbench.live.recent_records(10.0).size > 10)
        assert set(workbench.live.recent_records(10.0)["source_index"]) == {1}
        await until(lambda: workbench.live.nominal_ms == pytest.approx(1000 / 30, rel=0.02))
        await running(workbench)
        assert not box.isVisible()

    play(scenario)


def test_a_source_that_no_text_names_is_refused_before_any_of_them_plays(play: Play, prompts: AnsweringPrompts) -> None:
    async def scenario(workbench: Workbench) -> None:
        workbench.sources.play_all([SOURCE, "synthetic:64x@60"])
        assert workbench.sources.sources == ()
        assert "synthetic" in prompts.shown[0][1][0]
        workbench.sources.play_all([SOURCE] * 10)
        assert "choose 1–9" in prompts.shown[1][1][0]
        assert workbench.runs.phase is Phase.IDLE

    play(scenario)


def test_an_address_with_a_password_is_not_written_into_the_window_s_memory(
    play: Play, prompts: AnsweringPrompts
) -> None:
    prompts.text_answer = "rtsp://anna:secret@127.0.0.1:9/live"

    async def scenario(workbench: Workbench) -> None:
        await workbench.until_shown()
        workbench.window.actions_by_name["open_address"].trigger()
        assert workbench.sources.sources == ("rtsp://anna:secret@127.0.0.1:9/live",)
        assert workbench.settings.recent("source") == []
        await until(lambda: not workbench.runs.is_busy)
        await until(lambda: workbench.runs.phase is Phase.FAILED)
        assert not any("secret" in text for row in workbench.window.events.rows for text in row)

    play(scenario)


def test_what_the_rules_refuse_is_said_beside_the_control_and_the_value_that_holds_stays(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        panel = workbench.window.panel
        workbench.model.set_option("encoder.bitrate_kbps", 5000)
        control = panel.rows["encoder.cq"].control
        assert isinstance(control, NullableIntegerControl)
        control.box.click()
        assert not control.box.isChecked()
        assert "excludes bitrate_kbps (5000 kbit/s)" in panel.rows["encoder.cq"].notes.text()
        assert workbench.model.config.encoder.cq is None
        workbench.model.set_option("encoder.bitrate_kbps", None)
        assert "excludes" not in panel.rows["encoder.cq"].notes.text()
        control.box.click()
        assert workbench.model.config.encoder.cq is not None

    play(scenario)


def test_a_changed_device_offers_to_restart_and_the_new_engine_takes_the_offer_away(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        row = workbench.window.panel.rows["device.vulkan_device"]
        workbench.model.set_option("device.vulkan_device", "llvmpipe")
        await until(lambda: not row.restart.isHidden())
        assert "when the engine is started anew" in row.notes.text()
        workbench.model.set_option("device.vulkan_device", None)
        await until(row.restart.isHidden)
        workbench.model.set_option("device.vulkan_device", "llvmpipe")
        await until(lambda: not row.restart.isHidden())
        first = workbench.runs.state
        row.restart.click()

        def restarted() -> bool:
            state = workbench.runs.state
            return state is not None and first is not None and state.engine_pid not in {None, first.engine_pid}

        await until(lambda: restarted() and workbench.runs.phase is Phase.RUNNING)
        await until(row.restart.isHidden)

    play(scenario)


def test_a_decision_is_a_row_and_a_line_and_a_decimated_frame_is_marked(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.model.set_option("preview_fps", 20.0)
        await until(lambda: Fate.DECIMATED in workbench.live.losses().fate)
        decision = GovernorDecision("thermal", workbench.presenter.origin_ns, "ceiling 43 fps", 43.0, "82 °C")
        workbench.runs.message.emit(decision)
        assert "thermal: ceiling 43 fps, 43 fps from now on – 82 °C" in events(workbench, "governor")
        lines = [event for event in workbench.live.events() if event.kind == "governor"]
        assert (lines[-1].text, lines[-1].reason) == ("thermal: ceiling 43 fps", "82 °C")
        assert "last: ceiling 43 fps – 82 °C" in workbench.window.panel.rows["thermal_guard.enabled"].notes.text()
        assert not any("decimated" in text for text in events(workbench, "lost"))

    play(scenario)


def test_another_screen_is_told_and_ends_the_segment(play: Play) -> None:
    async def scenario(workbench: Workbench) -> None:
        await running(workbench)
        workbench.screens.changed.emit("DP-2", 144.0)
        await until(lambda: any("screen" in text or "DP-2" in text for text in events(workbench, "segment")))

    play(scenario)


def test_groups_that_were_opened_are_open_in_the_next_window(play: Play) -> None:
    async def open_encoder(workbench: Workbench) -> None:
        groups = {group.value: widget for group, widget in workbench.window.panel.groups.items()}
        assert not groups["Encoder"].is_open
        groups["Encoder"].heading.click()
        groups["Queues"].heading.click()
        await asyncio.sleep(0)

    async def look_again(workbench: Workbench) -> None:
        closed = {group.value for group in workbench.window.panel.closed_groups}
        assert closed == {"Governors", "Alerts", "Scheduling and device", "Queues"}

    play(open_encoder)
    play(look_again)


@pytest.mark.parametrize("records", [False, True])
def test_only_a_recorded_run_offers_its_folder(play: Play, records: bool) -> None:
    async def scenario(workbench: Workbench) -> None:
        workbench.runs.records = records
        await running(workbench)
        assert workbench.window.actions_by_name["open_run"].isEnabled() is records
        workbench.runs.stop()
        await until(lambda: workbench.runs.phase is Phase.FINISHED and not workbench.runs.is_busy)
        offered = [button.text() for button in workbench.window.host.findChildren(QPushButton) if button.isVisible()]
        assert "Run a&gain" in offered
        assert ("Open run &folder" in offered) is records

    play(scenario)
