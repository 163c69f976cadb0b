"""Waiting, with a limit, for the moment when the compositor wants another picture."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest

from app.engine.wayland.client import Connection
from app.engine.wayland.frame_callbacks import FrameCallbacks
from app.engine.wayland.window import WaylandWindow
from tests.support.scripted_compositor import ScriptedCompositor

SECOND_NS = 1_000_000_000
PATIENCE_NS = 10 * SECOND_NS
A_MOMENT_NS = SECOND_NS // 50


@pytest.fixture
def connection(scripted: ScriptedCompositor) -> Iterator[Connection]:
    one = Connection()
    yield one
    one.close()


@pytest.fixture
def callbacks(connection: Connection) -> Iterator[FrameCallbacks]:
    window = WaylandWindow(connection, 64, 48, "a title", "veotuner-test")
    yield FrameCallbacks(connection, window)
    window.close()


def test_the_first_picture_need_not_wait(callbacks: FrameCallbacks) -> None:
    assert callbacks.wait(time.monotonic_ns())


def test_the_next_picture_waits_until_the_compositor_wants_it_or_the_deadline(
    scripted: ScriptedCompositor, connection: Connection, callbacks: FrameCallbacks
) -> None:
    for _ in range(3):
        callbacks.request()
        connection.flush()
        assert not callbacks.wait(time.monotonic_ns() + A_MOMENT_NS)
        wanting = threading.Timer(0.02, scripted.want_picture)
        wanting.start()
        assert callbacks.wait(time.monotonic_ns() + PATIENCE_NS)
        wanting.join()


def test_a_picture_that_was_refused_is_not_waited_for(
    scripted: ScriptedCompositor, connection: Connection, callbacks: FrameCallbacks
) -> None:
    callbacks.request()
    callbacks.withdraw()
    assert callbacks.wait(time.monotonic_ns())
    callbacks.request()
    connection.flush()
    assert not callbacks.wait(time.monotonic_ns() + A_MOMENT_NS)
    scripted.want_picture()  # both are answered when the second picture is there
    scripted.want_picture()
    assert callbacks.wait(time.monotonic_ns() + PATIENCE_NS)
    callbacks.request()
    assert not callbacks.wait(time.monotonic_ns() + A_MOMENT_NS)


def test_a_window_that_gets_no_callbacks_can_still_be_closed(connection: Connection, callbacks: FrameCallbacks) -> None:
    for _ in range(10):
        callbacks.request()
    assert not callbacks.wait(time.monotonic_ns())
