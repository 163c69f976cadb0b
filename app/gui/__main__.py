"""`python -m app.gui`: the window's process."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Sequence

import qasync  # type: ignore[import-untyped]  # ships no type information
from PySide6.QtCore import QCoreApplication, QEvent
from PySide6.QtWidgets import QApplication

from app import __version__
from app.core.errors import VeoTunerError
from app.gui.arguments import GuiArguments, parse_arguments
from app.gui.display_check import choose_platform, display_problem
from app.gui.run_controller import RunController
from app.gui.settings import GuiSettings, settings_path
from app.gui.unattended import run_unattended
from app.gui.workbench import Workbench, WorkbenchParts
from widgets.theme import ThemeChoice


def main(arguments: Sequence[str]) -> int:
    """Open the window and return the exit code when it is closed."""
    parsed = parse_arguments(arguments)
    problem = display_problem(os.environ)
    if problem:
        print(f"veotuner gui: {problem}", file=sys.stderr)  # noqa: T201 - a command's complaint
        return 1
    os.environ.update(choose_platform(os.environ))
    application = make_application()
    with qasync.QEventLoop(application) as loop:
        code: int = loop.run_until_complete(run_window(parsed))
        # The window goes while the application is there, not when the interpreter ends in whatever order.
        QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    return code


def make_application() -> QApplication:
    """Return the application with its names and style."""
    application = QApplication(["veotuner"])
    application.setApplicationName("VeoTuner")
    application.setApplicationVersion(__version__)
    application.setDesktopFileName("veotuner")
    application.setStyle("Fusion")
    application.setQuitOnLastWindowClosed(False)
    return application


async def run_window(arguments: GuiArguments) -> int:
    """Show the window until it is closed, and return the exit code."""
    runs = RunController(gpu=arguments.gpu, device=arguments.device, validation=arguments.validation)
    runs.records = arguments.record
    workbench = Workbench(WorkbenchParts(GuiSettings(settings_path()), runs))
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: workbench.close_without_asking())
    code = 0
    if arguments.is_unattended:
        workbench.silence_prompts()
    if arguments.theme:
        workbench.show_theme(ThemeChoice(arguments.theme))
    freeze_memory()
    workbench.window.show()  # first: what is wrong with a preset is told over the window, not over nothing
    if arguments.config is not None:
        code = _load_config(workbench, arguments)
    if code == 0:
        code = await _work(workbench, arguments)
    if arguments.is_unattended:
        workbench.close_without_asking()
    await workbench.closed
    return code


def freeze_memory() -> None:
    """Spare the collector what is there for good: modules, the option table, the window.

    A full collection that walks these 160 000 objects stops the window for 120 ms, every minute or so of dragging.
    """
    gc.collect()
    gc.freeze()


def _load_config(workbench: Workbench, arguments: GuiArguments) -> int:
    assert arguments.config is not None
    if not arguments.is_unattended:
        workbench.presets.open_path(arguments.config)
        return 0
    try:
        workbench.presets.load_first(arguments.config)
    except (VeoTunerError, OSError) as error:
        print(f"veotuner gui: {error}", file=sys.stderr)  # noqa: T201 - a command's complaint
        return 1
    return 0


async def _work(workbench: Workbench, arguments: GuiArguments) -> int:
    if arguments.encode_to is not None:
        workbench.sources.encode_into(arguments.encode_to)
        workbench.window.actions_by_name["encode"].setChecked(True)
    if arguments.sources:
        await workbench.until_shown()
        workbench.sources.play_all(arguments.sources)
    return await run_unattended(workbench, arguments) if arguments.is_unattended else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
