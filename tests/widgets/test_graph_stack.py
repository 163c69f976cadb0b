"""Four graphs share one time axis, one zoom, one cursor and one pin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QPalette
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from app.core.metric import PURPLE
from app.core.metrics import metric
from app.core.vocabulary import Fate
from app.gui.graph_table import GRAPHS
from tests.widgets.graph_data import MadeUpSource
from widgets.graph_source import Curve, GraphNote, LossMarks, TimeEvent
from widgets.graph_stack import GraphStack
from widgets.theme import palette_for
from widgets.time_plot import LEFT_AXIS_PX, RIGHT_AXIS_PX, place_texts

pytestmark = pytest.mark.x11


@pytest.fixture
def source() -> MadeUpSource:
    return MadeUpSource.sixty_fps(60.0)


@pytest.fixture
def stack(qtbot: QtBot, source: MadeUpSource) -> GraphStack:
    stack = GraphStack(GRAPHS, source)
    qtbot.addWidget(stack)
    stack.setPalette(palette_for(dark=False))
    stack.resize(900, 640)
    stack.show()
    qtbot.waitExposed(stack)
    qtbot.waitUntil(lambda: not source.fresh)
    return stack


def picture_of(stack: GraphStack, graph_id: str) -> QImage:
    stack.repaint()
    image: QImage = stack.panels[graph_id].plot.grab().toImage()
    return image


def count_pixels(image: QImage, colour: str) -> int:
    wanted = QColor(colour).rgb()
    return sum(image.pixel(x, y) == wanted for x in range(image.width()) for y in range(image.height()))


def test_every_graph_shows_the_same_stretch_of_time(stack: GraphStack) -> None:
    stack.set_span(30.0)
    places = {panel.plot.time_at(panel.plot.width() / 2) for panel in stack.panels.values()}
    assert len(places) == 1


def test_the_newest_data_is_at_the_right_edge(stack: GraphStack, source: MadeUpSource, qtbot: QtBot) -> None:
    qtbot.waitUntil(lambda: stack.window_shown.end_s == pytest.approx(source.newest_s))
    assert stack.window_shown.following


def test_dragging_back_pauses_following_and_the_button_resumes_it(stack: GraphStack, qtbot: QtBot) -> None:
    with qtbot.waitSignal(stack.following_changed):
        stack.panels["jitter"].plot.panned.emit(-20.0)
    assert not stack.follow_button.isChecked()
    QTest.mouseClick(stack.follow_button, Qt.MouseButton.LeftButton)
    assert stack.window_shown.following


def test_the_mouse_drags_the_view(stack: GraphStack, qtbot: QtBot) -> None:
    plot = stack.panels["interval"].plot
    before = stack.window_shown.end_s
    area = plot.viewport()
    QTest.mousePress(area, Qt.MouseButton.LeftButton, pos=QPoint(300, 40))
    QTest.mouseMove(area, QPoint(350, 40))
    QTest.mouseMove(area, QPoint(500, 40))
    QTest.mouseRelease(area, Qt.MouseButton.LeftButton, pos=QPoint(500, 40))
    assert stack.window_shown.end_s < before
    assert stack.pin is None


def test_hovering_one_graph_shows_the_frame_under_the_cursor_in_all(stack: GraphStack, qtbot: QtBot) -> None:
    stack.panels["jitter"].plot.hovered.emit(55.0)
    cursors = [panel.plot.overlay.cursor_s for panel in stack.panels.values()]
    assert cursors == [pytest.approx(55.0, abs=1 / 60)] * 4
    qtbot.waitUntil(lambda: "frame 3300" in stack.panels["interval"].readout)
    assert stack.panels["jitter"].readout == "0.2500 ms"
    stack.panels["jitter"].plot.left.emit()
    assert all(math.isnan(panel.plot.overlay.cursor_s) for panel in stack.panels.values())


def test_a_click_pins_a_frame_and_a_second_one_takes_the_pin_away(stack: GraphStack, qtbot: QtBot) -> None:
    plot = stack.panels["interval"].plot
    with qtbot.waitSignal(stack.pinned) as pinned:
        QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(450, 40))
    sample = pinned.args[0]
    assert sample.time_s == pytest.approx(plot.time_at(450), abs=1 / 60)
    assert stack.panels["temperature"].plot.overlay.pinned_s == sample.time_s
    QTest.mouseClick(plot.viewport(), Qt.MouseButton.LeftButton, pos=QPoint(450, 40))
    assert stack.pin is None


def test_a_hidden_graph_is_not_drawn(stack: GraphStack, source: MadeUpSource, qtbot: QtBot) -> None:
    QTest.mouseClick(stack.toggles["jitter"], Qt.MouseButton.LeftButton)
    assert not stack.panels["jitter"].isVisible()
    source.asked.clear()
    source.fresh = True
    qtbot.waitUntil(lambda: "display_interval_ms" in source.asked)
    assert "jitter_sd_ms" not in source.asked


def test_nothing_is_drawn_while_nothing_changes(stack: GraphStack, source: MadeUpSource, qtbot: QtBot) -> None:
    qtbot.wait(300)
    source.asked.clear()
    qtbot.wait(300)
    assert source.asked == []


def test_a_gap_in_the_data_is_a_gap_in_the_curve(stack: GraphStack, source: MadeUpSource, qtbot: QtBot) -> None:
    curve = source.curves["jitter_sd_ms"]
    whole = count_pixels(picture_of(stack, "jitter"), metric("jitter_sd_ms").colour)
    y = curve.y.copy()
    y[(curve.x > 52.5) & (curve.x < 57.5)] = math.nan
    source.curves["jitter_sd_ms"] = Curve(curve.x, y)
    source.fresh = True
    qtbot.waitUntil(lambda: not source.fresh)
    assert count_pixels(picture_of(stack, "jitter"), metric("jitter_sd_ms").colour) == pytest.approx(whole / 2, rel=0.1)


def test_one_slow_frame_in_ten_minutes_is_seen(qtbot: QtBot) -> None:
    source = MadeUpSource.sixty_fps(600.0)
    source.curves["jitter_sd_ms"].y[20_000] = 40.0
    stack = GraphStack(GRAPHS, source)
    qtbot.addWidget(stack)
    stack.resize(900, 640)
    stack.show()
    qtbot.waitExposed(stack)
    stack.set_span(600.0)
    qtbot.waitUntil(lambda: stack.panels["jitter"].plot.left_range.high >= 40.0)


def test_losses_are_marked_by_class_in_colour_and_shape(stack: GraphStack, source: MadeUpSource, qtbot: QtBot) -> None:
    source.marks = LossMarks(
        np.array([52.0, 55.0]), np.array([Fate.QUEUE_OVERFLOW, Fate.COMPOSITOR_DISCARDED], np.uint8)
    )
    source.fresh = True
    qtbot.waitUntil(lambda: len(stack.panels["interval"].plot.overlay.losses) == 2)
    names = [mark.metric_id for mark in stack.panels["interval"].plot.overlay.losses]
    assert names == ["loss.queue_overflow", "loss.compositor_discarded"]


def test_a_config_change_is_a_line_in_every_graph_and_named_in_the_first(
    stack: GraphStack, source: MadeUpSource, qtbot: QtBot
) -> None:
    source.lines.append(TimeEvent(55.0, "present_mode FIFO → MAILBOX", "config"))
    source.fresh = True
    qtbot.waitUntil(lambda: all(panel.plot.overlay.events for panel in stack.panels.values()))
    texts = [panel.plot.overlay.events[0].text for panel in stack.panels.values()]
    assert texts == ["present_mode FIFO → MAILBOX", "", "", ""]


def test_a_governor_s_decision_is_a_line_of_its_own_look_whose_tool_tip_gives_the_reason(
    stack: GraphStack, source: MadeUpSource, qtbot: QtBot
) -> None:
    before = count_pixels(picture_of(stack, "jitter"), PURPLE)
    source.lines.append(TimeEvent(55.0, "thermal: ceiling 43.2 fps", "governor", "82 °C is 7 °C above start_c"))
    source.fresh = True
    plot = stack.panels["jitter"].plot
    qtbot.waitUntil(lambda: bool(plot.overlay.events))
    assert count_pixels(picture_of(stack, "jitter"), PURPLE) > before + 20
    assert stack.panels["interval"].plot.overlay.events[0].text == "thermal: ceiling 43.2 fps"
    area_px = plot.width() - LEFT_AXIS_PX - RIGHT_AXIS_PX
    x_px = LEFT_AXIS_PX + (55.0 - stack.window_shown.start_s) / stack.window_shown.span_s * area_px
    assert plot.event_tip(x_px) == "55.00 s  thermal: ceiling 43.2 fps\n82 °C is 7 °C above start_c"
    assert plot.event_tip(x_px + 40) == ""


def test_an_empty_graph_says_why(stack: GraphStack, source: MadeUpSource, qtbot: QtBot) -> None:
    source.notes["temperature"] = GraphNote(missing="no GPU on the PCI bus of this machine")
    source.fresh = True
    plot = stack.panels["temperature"].plot
    qtbot.waitUntil(lambda: plot.overlay.message == "no GPU on the PCI bus of this machine")


def test_both_themes_draw_their_own_ground(stack: GraphStack) -> None:
    for dark in (False, True):
        stack.setPalette(palette_for(dark=dark))
        image = picture_of(stack, "bandwidth")
        assert (image.pixelColor(QPointF(200, 60).toPoint()).lightness() < 128) is dark


@pytest.mark.parametrize("direction", ["step_back", "zoom_in", "zoom_out"])
def test_the_view_is_moved_without_a_mouse(stack: GraphStack, direction: str) -> None:
    before = stack.window_shown
    getattr(stack, direction)()
    assert stack.window_shown != before


def test_texts_beside_event_lines_are_whole_and_apart_and_the_newest_of_a_drag_stands() -> None:
    def width_of(text: str) -> float:
        return 10.0 * len(text)

    drag = [(100.0, "a 1 → 2"), (110.0, "a 2 → 3"), (120.0, "a 3 → 4")]
    assert place_texts(drag, width_of, 0.0, 400.0) == [(123.0, "a 3 → 4")]
    apart = [(10.0, "a 1 → 2"), (300.0, "b 1 → 2")]
    assert place_texts(apart, width_of, 0.0, 400.0) == [(13.0, "a 1 → 2"), (303.0, "b 1 → 2")]
    at_edge = place_texts([(390.0, "a 1 → 2")], width_of, 0.0, 400.0)
    assert at_edge == [(317.0, "a 1 → 2")]


def test_a_graph_without_a_curve_says_why_and_nothing_crosses_the_words(
    stack: GraphStack, source: MadeUpSource
) -> None:
    source.notes["temperature"] = GraphNote(missing="no GPU")
    stack.panels["temperature"].draw(source, stack.window_shown)
    bare = picture_of(stack, "temperature")
    source.lines = [TimeEvent(stack.window_shown.end_s - 5.0, "a 1 → 2", "config")]
    stack.panels["temperature"].draw(source, stack.window_shown)
    assert picture_of(stack, "temperature") == bare


def test_the_reason_in_a_low_graph_is_one_whole_line_and_no_cut_ones(stack: GraphStack, source: MadeUpSource) -> None:
    plot = stack.panels["temperature"].plot
    stack.set_graph_visible("interval", False)
    stack.resize(500, 190)
    plot.overlay.message = "no GPU on the PCI bus of this machine, as is usual in a virtual one or a container; " * 4
    plot.refresh_overlay()
    image = plot.grab().toImage()
    ground = plot.palette().color(QPalette.ColorRole.Base).rgb()
    column = range(LEFT_AXIS_PX + 8, image.width() - RIGHT_AXIS_PX - 8)
    inked = [y for y in range(9, image.height() - 9) if any(image.pixel(x, y) != ground for x in column)]
    assert inked
    assert inked[-1] - inked[0] < plot.fontMetrics().height()


@pytest.mark.parametrize("width_px", [560, 700, 900, 1400])
def test_a_heading_that_has_no_room_ends_in_an_ellipsis_and_never_in_the_middle_of_a_word(
    stack: GraphStack, source: MadeUpSource, qtbot: QtBot, width_px: int
) -> None:
    note = "source 1 of 4, no display time here (only present_fence): intervals of present calls"
    source.notes["interval"] = GraphNote(note)
    stack.resize(width_px, 640)
    qtbot.waitUntil(lambda: stack.width() == width_px)
    stack.refresh()
    title = stack.panels["interval"].findChildren(QLabel)[0]
    qtbot.waitUntil(lambda: "source 1" in title.text() and title.width() >= title.sizeHint().width())
    assert (note in title.text()) != ("…</span>" in title.text())
    assert (note in title.text()) == (width_px >= 900)
    assert note in title.toolTip()
