"""The preview's native window: one id for life, sizes in device pixels, and nothing painted while an engine draws."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtGui import QBackingStore, QColor, QImage, QPainter
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from widgets.preview_host import DetachedPreview, PreviewHost, PreviewState

pytestmark = pytest.mark.x11


@pytest.fixture
def home(qtbot: QtBot) -> QWidget:
    window = QWidget()
    qtbot.addWidget(window)
    layout = QVBoxLayout(window)
    layout.setContentsMargins(0, 0, 0, 0)
    window.host = PreviewHost()  # type: ignore[attr-defined]
    layout.addWidget(window.host)  # type: ignore[attr-defined]
    window.resize(640, 360)
    window.show()
    qtbot.waitExposed(window)
    return window


@pytest.fixture
def host(home: QWidget) -> PreviewHost:
    return home.findChildren(PreviewHost)[0]


def live(host: PreviewHost, qtbot: QtBot) -> None:
    host.show_state(PreviewState.LIVE)
    qtbot.waitUntil(host.surface.isExposed)


def screen_picture(widget: QWidget) -> QImage:
    place = widget.mapToGlobal(widget.rect().topLeft())
    return widget.screen().grabWindow(0, place.x(), place.y(), widget.width(), widget.height()).toImage()


def test_the_native_window_keeps_its_id_when_the_preview_moves_to_another_window(
    home: QWidget, host: PreviewHost, qtbot: QtBot
) -> None:
    live(host, qtbot)
    before = host.window_id()
    detached = DetachedPreview(host)
    qtbot.addWidget(detached)
    detached.show()
    qtbot.waitExposed(detached)
    assert host.window_id() == before
    layout = home.layout()
    assert layout is not None
    layout.addWidget(host)
    assert host.window_id() == before


def test_the_size_is_told_in_device_pixels_and_only_when_it_changed(
    home: QWidget, host: PreviewHost, qtbot: QtBot
) -> None:
    live(host, qtbot)
    sizes: list[tuple[int, int]] = []
    qtbot.wait(50)
    host.resized.connect(lambda width, height: sizes.append((width, height)))
    home.resize(800, 450)
    home.resize(801, 451)
    qtbot.waitUntil(lambda: bool(sizes))
    ratio = host.devicePixelRatioF()
    assert sizes[-1] == (round(801 * ratio), round(451 * ratio))
    assert len(sizes) == len(set(sizes))


def test_hiding_the_window_occludes_the_preview_and_showing_it_ends_that(
    home: QWidget, host: PreviewHost, qtbot: QtBot
) -> None:
    live(host, qtbot)
    with qtbot.waitSignal(host.occluded) as told:
        home.hide()
    assert told.args == [True]
    with qtbot.waitSignal(host.occluded) as told:
        home.show()
    assert told.args == [False]


def test_minimising_occludes_the_preview(home: QWidget, host: PreviewHost, qtbot: QtBot) -> None:
    live(host, qtbot)
    with qtbot.waitSignal(host.occluded) as told:
        home.showMinimized()
    assert told.args == [True]


def test_nothing_is_painted_over_a_live_preview(home: QWidget, host: PreviewHost, qtbot: QtBot) -> None:
    live(host, qtbot)
    engine = QColor(12, 200, 34)
    # Another client painted this: what Qt's own painting would do to it is what counts.
    paint_like_an_engine(host, engine)
    home.update()
    host.update()
    home.repaint()
    qtbot.wait(100)
    assert screen_picture(host).pixelColor(100, 100) == engine


def paint_like_an_engine(host: PreviewHost, colour: QColor) -> None:
    store = QBackingStore(host.surface)
    area = QRect(0, 0, host.surface.width(), host.surface.height())
    store.resize(area.size())
    store.beginPaint(area)
    painter = QPainter(store.paintDevice())
    painter.fillRect(area, colour)
    painter.end()
    store.endPaint()
    store.flush(area)


def test_the_surface_takes_no_input_so_keys_and_clicks_stay_with_the_window(host: PreviewHost, qtbot: QtBot) -> None:
    live(host, qtbot)
    with qtbot.waitSignal(host.activated):
        QTest.mouseDClick(host, Qt.MouseButton.LeftButton)


@pytest.mark.parametrize(
    ("state", "names"),
    [
        (PreviewState.EMPTY, ["sample", "open", "synthetic"]),
        (PreviewState.FAILED, ["restart", "folder", "open"]),
        (PreviewState.REFUSED, ["restart", "open", "sample"]),
        (PreviewState.FINISHED, ["restart", "folder", "open"]),
    ],
)
def test_every_state_without_a_picture_says_what_can_be_done(
    host: PreviewHost, qtbot: QtBot, state: PreviewState, names: list[str]
) -> None:
    host.show_state(state, "the engine ended by signal 9 (SIGKILL)")
    words = host.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    buttons = next(word.buttons for word in words if hasattr(word, "buttons"))
    assert list(buttons) == names
    with qtbot.waitSignal(host.action_requested) as asked:
        QTest.keyClick(buttons[names[0]], Qt.Key.Key_Space)
    assert asked.args == [names[0]]


def test_closing_the_detached_window_gives_the_preview_back(host: PreviewHost, qtbot: QtBot) -> None:
    detached = DetachedPreview(host)
    qtbot.addWidget(detached)
    detached.show()
    with qtbot.waitSignal(detached.closed):
        detached.close()


def test_a_button_that_makes_way_for_the_picture_leaves_the_keys_with_the_window(
    home: QWidget, host: PreviewHost, qtbot: QtBot
) -> None:
    words = host.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)
    button = next(word.buttons for word in words if hasattr(word, "buttons"))["sample"]
    home.activateWindow()
    button.setFocus()
    live(host, qtbot)
    assert home.focusWidget() is host
    assert not host.container.hasFocus()
