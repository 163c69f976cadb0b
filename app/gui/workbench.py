"""Puts the window together: models, controllers and their connections. One circle, one direction.

A widget emits intent → a controller calls the model or the session → the session's bridge and the model's signal come
back → presenters write into the widgets.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from PySide6.QtCore import QObject
from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QMenu, QWidget

from app.config.options import Group
from app.config.presets import list_presets
from app.gui.action_table import dress
from app.gui.capture_controller import CaptureController
from app.gui.config_model import ConfigModel, option_values
from app.gui.event_text import EventRow
from app.gui.frame_record_text import frame_record_rows
from app.gui.help_text import focus_help, show_about, show_focus_help, show_shortcuts
from app.gui.live_series import LiveSeries
from app.gui.main_window import CLOSED_AT_FIRST, SHORTCUT_LIST, MainWindow
from app.gui.numbers_presenter import NumbersPresenter
from app.gui.preset_controller import DEFAULTS, PresetController
from app.gui.preview_controller import PreviewController
from app.gui.preview_sink import OWN_WINDOW_WORDS, presents_in_own_window
from app.gui.prompts import DialogPrompts, Prompts, SilentPrompts
from app.gui.run_controller import RunController
from app.gui.run_presenter import RunPresenter
from app.gui.screen_watch import ScreenWatch
from app.gui.settings import GuiSettings
from app.gui.source_controller import SourceController
from app.gui.window_layout import restore_layout, save_layout
from app.session.session_state import Phase
from widgets.graph_source import FrameSample
from widgets.preview_host import PreviewState
from widgets.theme import ThemeChoice, check_box_palette, is_dark, palette_for

MESSAGE_MS: Final = 6000
STARTING_TEXT: Final = "starting the engine…"
SHOWN_TIMEOUT_S: Final = 3.0


@dataclass(slots=True)
class WorkbenchParts:
    """What a workbench is made from; tests bring their own runs and prompts."""

    settings: GuiSettings
    runs: RunController
    prompts: Prompts | None = None


class Workbench(QObject):
    """The whole window with everything behind it. GUI thread, inside a running asyncio loop."""

    def __init__(self, parts: WorkbenchParts) -> None:
        super().__init__()
        self.settings, self.runs = parts.settings, parts.runs
        self.live = LiveSeries()
        self.model = ConfigModel(DEFAULTS)
        self.window = MainWindow(self.live, self.model.undo_stack)
        self._prompts: Prompts = parts.prompts or DialogPrompts(self.window)
        self.presets = PresetController(self.model, self.prompts, self.settings)
        self.sources = SourceController(self.window, self.runs, self.model, self.prompts, self.settings)
        self.captures = CaptureController(self.window, self.runs, self.prompts)
        self.presenter = RunPresenter(self.window, self.runs, self.model, self.live)
        self.numbers = NumbersPresenter(self.window, self.runs, self.model, self.live, self.presenter)
        self.preview = PreviewController(self.window)
        self.closed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._last_failure = ""
        self._closing: asyncio.Task[None] | None = None
        self._connect_model()
        self._connect_actions()
        self._connect_preview()
        self._connect_messages()
        self._fill_menus()
        self._show_config()
        self._show_phase(Phase.IDLE)
        self._restore()

    def prompts(self) -> Prompts:
        """Return who asks the questions."""
        return self._prompts

    def silence_prompts(self) -> None:
        """Ask and show nothing from now on, for a window without a person; `last_failure` tells what went wrong."""
        self._prompts = SilentPrompts()

    @property
    def last_failure(self) -> str:
        """The last failure told, "" for none."""
        return self._last_failure

    async def until_shown(self) -> None:
        """Return when the preview's native window has been shown by the window system."""
        surface = self.window.host.surface
        if self.window.host.presents_elsewhere:
            return
        self.window.host.show_state(PreviewState.STARTING)
        self.window.host.setFocus()  # else the first number in the tab order would look chosen
        shown = asyncio.Event()
        surface.exposed.connect(lambda visible: shown.set() if visible else None)
        if not surface.isExposed():
            with contextlib.suppress(TimeoutError):  # a window without a screen never is; the engine copes
                await asyncio.wait_for(shown.wait(), SHOWN_TIMEOUT_S)

    def set_theme(self, choice: ThemeChoice) -> None:
        """Show the window light, dark, or as the system is, and remember it."""
        self.settings.set("theme", choice.value)
        self.show_theme(choice)

    def show_theme(self, choice: ThemeChoice) -> None:
        """Show the window light, dark, or as the system is, for now."""
        self._theme = choice
        self._apply_theme()

    def request_close(self) -> None:
        """Close as the user does: ask about unsaved changes, end the run, save the layout."""
        if self._closing is None and self.presets.may_discard():
            self.close_without_asking()

    def close_without_asking(self) -> None:
        """End the run, save the layout and close."""
        if self._closing is None:
            self._closing = asyncio.ensure_future(self._close())

    async def _close(self) -> None:
        self.window.actions_by_name["fullscreen"].setChecked(False)
        self.window.actions_by_name["detach"].setChecked(False)
        save_layout(self.window, self.settings)
        self.settings.set_texts("panel/closed", [group.value for group in self.window.panel.closed_groups])
        self.window.setEnabled(False)
        await self.runs.close()
        self.live.end()
        self.model.undo_stack.clear()  # PySide 6.11 crashes when Python's collector takes a filled one apart
        self.window.allow_close()
        self.window.deleteLater()
        if not self.closed.done():
            self.closed.set_result(None)

    # --- connections ---

    def _connect_model(self) -> None:
        self.window.panel.edited.connect(self.model.set_option)
        self.window.panel.restart_requested.connect(self.sources.restart)
        self.model.changed.connect(self._show_config)
        self.model.changed.connect(self._send_config)
        self.model.refused.connect(self._tell_refusal)

    def _connect_actions(self) -> None:
        graphs, preset = self.window.graphs, self.presets
        handlers = {
            "open_file": self.sources.open_file,
            "open_synthetic": self.sources.open_synthetic,
            "open_address": self.sources.open_address,
            "open_sample": self.sources.open_sample,
            "sources": self.sources.open_list,
            "next_source": self.window.source_box.choose_next,
            "stream": self._open_stream,
            "run": self.sources.toggle,
            "stop": self.runs.stop,
            "restart": self.sources.restart,
            "open_run": self.captures.open_run_folder,
            "capture_window": self.captures.capture_window,
            "capture_frame": self.captures.capture_frame,
            "report": self.captures.ask_report,
            "preset_open": preset.open,
            "preset_save": preset.save,
            "preset_save_as": preset.save_as,
            "preset_revert": preset.revert,
            "step_back": graphs.step_back,
            "step_forward": graphs.step_forward,
            "zoom_in": graphs.zoom_in,
            "zoom_out": graphs.zoom_out,
            "pin": self._pin_newest,
            "leave": self._leave,
            "search": self._search,
            "help": self._help,
            "shortcuts": lambda: show_shortcuts(self.window, SHORTCUT_LIST),
            "about": lambda: show_about(self.window),
            "quit": self.request_close,
        }
        for name, handler in handlers.items():
            self.window.actions_by_name[name].triggered.connect(lambda _checked=False, call=handler: call())
        follow = self.window.actions_by_name["follow"]
        follow.setChecked(True)
        follow.triggered.connect(graphs.set_following)
        graphs.following_changed.connect(follow.setChecked)
        record = self.window.actions_by_name["record"]
        record.setChecked(self.runs.records)
        record.toggled.connect(self.sources.set_recording)
        self.window.actions_by_name["encode"].triggered.connect(self._set_encoding)
        self.window.source_box.currentIndexChanged.connect(self._choose_source)
        self.window.stream_dialog.toggled.connect(lambda on: self.model.set_option("enable_preview", on))
        graphs.pinned.connect(self._show_record)
        self.window.closing.connect(self.request_close)

    def _connect_preview(self) -> None:
        host = self.window.host
        if presents_in_own_window():
            host.present_elsewhere(OWN_WINDOW_WORDS)
            for name in ("fullscreen", "detach"):
                self.window.actions_by_name[name].setEnabled(False)
                dress(self.window.actions_by_name[name], "", OWN_WINDOW_WORDS)
        self.screens = ScreenWatch(host.surface, self)
        self.screens.changed.connect(self._tell_screen)
        host.resized.connect(self.runs.resize)
        host.occluded.connect(self.runs.set_occluded)
        requests = {
            "sample": self.sources.open_sample,
            "open": self.sources.open_file,
            "synthetic": self.sources.open_synthetic,
            "restart": self.sources.restart,
            "folder": self.captures.open_run_folder,
        }
        host.action_requested.connect(lambda name: requests[name]())

    def _connect_messages(self) -> None:
        for signal in (self.presets.notice, self.sources.notice, self.captures.notice):
            signal.connect(self._tell_notice)
        for signal in (self.sources.failed, self.captures.failed, self.runs.failed):
            signal.connect(self._tell_failure)
        self.sources.progressed.connect(self._show_progress)
        self.presenter.phase_shown.connect(self._show_phase)
        self.sources.chosen.connect(self._fill_recent_sources)
        self.presets.recent_changed.connect(self._fill_recent_presets)

    # --- menus that change ---

    def _fill_menus(self) -> None:
        self._fill_recent_sources()
        self._fill_recent_presets()
        for preset in list_presets():
            action = self.window.menus["shipped_presets"].addAction(preset.name)
            dress(action, "", preset.description)
            action.triggered.connect(lambda _checked=False, chosen=preset: self.presets.open_shipped(chosen))
        group = QActionGroup(self)
        for choice in ThemeChoice:
            action = self.window.menus["theme"].addAction(f"&{choice.value.capitalize()}")
            action.setCheckable(True)
            action.triggered.connect(lambda _checked=False, chosen=choice: self.set_theme(chosen))
            group.addAction(action)
        self._theme_actions = group.actions()

    def _fill_recent_sources(self) -> None:
        _refill(self.window.menus["recent_sources"], self.settings.recent("source"), self.sources.play)

    def _fill_recent_presets(self) -> None:
        _refill(
            self.window.menus["recent_presets"],
            self.settings.recent("preset"),
            lambda text: self.presets.open_path(Path(text)),
        )

    # --- shown ---

    def _show_config(self) -> None:
        values, loaded = option_values(self.model.config), option_values(self.model.loaded.config)
        self.window.panel.show_values(values, loaded)
        rows = self.model.diff_rows()
        self.window.changes.show_rows(rows)
        name = self.model.loaded.name
        edited = f" • {len(rows)} edited" if rows else ""
        self.window.preset_button.setText(f"preset: {name}{edited}")
        path = self.model.loaded.path
        self.window.preset_button.setToolTip(
            f"Loaded from {path}" if path else "Not from a file of yours: saving asks for a place"
        )
        self.window.setWindowTitle(f"{name}{' •' if rows else ''} – VeoTuner")
        self.window.actions_by_name["preset_revert"].setEnabled(bool(rows))
        tab = f"Changes ({len(rows)})" if rows else "Changes"
        self.window.docks["changes"].setWindowTitle(tab)

    def _show_phase(self, phase: Phase) -> None:
        actions = self.window.actions_by_name
        run = actions["run"]
        if phase is Phase.STARTING:
            self.window.status.showMessage(STARTING_TEXT)
        elif self.window.status.currentMessage() == STARTING_TEXT:
            self.window.status.clearMessage()
        texts = {Phase.RUNNING: "&Pause", Phase.PAUSED: "&Go on"}
        run.setText(texts.get(phase, "&Run"))
        run.setEnabled(phase not in {Phase.STARTING, Phase.STOPPING})
        actions["stop"].setEnabled(phase.is_live)
        actions["restart"].setEnabled(bool(self.sources.sources))
        state = self.runs.state
        actions["report"].setEnabled(state is not None and state.ready_ns is not None)
        actions["open_run"].setEnabled(state is not None and state.recording_dir is not None)
        actions["capture_frame"].setEnabled(phase in {Phase.RUNNING, Phase.PAUSED})
        self.window.ink_run(paused=phase is not Phase.RUNNING)

    def _show_record(self, sample: FrameSample | None) -> None:
        frames = None if sample is None else self.live.record_at(sample.time_s)
        self.window.record.setVisible(frames is not None)
        self.window.record_hint.setVisible(frames is None)
        if frames is not None:
            serial = int(frames["config_serial"][0])
            made_up = self.presenter.configs.value("frame_compensation.interpolation", serial, self.model.config)
            self.window.record.show_rows(frame_record_rows(frames, self.presenter.origin_ns, made_up))
            self.window.docks["frame"].show()
            self.window.docks["frame"].raise_()

    # --- told ---

    def _send_config(self) -> None:
        self.runs.set_config(self.model.config)

    def _tell_screen(self, name: str, refresh_hz: float) -> None:
        self.runs.set_screen(name, refresh_hz or None)

    def _tell_notice(self, text: str) -> None:
        self.window.status.showMessage(text, MESSAGE_MS)
        self.presenter.add_event(EventRow(None, "info", "notice", text))

    def _show_progress(self, what: str, ratio: float) -> None:
        self.window.status.showMessage(f"{what}: {ratio * 100:.0f} %", MESSAGE_MS)

    def _tell_failure(self, text: str) -> None:
        self._last_failure = text
        if self.runs.state is None and not self.runs.is_busy:
            self.window.host.show_state(PreviewState.EMPTY)
        self.presenter.add_event(EventRow(None, "error", "failed", text))
        self._prompts.problems("That did not work", "The window and its options are as they were.", text.splitlines())

    def _tell_refusal(self, key: str, text: str) -> None:
        self.window.panel.show_refusal(key, text)
        self.window.status.showMessage(text, MESSAGE_MS)

    # --- small commands ---

    def _set_encoding(self, on: bool) -> None:
        self.sources.set_encoding(on)
        self.window.actions_by_name["encode"].setChecked(bool(self.sources.encode_to))

    def _choose_source(self, index: int) -> None:
        if 0 <= index < self.live.source_count:
            self.live.choose(index)
            self.window.graphs.refresh()
            self.numbers.refresh()

    def _open_stream(self) -> None:
        self.window.stream_dialog.show()
        self.window.stream_dialog.raise_()
        self.numbers.refresh()

    def _pin_newest(self) -> None:
        self.window.graphs.pin_at(self.window.graphs.window_shown.end_s)

    def _leave(self) -> None:
        if self.preview.is_fullscreen:
            self.window.actions_by_name["fullscreen"].setChecked(False)
        elif self._is_typing():
            self.window.panel.search.clear()
            self.window.graphs.setFocus()  # plain keys are commands again
        elif self.window.graphs.pin is not None:
            self.window.graphs.set_pin(None)
        else:
            self.window.panel.search.clear()

    def _is_typing(self) -> bool:
        focused: QWidget | None = self.window.focusWidget()
        return isinstance(focused, (QLineEdit, QAbstractSpinBox))

    def _search(self) -> None:
        self.window.docks["controls"].show()
        self.window.panel.search.setFocus()
        self.window.panel.search.selectAll()

    def _help(self) -> None:
        text = focus_help(self.window.panel.focused_option(), self.window.focusWidget())
        show_focus_help(self.window, text)

    # --- memory ---

    def _restore(self) -> None:
        restore_layout(self.window, self.settings)
        closed = self.settings.texts("panel/closed", [group.value for group in CLOSED_AT_FIRST])
        self.window.panel.close_groups(group for group in Group if group.value in closed)
        text = self.settings.text("theme", ThemeChoice.SYSTEM)
        self._theme = ThemeChoice(text) if text in set(ThemeChoice) else ThemeChoice.SYSTEM
        QApplication.styleHints().colorSchemeChanged.connect(self._apply_theme)
        self._apply_theme()

    def _apply_theme(self) -> None:
        dark = is_dark(self._theme)
        QApplication.setPalette(palette_for(dark))
        QApplication.setPalette(check_box_palette(dark), "QCheckBox")  # type: ignore[arg-type]  # takes str, stub errs
        for choice, action in zip(ThemeChoice, self._theme_actions, strict=True):
            action.setChecked(choice is self._theme)


def _refill(menu: QMenu, texts: list[str], chosen: Callable[[str], None]) -> None:
    menu.clear()
    for text in texts:
        action: QAction = menu.addAction(text)
        action.triggered.connect(lambda _checked=False, text=text: chosen(text))
    menu.setEnabled(bool(texts))
