"""The engine's own window: what the compositor asks of it, and what it answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from app.core.errors import SinkError
from app.engine.wayland import client
from app.engine.wayland.client import Connection
from app.engine.wayland.window import WaylandWindow
from tests.support.scripted_compositor import GLOBALS, ScriptedCompositor, serving
from tests.support.waiting import wait_until
from tests.support.weston import Weston

OpenWindow = Callable[[], WaylandWindow]
MAXIMIZED, FULLSCREEN, ACTIVATED, TILED_LEFT, SUSPENDED = 1, 2, 4, 5, 9


@pytest.fixture
def open_window() -> Iterator[OpenWindow]:
    """Opens windows of 320×180 on the compositor of the environment."""
    opened: list[tuple[Connection, WaylandWindow]] = []

    def open_one() -> WaylandWindow:
        connection = Connection()
        try:
            window = WaylandWindow(connection, 320, 180, "a title", "veotuner-test")
        except SinkError:
            connection.close()
            raise
        opened.append((connection, window))
        return window

    yield open_one
    for connection, window in opened:
        window.close()
        connection.close()


def test_weston_leaves_the_size_to_the_window(wayland_display: Weston, open_window: OpenWindow) -> None:
    window = open_window()
    assert window.follow() == (320, 180)
    assert not window.close_requested
    assert not window.suspended


def test_the_window_says_its_name_and_asks_for_a_title_bar(
    scripted: ScriptedCompositor, open_window: OpenWindow
) -> None:
    open_window()
    assert scripted.wait_for("xdg_toplevel", "set_title")[-1] == "a title"
    assert scripted.wait_for("xdg_toplevel", "set_app_id")[-1] == "veotuner-test"
    assert scripted.wait_for("zxdg_toplevel_decoration_v1", "set_mode")[-1] == 2


def test_a_compositor_without_title_bars_gets_a_window_all_the_same(
    monkeypatch: pytest.MonkeyPatch, open_window: OpenWindow
) -> None:
    offered = {name: version for name, version in GLOBALS.items() if name != "zxdg_decoration_manager_v1"}
    with serving(ScriptedCompositor(offered), monkeypatch):
        assert open_window().follow() == (320, 180)


def test_a_size_that_the_compositor_gives_is_the_windows(
    monkeypatch: pytest.MonkeyPatch, open_window: OpenWindow
) -> None:
    with serving(ScriptedCompositor(size=(1000, 700)), monkeypatch):
        assert open_window().follow() == (1000, 700)


def test_the_window_follows_and_keeps_its_size_where_it_is_left_to_it(
    scripted: ScriptedCompositor, open_window: OpenWindow
) -> None:
    window = open_window()
    for asked, size in [((640, 360), (640, 360)), ((0, 0), (640, 360)), ((0, 99), (640, 99)), ((5, 0), (5, 99))]:
        scripted.configure(*asked)
        wait_until(lambda size=size: window.follow() == size)  # type: ignore[misc]  # the default binds the loop's value


@pytest.mark.parametrize("arranged", [MAXIMIZED, FULLSCREEN, TILED_LEFT])
def test_a_window_that_is_let_go_has_its_own_size_again(
    scripted: ScriptedCompositor, open_window: OpenWindow, arranged: int
) -> None:
    window = open_window()
    scripted.configure(500, 400)
    wait_until(lambda: window.follow() == (500, 400))
    scripted.configure(1920, 1080, arranged, ACTIVATED)
    wait_until(lambda: window.follow() == (1920, 1080))
    scripted.configure(0, 0, ACTIVATED)
    wait_until(lambda: window.follow() == (500, 400))


def test_a_new_size_is_promised_by_the_thread_that_presents_and_only_the_newest(
    scripted: ScriptedCompositor, open_window: OpenWindow
) -> None:
    window = open_window()
    serials = [scripted.configure(width, 300, ACTIVATED) for width in (400, 500, 600)]
    scripted.ping(77)
    scripted.wait_for("xdg_wm_base", "pong", 77)  # so the sizes before it have arrived, too
    promised = [call for call in scripted.calls if call[1] == "ack_configure"]
    assert len(promised) == 1  # the one that opened the window
    assert window.follow() == (600, 300)
    window.follow()
    scripted.ping(78)
    scripted.wait_for("xdg_wm_base", "pong", 78)
    assert [call[-1] for call in scripted.calls if call[1] == "ack_configure"] == [promised[0][-1], serials[-1]]


def test_a_ping_is_answered_while_nobody_looks_after_the_window(
    scripted: ScriptedCompositor, open_window: OpenWindow
) -> None:
    open_window()
    scripted.ping(4711)
    assert scripted.wait_for("xdg_wm_base", "pong") == ("xdg_wm_base", "pong", 4711)


def test_a_request_to_close_and_a_window_that_nobody_sees_are_told(
    scripted: ScriptedCompositor, open_window: OpenWindow
) -> None:
    window = open_window()
    scripted.configure(0, 0, ACTIVATED, SUSPENDED)
    wait_until(lambda: window.suspended)
    scripted.configure(0, 0, MAXIMIZED)
    wait_until(lambda: not window.suspended)
    scripted.ask_to_close()
    wait_until(lambda: window.close_requested)


def test_closing_takes_every_part_away_in_order(scripted: ScriptedCompositor) -> None:
    connection = Connection()
    window = WaylandWindow(connection, 320, 180, "a title", "veotuner-test")
    window.close()
    connection.close()
    scripted.wait_for("wl_surface", "destroy")
    destroyed = [call[0] for call in scripted.calls if call[1] == "destroy"]
    assert destroyed == ["zxdg_toplevel_decoration_v1", "xdg_toplevel", "xdg_surface", "wl_surface"]


def test_a_compositor_that_goes_is_an_error_of_the_next_look(
    scripted: ScriptedCompositor, open_window: OpenWindow
) -> None:
    window = open_window()
    scripted.drop()
    with pytest.raises(SinkError, match=r"compositor ended.*open the preview again"):
        wait_until(lambda: window.follow() == (0, 0))


def test_a_compositor_that_cuts_the_window_off_says_why(scripted: ScriptedCompositor, open_window: OpenWindow) -> None:
    window = open_window()
    scripted.fail(3)
    with pytest.raises(SinkError, match="cut the preview off: error 3 of xdg_toplevel"):
        wait_until(lambda: window.follow() == (0, 0))


def test_a_compositor_that_never_opens_the_window_is_given_up(
    monkeypatch: pytest.MonkeyPatch, open_window: OpenWindow
) -> None:
    monkeypatch.setattr(client, "ANSWER_LIMIT_S", 0.2)
    refused = pytest.raises(SinkError, match="does not open a window within")
    with serving(ScriptedCompositor(configures=False), monkeypatch), refused:
        open_window()
