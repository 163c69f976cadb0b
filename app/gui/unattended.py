"""The window without a person: run, picture, report, result, and an exit code that tells what came of it."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Callable
from typing import Final

from app.config.atomic_file import write_atomically
from app.core.errors import EngineError, VeoTunerError
from app.export.run_result import build_run_result, result_json
from app.gui.arguments import GuiArguments
from app.gui.window_capture import grab_window, save_picture
from app.gui.workbench import Workbench
from app.session.session_state import Phase

START_TIMEOUT_S: Final = 30.0
END_TIMEOUT_S: Final = 60.0
_SETTLE_S: Final = 0.3


async def run_unattended(workbench: Workbench, arguments: GuiArguments) -> int:
    """Do what the arguments say and return the exit code; every failure is one sentence on standard error."""
    try:
        await _perform(workbench, arguments)
    except (VeoTunerError, OSError) as error:
        print(f"veotuner gui: {error}", file=sys.stderr)  # noqa: T201 - standard error is where a command complains
        return 1
    return 0


async def _perform(workbench: Workbench, arguments: GuiArguments) -> None:
    assert arguments.run_for_s is not None
    if arguments.sources:
        await _until_running(workbench)
    plays = bool(arguments.sources)
    await _until(workbench, lambda: plays and not workbench.runs.phase.is_live, arguments.run_for_s)
    if arguments.screenshot is not None:
        await asyncio.sleep(_SETTLE_S)  # the texts of the last half second are drawn
        save_picture(grab_window(workbench.window), arguments.screenshot)
    failure = _failure(workbench)
    if arguments.sources:
        workbench.runs.stop()
        await _until(workbench, lambda: not (workbench.runs.phase.is_live or workbench.runs.is_busy), END_TIMEOUT_S)
        await _write_results(workbench, arguments)
    if failure:
        raise EngineError(failure)


async def _until_running(workbench: Workbench) -> None:
    def settled() -> bool:
        return bool(_failure(workbench)) or workbench.runs.phase not in {Phase.IDLE, Phase.STARTING}

    await _until(workbench, settled, START_TIMEOUT_S)
    failure = _failure(workbench)
    if not failure and not settled():
        failure = f"the engine was not ready within {START_TIMEOUT_S:.0f} s; see veotuner doctor for what is missing"
    if failure:
        raise EngineError(failure)


async def _write_results(workbench: Workbench, arguments: GuiArguments) -> None:
    if arguments.export_report is not None:
        await workbench.captures.export_report(arguments.export_report)
    if arguments.json is not None:
        path = arguments.json
        run = await workbench.runs.run_data()
        await workbench.runs.work(lambda: write_atomically(path, result_json(build_run_result(run)).encode()))


def _failure(workbench: Workbench) -> str:
    state = workbench.runs.state
    return state.failure if state is not None and state.phase is Phase.FAILED else workbench.last_failure


async def _until(workbench: Workbench, reached: Callable[[], bool], timeout_s: float) -> None:
    """Return when a change of the run brings what is waited for, or after `timeout_s`."""
    done = asyncio.Event()

    def look(_phase: Phase) -> None:
        if reached():
            done.set()

    workbench.presenter.phase_shown.connect(look)
    try:
        if not reached():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(done.wait(), timeout_s)
    finally:
        workbench.presenter.phase_shown.disconnect(look)
