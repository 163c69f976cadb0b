"""Pictures and reports: of the window, of the frame on the screen, of the whole run."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import platformdirs
from PySide6.QtCore import QObject, QUrl, Signal
from PySide6.QtGui import QDesktopServices

from app.core.errors import VeoTunerError
from app.export.report import write_report
from app.gui.free_path import free_path
from app.gui.main_window import MainWindow
from app.gui.prompts import REPORT_FILTER, Prompts
from app.gui.run_controller import RunController
from app.gui.window_capture import CaptureError, grab_window, save_picture


class CaptureController(QObject):
    """Writes pictures beside the recording, or into the pictures folder where nothing is recorded.

    Signals:
        notice(text): something was written. failed(text): something could not be.
    """

    notice = Signal(str)
    failed = Signal(str)

    def __init__(self, window: MainWindow, runs: RunController, prompts: Callable[[], Prompts]) -> None:
        super().__init__(window)
        self._window, self._runs, self._prompts = window, runs, prompts
        self._tasks: set[asyncio.Task[None]] = set()

    def capture_window(self) -> None:
        """Save a picture of the window."""
        path = self._free_path("window")
        try:
            save_picture(grab_window(self._window), path)
        except CaptureError as error:
            self.failed.emit(str(error))
            return
        self.notice.emit(f"picture of the window written to {path}")

    def capture_frame(self) -> None:
        """Save the frame on the screen, as the engine has it; its answer comes as an event."""
        self._runs.capture_frame(self._free_path("frame"))

    def ask_report(self) -> None:
        """Ask for a place and write a report of the run so far."""
        path = self._prompts().save_path("Export report", REPORT_FILTER, self._free_path("report", ".html"))
        if path is not None:
            task = asyncio.ensure_future(self._report_and_tell(path if path.suffix else path.with_suffix(".html")))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def export_report(self, path: Path) -> None:
        """Write a report of the run so far.

        Raises:
            VeoTunerError: there is no run, or the file cannot be written.
        """
        run = await self._runs.run_data()
        try:
            await self._runs.work(lambda: write_report(run, path))
        except OSError as error:
            raise CaptureError(f"{path} cannot be written: {error.strerror or error}; choose another place") from error

    def open_run_folder(self) -> None:
        """Show the recording's folder in the file manager, and say where it is: not every desktop has one."""
        folder = self._folder()
        asked = QDesktopServices.openUrl(QUrl.fromLocalFile(str(folder)))
        self.notice.emit(f"folder: {folder}" if asked else f"no file manager answered; the folder is {folder}")

    async def _report_and_tell(self, path: Path) -> None:
        self.notice.emit("writing the report…")
        try:
            await self.export_report(path)
        except VeoTunerError as error:
            self.failed.emit(str(error))
            return
        self.notice.emit(f"report written to {path}")

    def _free_path(self, what: str, suffix: str = ".png") -> Path:
        stamp = f"{datetime.now().astimezone():%Y-%m-%dT%H-%M-%S}"
        return free_path(self._folder() / f"{what}-{stamp}{suffix}")

    def _folder(self) -> Path:
        state = self._runs.state
        if state is not None and state.recording_dir is not None and state.recording_dir.is_dir():
            return state.recording_dir
        pictures = platformdirs.user_pictures_path()
        return pictures if pictures.is_dir() else Path.home()
