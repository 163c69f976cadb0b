"""A test that leaves something behind fails: a thread, a process, shared memory, a scheduling, a timer or a window.

What was there before a test began is not its doing, so fixtures of a wider scope may keep things alive. Whatever ends
by itself within a grace time has not leaked; the wait costs nothing when there is nothing to wait for.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import ModuleType

import psutil
import pytest

_GRACE_S = 3.0
_session_processes: set[int] = set()

# Names that VeoTuner, Python and Qt give to shared memory; other programs of the machine make blocks as they like.
_SHARED_MEMORY_PREFIXES = ("veotuner", "psm_", "wnsm_", "sem.mp-", "qipc_")

Inventory = dict[object, str]
"""What exists: an identity that survives comparison → a line that says what it is and where."""


@contextlib.contextmanager
def session_process(pid: int) -> Iterator[None]:
    """Exempt a process that belongs to a session fixture, whichever test first asked for it."""
    _session_processes.add(pid)
    try:
        yield
    finally:
        _session_processes.discard(pid)


@pytest.fixture(autouse=True)
def nothing_is_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail the test that leaves a thread, process, shared memory block, priority, Qt timer or top-level widget."""
    checks: list[Callable[[], Inventory]] = [_threads, _processes, _shared_memory, _scheduling]
    if "qapp" in request.fixturenames:
        checks.append(_qt_objects)
    before = [set(check()) for check in checks]
    yield
    left = [
        line for check, known in zip(checks, before, strict=True) for line in _left_after_grace(check, known).values()
    ]
    if left:
        pytest.fail("left behind by this test:\n" + "\n".join(left), pytrace=False)


def _left_after_grace(check: Callable[[], Inventory], known: set[object]) -> Inventory:
    deadline = time.monotonic() + _GRACE_S
    while True:
        left = {key: line for key, line in check().items() if key not in known}
        if not left or time.monotonic() > deadline:
            return left
        gc.collect()
        time.sleep(0.02)


def _threads() -> Inventory:
    """Threads started from Python. C and Qt threads that merely called Python appear as dummies, which never end."""
    return {
        thread: f"thread {thread.name!r}, now in {_position(thread)}"
        for thread in threading.enumerate()
        if not isinstance(thread, threading._DummyThread)
    }


def _position(thread: threading.Thread) -> str:
    frame = sys._current_frames().get(thread.ident or 0)
    if frame is None:
        return "no frame"
    calls = traceback.extract_stack(frame)
    return " < ".join(f"{Path(call.filename).name}:{call.lineno} {call.name}" for call in reversed(calls[-4:]))


def _processes() -> Inventory:
    found: Inventory = {}
    for child in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            command = _command_of(child)
            if child.pid not in _session_processes and "multiprocessing.resource_tracker" not in command:
                found[child.pid] = f"process {child.pid} ({child.status()}): {command}"
    return found


def _command_of(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline()) or process.name()
    except psutil.ZombieProcess:
        return f"{process.name()}, ended and not waited for"


def _shared_memory() -> Inventory:
    """Named blocks, and the nameless memory files that this process holds open."""
    found: Inventory = {}
    for block in _entries("/dev/shm"):
        if block.name.startswith(_SHARED_MEMORY_PREFIXES):
            found[block] = f"shared memory {block}"
    for descriptor in _entries("/proc/self/fd"):
        with contextlib.suppress(OSError):
            target = str(descriptor.readlink())
            if target.startswith("/memfd:veotuner"):
                found[descriptor] = f"shared memory {target} open as descriptor {descriptor.name}"
    return found


def _scheduling() -> Inventory:
    """How this thread is scheduled: a library was seen to make it a real-time one, which starves all that follows."""
    if sys.platform != "linux":
        return {}
    policy, priority = os.sched_getscheduler(0), os.sched_getparam(0).sched_priority
    return {("scheduling", policy, priority): f"scheduling policy {policy} with priority {priority}"}


def _entries(folder: str) -> Iterable[Path]:
    return Path(folder).iterdir() if Path(folder).is_dir() else ()


def _qt_objects() -> Inventory:
    core, widgets = sys.modules.get("PySide6.QtCore"), sys.modules.get("PySide6.QtWidgets")
    if core is None or widgets is None or widgets.QApplication.instance() is None:
        return {}
    core.QCoreApplication.sendPostedEvents(None, core.QEvent.Type.DeferredDelete)
    return _widgets(widgets) | _timers(core)


def _widgets(widgets: ModuleType) -> Inventory:
    return {
        ("widget", id(widget)): f"top-level widget {widget!r}, title {widget.windowTitle()!r}"
        for widget in widgets.QApplication.topLevelWidgets()
    }


def _timers(core: ModuleType) -> Inventory:
    """Running timers that Python made; those inside Qt's own classes belong to the widgets above."""
    import shiboken6  # noqa: PLC0415 - only a process that has loaded Qt may load its binding

    return {
        ("timer", id(timer)): f"running timer {timer!r} of {timer.parent()!r}"
        for timer in gc.get_objects()
        if isinstance(timer, core.QTimer) and shiboken6.isValid(timer) and timer.isActive()
    }
