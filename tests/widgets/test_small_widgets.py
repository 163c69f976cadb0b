"""Tiles, tables, icons, labels and dialogs: what they say and how they are read."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.core.metrics import METRICS
from app.core.vocabulary import LOSS_CLASSES
from app.gui.action_table import ACTIONS
from widgets.elided_label import ElidedLabel
from widgets.icons import icon, icon_folder
from widgets.loss_symbols import draw_symbol
from widgets.number_tile import NumberTile, TileText
from widgets.problem_dialog import ProblemDialog
from widgets.theme import ThemeChoice, check_box_palette, is_dark, palette_for, palette_is_dark, warning_colour
from widgets.value_table import ValueTable

pytestmark = pytest.mark.x11


def contrast(first: QColor, second: QColor) -> float:
    def luminance(colour: QColor) -> float:
        channels = (colour.redF(), colour.greenF(), colour.blueF())
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_text_is_readable_on_its_ground_in_both_themes(dark: bool) -> None:
    palette = palette_for(dark)
    roles = QPalette.ColorRole
    for text, ground in (
        (roles.WindowText, roles.Window),
        (roles.Text, roles.Base),
        (roles.ButtonText, roles.Button),
        (roles.PlaceholderText, roles.Base),
        (roles.HighlightedText, roles.Highlight),
    ):
        assert contrast(palette.color(text), palette.color(ground)) >= 4.5
    assert contrast(QColor(warning_colour(palette)), palette.color(roles.Window)) >= 4.5


@pytest.mark.parametrize("dark", [False, True])
def test_a_choice_decides_the_theme_and_the_palette_tells_which_it_is(dark: bool, qapp: QApplication) -> None:
    choice = ThemeChoice.DARK if dark else ThemeChoice.LIGHT
    assert is_dark(choice) is dark
    assert palette_is_dark(palette_for(dark)) is dark


def test_every_icon_is_a_drawing_inked_by_the_palette(qapp: QApplication) -> None:
    for path in icon_folder().glob("*.svg"):
        assert path.read_text().startswith("<svg")
        drawn = icon(path.stem, palette_for(dark=True)).pixmap(QSize(24, 24)).toImage()
        assert any(drawn.pixelColor(x, y).alpha() for x in range(24) for y in range(24)), path.name


def test_every_action_s_icon_exists(qapp: QApplication) -> None:
    for spec in ACTIONS:
        if spec.icon:
            assert not icon(spec.icon, palette_for(dark=False)).isNull()


def test_a_disabled_icon_looks_different(qapp: QApplication) -> None:
    made = icon("stop", palette_for(dark=False))
    on = made.pixmap(QSize(24, 24), QIcon.Mode.Normal).toImage()
    off = made.pixmap(QSize(24, 24), QIcon.Mode.Disabled).toImage()
    assert on.pixelColor(12, 12) != off.pixelColor(12, 12)


def test_loss_classes_have_shapes_that_differ_without_colour(qapp: QApplication) -> None:
    markers = [METRICS[f"loss.{fate.label}"].marker for fate in LOSS_CLASSES]
    pictures = set()
    for marker in markers:
        pixmap = QPixmap(15, 15)
        pixmap.fill(Qt.GlobalColor.white)
        painter = QPainter(pixmap)
        draw_symbol(painter, marker, pixmap.rect().toRectF().center(), QColor(0, 0, 0))
        painter.end()
        pictures.add(bytes(pixmap.toImage().constBits()))
    assert len(pictures) == len(markers)


def test_a_tile_reads_out_name_value_and_basis(qtbot: QtBot) -> None:
    tile = NumberTile("Jitter sd")
    qtbot.addWidget(tile)
    tile.show_text(TileText("Jitter sd", "0.41 ms", "N 600", "", "definition"))
    assert tile.accessibleName() == "Jitter sd: 0.41 ms, N 600"
    assert tile.toolTip() == "definition"
    tile.show_text(TileText("Jitter sd", "—", "", "needs two intervals, there are 0", "definition"))
    assert tile.accessibleName() == "Jitter sd: —, needs two intervals, there are 0"


def test_an_elided_label_keeps_its_whole_text_in_the_tool_tip(qtbot: QtBot) -> None:
    label = ElidedLabel(Qt.AlignmentFlag.AlignLeft)
    qtbot.addWidget(label)
    label.resize(40, 20)
    label.set_text("no GPU on the PCI bus of this machine")
    assert label.toolTip() == "no GPU on the PCI bus of this machine"
    assert label.grab().width() == 40 * label.devicePixelRatioF()


def test_a_table_is_copied_as_text(qtbot: QtBot) -> None:
    table = ValueTable(("Option", "Loaded", "Current"))
    qtbot.addWidget(table)
    table.show_rows([("frame_queue_depth", "4 frames", "12 frames"), ("present_mode", "FIFO", "MAILBOX")])
    table.selectAll()
    QTest.keyClick(table, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QApplication.clipboard().text() == "frame_queue_depth\t4 frames\t12 frames\npresent_mode\tFIFO\tMAILBOX"


def test_a_table_of_events_forgets_the_oldest(qtbot: QtBot) -> None:
    table = ValueTable(("Time", "What"))
    qtbot.addWidget(table)
    for index in range(30):
        table.append_row((f"{index} s", "something"), 20)
    assert (table.rowCount(), table.rows[0][0], table.rows[-1][0]) == (20, "10 s", "29 s")


def test_a_problem_dialog_lists_every_problem(qtbot: QtBot) -> None:
    dialog = ProblemDialog("Preset not loaded", "It cannot be used.", ["a: 0 is outside", "b: unknown"])
    qtbot.addWidget(dialog)
    assert dialog.problems.toPlainText() == "a: 0 is outside\nb: unknown"


def test_a_log_stays_at_its_end_while_hidden_or_resized_and_where_the_reader_left_it(qtbot: QtBot) -> None:
    table = ValueTable(("Time", "What"))
    qtbot.addWidget(table)
    table.resize(300, 200)
    table.show()
    qtbot.waitExposed(table)
    for index in range(40):
        table.append_row((str(index), "x"), 1000)
    bar = table.verticalScrollBar()
    table.hide()
    table.append_row(("hidden", "x"), 1000)
    table.show()
    table.resize(300, 90)
    table.append_row(("shrunk", "x"), 1000)
    qtbot.waitUntil(lambda: bar.maximum() > 0 and bar.value() == bar.maximum())
    bar.setValue(3)
    table.append_row(("read above", "x"), 1000)
    qtbot.wait(50)
    assert bar.value() == 3


def test_a_narrow_label_shows_its_short_text_whole_or_nothing(qtbot: QtBot) -> None:
    label = ElidedLabel(Qt.AlignmentFlag.AlignRight)
    qtbot.addWidget(label)
    label.set_text("N 552 calls", "N 552")
    metrics = label.fontMetrics()
    label.resize(metrics.horizontalAdvance("N 552 calls"), 20)
    assert label.text_shown == "N 552 calls"
    label.resize(metrics.horizontalAdvance("N 552") + 2, 20)
    assert label.text_shown == "N 552"
    label.resize(metrics.horizontalAdvance("N 5"), 20)
    assert label.text_shown == ""  # a part of a number is another number
    assert label.toolTip() == "N 552 calls"


@pytest.mark.parametrize("dark", [False, True])
def test_an_empty_check_box_stands_out_from_the_window_in_both_themes(dark: bool) -> None:
    palette = check_box_palette(dark)
    box, ground = palette.color(QPalette.ColorRole.Base), palette.color(QPalette.ColorRole.Window)
    assert contrast(box, ground) >= 2.0 or not dark  # light has Fusion's outline
    assert contrast(palette.color(QPalette.ColorRole.Text), box) >= 3.0


def test_a_tile_shows_that_it_has_the_focus(qtbot: QtBot) -> None:
    tile = NumberTile("Interval p50")
    qtbot.addWidget(tile)
    tile.setPalette(palette_for(dark=True))
    tile.show()
    qtbot.waitExposed(tile)
    tile.clearFocus()
    without = tile.grab().toImage()
    tile.activateWindow()
    tile.setFocus()
    qtbot.waitUntil(tile.hasFocus)
    assert tile.grab().toImage() != without
