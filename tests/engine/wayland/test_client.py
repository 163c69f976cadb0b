"""Finding a compositor, and losing it: each is a sentence with a cure, and nothing waits for ever."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from cffi import FFI  # type: ignore[import-untyped]  # cffi ships no types

from app.core.errors import SinkError
from app.engine.wayland import client, library
from app.engine.wayland.client import Connection
from tests.support.flat_resources import assert_resources_stay_flat
from tests.support.scripted_compositor import GLOBALS, ScriptedCompositor, serving
from tests.support.weston import Weston

HANG_S = 30.0


def lose(connection: Connection) -> SinkError:
    """Return the error with which the connection ends; it must come by itself."""
    deadline_s = time.monotonic() + HANG_S
    while time.monotonic() < deadline_s:
        try:
            connection.check()
        except SinkError as error:
            return error
        time.sleep(0.005)
    raise TimeoutError("the loss was not noticed")


def test_weston_is_found_with_its_windows_and_its_clock(wayland_display: Weston) -> None:
    connection = Connection()
    assert connection.bound("wl_compositor") is not None
    assert connection.bound("xdg_wm_base") is not None
    assert connection.clock_id in (time.CLOCK_MONOTONIC, time.CLOCK_MONOTONIC_RAW)
    connection.check()
    connection.close()
    connection.close()


@pytest.mark.parametrize("left_out", ["", "wp_fifo_manager_v1", "wp_presentation"])
def test_what_a_compositor_lacks_is_known(left_out: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = {name: version for name, version in GLOBALS.items() if name != left_out}
    with serving(ScriptedCompositor(offered), monkeypatch):
        connection = Connection()
        assert connection.has_fifo is (left_out != "wp_fifo_manager_v1")
        assert connection.clock_id == (None if left_out == "wp_presentation" else time.CLOCK_MONOTONIC)
        connection.close()


def test_newer_versions_than_this_client_understands_are_not_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(ScriptedCompositor(dict.fromkeys(GLOBALS, 99)), monkeypatch) as compositor:
        Connection().close()
    versions = {call[3]: call[4] for call in compositor.calls if call[:2] == ("wl_registry", "bind")}
    assert versions == {
        "wl_compositor": 4, "xdg_wm_base": 6, "wp_presentation": 2, "zxdg_decoration_manager_v1": 1,
    }  # fmt: skip


def test_no_compositor_is_an_error_that_names_the_place(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WAYLAND_DISPLAY", "wayland-nowhere")
    with pytest.raises(SinkError, match=r"/wayland-nowhere \(WAYLAND_DISPLAY=wayland-nowhere\); start one, or use"):
        Connection()


def test_without_a_runtime_folder_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with pytest.raises(SinkError, match="XDG_RUNTIME_DIR is not set"):
        Connection()


@pytest.mark.parametrize("missing", ["wl_compositor", "xdg_wm_base"])
def test_a_compositor_without_desktop_windows_is_named_as_such(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    offered = {name: version for name, version in GLOBALS.items() if name != missing}
    with serving(ScriptedCompositor(offered), monkeypatch), pytest.raises(SinkError, match=f"has no {missing}"):
        Connection()


def test_a_compositor_that_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "ANSWER_LIMIT_S", 0.2)
    monkeypatch.setattr(client, "_GOODBYE_LIMIT_S", 0.2)
    with serving(ScriptedCompositor(mute=True), monkeypatch), pytest.raises(SinkError, match="does not answer within"):
        Connection()


def test_a_compositor_that_dies_is_noticed(own_weston: Weston) -> None:
    connection = Connection()
    own_weston.process.kill()
    assert "compositor ended" in str(lose(connection))
    connection.close()


def test_a_compositor_that_hangs_cannot_hold_the_closing_up(
    own_weston: Weston, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_GOODBYE_LIMIT_S", 0.2)
    connection = Connection()
    os.kill(own_weston.process.pid, signal.SIGSTOP)
    try:
        closing = threading.Thread(target=connection.close)
        closing.start()
        closing.join(HANG_S)
        assert not closing.is_alive()
    finally:
        os.kill(own_weston.process.pid, signal.SIGCONT)


def test_a_missing_library_names_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    class BareMachine(FFI):  # type: ignore[misc]  # cffi ships no types
        def dlopen(self, name: str) -> object:
            raise OSError(f"cannot load library '{name}'")

    monkeypatch.setattr(library, "FFI", BareMachine)
    library.open_library.cache_clear()
    with pytest.raises(SinkError, match="install the package libwayland-client0"):
        Connection()
    library.open_library.cache_clear()


def test_connections_leave_nothing_behind(wayland_display: Weston) -> None:
    assert_resources_stay_flat(lambda _turn: Connection().close())
