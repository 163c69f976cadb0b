"""A window that was closed leaves nothing behind: whatever it was doing, its objects and its history go."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import pytest

from app.gui.workbench import Workbench
from app.session.session_state import Phase
from tests.gui.conftest import Scenario, until
from tests.gui.test_workbench import running

pytestmark = pytest.mark.x11

Play = Callable[[Scenario], None]


async def nothing(_workbench: Workbench) -> None:
    """Close a window in which nothing was ever done."""


async def used(workbench: Workbench) -> None:
    """Run, detach, edit, open the dialogs that stay, and stop."""
    await running(workbench)
    actions = workbench.window.actions_by_name
    for name in ("detach", "detach", "fullscreen", "fullscreen", "stream", "pin"):
        actions[name].trigger()
    workbench.model.set_option("frame_queue_depth", 12)
    workbench.runs.stop()
    await until(lambda: workbench.runs.phase is Phase.FINISHED and not workbench.runs.is_busy)


async def closed_while_it_runs(workbench: Workbench) -> None:
    """Leave a run to the closing window."""
    await running(workbench)


@pytest.mark.parametrize("scenario", [nothing, used, closed_while_it_runs])
def test_a_closed_window_is_freed_with_everything_behind_it(play: Play, scenario: Scenario) -> None:
    left: list[weakref.ref[object]] = []

    async def watched(workbench: Workbench) -> None:
        await scenario(workbench)
        parts = (workbench, workbench.window, workbench.live, workbench.model, workbench.presenter, workbench.runs)
        left.extend(weakref.ref(part) for part in parts)

    play(watched)
    assert [reference() for reference in left] == [None] * len(left)
