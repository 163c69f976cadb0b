"""Which sources are played: files, synthetic ones, addresses, the sample, recent ones; and what runs and stops them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import platformdirs
from PySide6.QtCore import QObject, Signal

from app.config.source_text import parse_source, redacted
from app.core.errors import VeoTunerError
from app.gui.config_model import ConfigModel
from app.gui.free_path import free_path
from app.gui.main_window import MainWindow
from app.gui.preview_sink import preview_sink
from app.gui.prompts import ENCODE_FILTER, SOURCE_FILTER, Prompts
from app.gui.run_controller import RunController
from app.gui.settings import GuiSettings
from app.gui.source_dialog import SyntheticDialog
from app.gui.source_list_dialog import SourceListDialog
from app.session.sample_video import ensure_sample
from app.session.session_state import Phase

MOST_SOURCES: Final = 9
"""Tiles of the engine's window."""

_ADDRESS_HINT: Final = (
    "Address of a stream (rtsp://, https://, srt://, udp://, preview+wss://…#token=…) or a camera (v4l2:/dev/video0):"
)


class SourceController(QObject):
    """Holds the chosen sources and starts runs of them in the window's preview.

    Signals:
        failed(text): a source cannot be used, as a sentence.
        notice(text): what is going on.
        chosen(): other sources.
        progressed(text, ratio): how far a long piece of work is.
    """

    failed = Signal(str)
    notice = Signal(str)
    chosen = Signal()
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
        self._sources: tuple[str, ...] = ()
        self._encode_to = ""
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def sources(self) -> tuple[str, ...]:
        """The chosen source texts, in the order of the grid; () for none."""
        return self._sources

    @property
    def encode_to(self) -> str:
        """File of the encode branch, with a number behind its name where it exists; "" for packets counted only."""
        return self._encode_to

    def play(self, source: str) -> None:
        """Choose a source, alone, and run it."""
        self.play_all([source])

    def play_all(self, sources: Sequence[str]) -> None:
        """Choose sources, shown in a grid, and run them."""
        if not 1 <= len(sources) <= MOST_SOURCES:
            self.failed.emit(f"{len(sources)} sources cannot be shown at once; choose 1–{MOST_SOURCES}")
            return
        for source in sources:
            try:
                parse_source(source)
            except VeoTunerError as error:
                self._settings.forget("source", source)
                self.failed.emit(str(error))
                return
        self._sources = tuple(sources)
        for source in sources:
            self._remember(source)
        self.chosen.emit()
        self.start()

    def start(self) -> None:
        """Run the chosen sources; without any, ask for a file."""
        if not self._sources:
            self.open_file()
            return
        encode_to = str(free_path(Path(self._encode_to))) if self._encode_to else ""
        self._runs.start(self._sources, preview_sink(self._window.host), self._model.config, encode_to)

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
        self._begin_anew("recorded" if on else "not recorded")

    def set_encoding(self, on: bool) -> None:
        """Ask for a file to encode to, and switch the encoder on; or count packets only from now on.

        A file is a whole run, so one in progress starts anew.
        """
        if not on:
            self._encode_to = ""
            self._begin_anew("encoded to no file")
            return
        path = self._prompts().save_path("Encode to", ENCODE_FILTER, self._folder() / "preview.mp4")
        if path is not None:
            self.encode_into(path if path.suffix else path.with_suffix(".mp4"))

    def encode_into(self, path: Path) -> None:
        """Encode runs to this file from now on, and switch the encoder on."""
        self._encode_to = str(path.absolute())
        self._model.set_option("encoder.enabled", True)
        self._begin_anew(f"encoded to {self._encode_to}")

    def open_file(self) -> None:
        """Ask for a video file and play it."""
        path = self._ask_file()
        if path:
            self.play(path)

    def open_synthetic(self) -> None:
        """Ask for a synthetic source and play it."""
        source = self._ask_synthetic()
        if source:
            self.play(source)

    def open_address(self) -> None:
        """Ask for an address and play what is there."""
        address = self._ask_address()
        if address:
            self.play(address)

    def open_list(self) -> None:
        """Show the sources of the grid, to add, remove and move them; play the new ones."""
        makers = {"file": self._ask_file, "synthetic": self._ask_synthetic, "address": self._ask_address}
        dialog = SourceListDialog(self._sources, makers, MOST_SOURCES, self._window)
        if dialog.exec() and dialog.sources() != self._sources:
            self.play_all(dialog.sources())

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

    def _begin_anew(self, how: str) -> None:
        if self._runs.phase.is_live:
            self.notice.emit(f"the run starts anew, {how}")
            self.start()
        else:
            self.notice.emit(f"the next run is {how}")

    def _remember(self, source: str) -> None:
        if redacted(source) == source:  # a password or token does not go into a file of ours
            self._settings.remember("source", source)

    def _ask_file(self) -> str:
        path = self._prompts().open_path("Open source", SOURCE_FILTER, self._folder())
        return "" if path is None else str(path)

    def _ask_synthetic(self) -> str:
        dialog = SyntheticDialog(self._window)
        return dialog.source_text() if dialog.exec() else ""

    def _ask_address(self) -> str:
        return self._prompts().text("Open address", _ADDRESS_HINT)

    def _folder(self) -> Path:
        recent = [Path(text) for text in self._settings.recent("source") if ":" not in text]
        return recent[0].parent if recent else platformdirs.user_videos_path()
