"""Which source is played: a file, a synthetic one, the sample, or a recent one; and the keys that run and stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Final

import platformdirs
from PySide6.QtCore import QObject, Signal

from app.config.sink_text import parse_sink
from app.config.source_text import parse_source
from app.core.errors import VeoTunerError
from app.gui.config_model import ConfigModel
from app.gui.main_window import MainWindow
from app.gui.prompts import SOURCE_FILTER, Prompts
from app.gui.run_controller import RunController
from app.gui.settings import GuiSettings
from app.gui.source_dialog import SyntheticDialog
from app.session.sample_video import ensure_sample
from app.session.session_state import Phase

NO_SOURCE: Final = ""


class SourceController(QObject):
    """Holds the chosen source and starts runs of it in the window's preview.

    Signals:
        failed(text): the source cannot be used, as a sentence.
        notice(text): what is going on.
        chosen(text): another source.
        progressed(text, ratio): how far a long piece of work is.
    """

    failed = Signal(str)
    notice = Signal(str)
    chosen = Signal(str)
    progressed = Signal(str, float)

    def __init__(
        self,
        window: MainWindow,
        runs: RunController,
        model: ConfigModel,
        prompts: Callable[[], Prompts],
        settings: GuiSettings,
    ) -> None:
        super().__init__(window)
        self._window, self._runs, self._model = window, runs, model
        self._prompts, self._settings = prompts, settings
        self._source = NO_SOURCE
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def source(self) -> str:
        """The chosen source text, "" for none."""
        return self._source

    def play(self, source: str) -> None:
        """Choose a source and run it."""
        try:
            parse_source(source)
        except VeoTunerError as error:
            self._settings.forget("source", source)
            self.failed.emit(str(error))
            return
        self._source = source
        self._settings.remember("source", source)
        self.chosen.emit(source)
        self.start()

    def start(self) -> None:
        """Run the chosen source; without one, ask for a file."""
        if not self._source:
            self.open_file()
            return
        self._runs.start(self._source, self.sink_text(), self._model.config)

    def sink_text(self) -> str:
        """Return the sink of the preview: its native window and its size in device pixels."""
        size = self._window.host.device_size()
        text = f"x11:{self._window.host.window_id()},{max(size.width(), 1)}x{max(size.height(), 1)}"
        parse_sink(text)
        return text

    def toggle(self) -> None:
        """Run, pause or go on, whichever makes sense now."""
        phase = self._runs.phase
        if phase is Phase.RUNNING:
            self._runs.set_paused(True)
        elif phase is Phase.PAUSED:
            self._runs.set_paused(False)
        elif not phase.is_live:
            self.start()

    def restart(self) -> None:
        """Start a new engine with the present options."""
        self.start()

    def set_recording(self, on: bool) -> None:
        """Record runs or not; a recording is a whole run, so one in progress starts anew."""
        self._runs.records = on
        if self._runs.phase.is_live:
            self.notice.emit("the run starts anew, " + ("recorded" if on else "not recorded"))
            self.start()

    def open_file(self) -> None:
        """Ask for a video file and play it."""
        recent = [Path(text) for text in self._settings.recent("source") if not text.startswith("synthetic:")]
        folder = recent[0].parent if recent else platformdirs.user_videos_path()
        path = self._prompts().open_path("Open source", SOURCE_FILTER, folder)
        if path is not None:
            self.play(str(path))

    def open_synthetic(self) -> None:
        """Ask for a synthetic source and play it."""
        dialog = SyntheticDialog(self._window)
        if dialog.exec():
            self.play(dialog.source_text())

    def open_sample(self) -> None:
        """Make the sample if there is none yet, and play it in a loop."""
        task = asyncio.ensure_future(self._play_sample())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play_sample(self) -> None:
        folder = platformdirs.user_cache_path("veotuner", appauthor=False)
        try:
            # Emitting from the worker thread is safe: the receiver lives in the GUI thread, so Qt queues the call.
            sample = await self._runs.work(lambda: ensure_sample(folder, self._tell_progress))
        except (VeoTunerError, OSError) as error:
            self.failed.emit(f"the sample could not be made: {error}")
            return
        self.play(f"{sample}?loop")

    def _tell_progress(self, ratio: float) -> None:
        self.progressed.emit("making the sample video", ratio)
