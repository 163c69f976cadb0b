"""The main window: where everything is. Composition only; what happens is in the controllers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from PySide6.QtCore import QEvent, QSize, Qt, Signal
from PySide6.QtGui import QAction, QCloseEvent, QKeyEvent, QKeySequence, QUndoStack
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QComboBox,
    QDockWidget,
    QLabel,
    QMainWindow,
    QMenu,
    QSizePolicy,
    QSplitter,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from app.config.options import OPTIONS, Group
from app.gui.action_table import ACTIONS, MENUS, SEPARATOR, TOOLBAR, dress, ink_actions, make_actions
from app.gui.encode_numbers import ENCODE_TITLES
from app.gui.frame_record_text import HEADINGS as RECORD_HEADINGS
from app.gui.graph_table import GRAPHS
from app.gui.live_numbers import TILES
from app.gui.source_box import SourceBox
from app.gui.status_line import StatusLine
from app.gui.stream_dialog import StreamDialog
from widgets.graph_source import GraphSource
from widgets.graph_stack import GraphStack
from widgets.icons import icon
from widgets.number_tile import NumberTile
from widgets.option_panel import OptionPanel
from widgets.preview_host import PreviewHost
from widgets.tile_row import TileRow
from widgets.value_table import ValueTable

NOTICES: Final = {
    Group.CLOCKS: "Edited and saved only. This version applies no clock lock. No GPU offers a supported interface for "
    "memory timings: they are exported for a vendor's own tool.",
}
"""What is said in place about a whole group."""

SHOWN_OPTIONS: Final = tuple(row for row in OPTIONS if row.acts or row.group is Group.CLOCKS)
"""Options that the engine obeys, and those that are edited and saved only; the rest stays in the file untouched."""

CLOSED_AT_FIRST: Final = (Group.GOVERNORS, Group.ENCODER, Group.ALERTS, Group.SCHEDULING)
"""Groups of which a window without a memory shows only the heading: they are off, or rarely touched."""

TOP_MARGINS: Final = (4, 4, 4, 2)
"""Around preview and tiles, in pixels; none in full screen."""

EMPTY_RECORD: Final = "Click a graph to pin a frame; its record appears here."


class MainWindow(QMainWindow):
    """Menus, toolbar, preview, tiles, graphs, docks and status line.

    Signals:
        closing(): the user wants to close; nothing happens unless somebody calls `allow_close`.
    """

    closing = Signal()

    def __init__(self, source: GraphSource, undo_stack: QUndoStack) -> None:
        super().__init__()
        self._may_close = False
        self._run_icon = "run"
        self.actions_by_name = make_actions(self)
        self._add_undo_actions(undo_stack)
        self.host = PreviewHost()
        self.tiles = {spec.id: NumberTile(spec.title) for spec in TILES} | {"lost": NumberTile("Lost")}
        self.tiles |= {name: NumberTile(title) for name, title in ENCODE_TITLES.items()}
        self.source_box = SourceBox()
        self.stream_dialog = StreamDialog(self)
        self.graphs = GraphStack(GRAPHS, source)
        self.panel = OptionPanel(SHOWN_OPTIONS, NOTICES)
        self.panel.close_groups(CLOSED_AT_FIRST)
        self.events = ValueTable(("Time", "Kind", "What happened"))
        self.changes = ValueTable(("Option", "Loaded", "Current"))
        self.record = ValueTable(RECORD_HEADINGS)
        self.status = StatusLine()
        self.menus = {name: QMenu(title, self) for name, title in _SUBMENUS.items()}
        self.preset_button = QToolButton()
        self.top = QVBoxLayout()
        self.tile_row = TileRow(list(self.tiles.values()))
        self.split = QSplitter(Qt.Orientation.Vertical)
        self.toolbar = QToolBar("Toolbar")
        self.docks: dict[str, QDockWidget] = {}
        self._lay_out()
        self._fill_menus()
        self._ink()

    def allow_close(self) -> None:
        """Close for good."""
        self._may_close = True
        self.close()

    def closeEvent(self, event: QCloseEvent) -> None:  # noqa: N802 - Qt's name
        """Ask first: a run may have to end, changes may have to be saved."""
        if self._may_close:
            event.accept()
            return
        event.ignore()
        self.closing.emit()

    def changeEvent(self, event: QEvent) -> None:  # noqa: N802 - Qt's name
        """Follow the palette."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and hasattr(self, "docks"):
            self._ink()

    def event(self, event: QEvent) -> bool:
        """Leave keys that press, choose or search to the control that has the focus, before shortcuts see them."""
        if event.type() is QEvent.Type.ShortcutOverride and isinstance(event, QKeyEvent):
            focused: QWidget | None = self.focusWidget()
            if focused is not None and _belongs(focused, event):
                event.accept()
                return True
        return super().event(event)

    def ink_run(self, *, paused: bool) -> None:
        """Give the run action the icon of what it does next."""
        self._run_icon = "run" if paused else "pause"
        self.actions_by_name["run"].setIcon(icon(self._run_icon, self.palette()))

    def _add_undo_actions(self, stack: QUndoStack) -> None:
        makers = {"undo": stack.createUndoAction, "redo": stack.createRedoAction}
        for text, key, tip in UNDO_KEYS:
            name = text.lower()
            action = makers[name](self)
            action.setShortcut(QKeySequence(key))
            dress(action, key, tip)
            self.addAction(action)
            self.actions_by_name[name] = action

    # --- layout ---

    def _lay_out(self) -> None:
        self.setDockNestingEnabled(True)
        self.setCentralWidget(self._center())
        self._add_dock("controls", "Controls", self.panel, Qt.DockWidgetArea.RightDockWidgetArea)
        for name, title, widget in (
            ("events", "Events", self.events),
            ("changes", "Changes", self.changes),
            ("frame", "Frame", self._record_page()),
        ):
            self._add_dock(name, title, widget, Qt.DockWidgetArea.RightDockWidgetArea)
        self.tabifyDockWidget(self.docks["events"], self.docks["changes"])
        self.tabifyDockWidget(self.docks["events"], self.docks["frame"])
        self.docks["events"].raise_()
        self.resizeDocks([self.docks["controls"], self.docks["events"]], [640, 260], Qt.Orientation.Vertical)
        self.resizeDocks([self.docks["controls"]], [512], Qt.Orientation.Horizontal)
        self._fill_toolbar()
        self.setStatusBar(self.status)

    def _center(self) -> QWidget:
        for name in ENCODE_TITLES:
            self.tiles[name].hide()
        self.graphs.add_to_strip(self.source_box)
        top = QWidget()
        top.setLayout(self.top)
        self.top.setContentsMargins(*TOP_MARGINS)
        self.top.setSpacing(4)
        self.top.addWidget(self.host, 1)
        self.top.addWidget(self.tile_row)
        self.split.addWidget(top)
        self.split.addWidget(self.graphs)
        self.split.setChildrenCollapsible(False)
        self.split.setStretchFactor(0, 5)
        self.split.setStretchFactor(1, 5)
        self.split.setSizes([500, 460])
        return self.split

    def _record_page(self) -> QWidget:
        page = QWidget()
        self.record_hint = QLabel(EMPTY_RECORD)
        self.record_hint.setContentsMargins(8, 6, 8, 6)
        self.record_hint.setWordWrap(True)
        layout = QVBoxLayout(page)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.record_hint)
        layout.addWidget(self.record, 1)
        self.record.hide()
        layout.addStretch(0)
        return page

    def _add_dock(self, name: str, title: str, widget: QWidget, area: Qt.DockWidgetArea) -> None:
        dock = QDockWidget(title)
        dock.setObjectName(name)
        dock.setWidget(widget)
        self.addDockWidget(area, dock)
        self.docks[name] = dock

    def _fill_toolbar(self) -> None:
        self.toolbar.setObjectName("toolbar")
        self.toolbar.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.toolbar.setMovable(False)
        self.toolbar.setIconSize(QSize(18, 18))
        self.addToolBar(self.toolbar)
        for name in TOOLBAR:
            if name == SEPARATOR:
                self.toolbar.addSeparator()
            elif name == "source_menu":
                self.toolbar.addWidget(self._source_button())
            else:
                self.toolbar.addAction(self.actions_by_name[name])
        spacer = QWidget()
        spacer.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.toolbar.addWidget(spacer)
        self.preset_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.preset_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.preset_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.toolbar.addWidget(self.preset_button)

    def _source_button(self) -> QToolButton:
        self.source_button = QToolButton()
        self.source_button.setText("Source")
        self.source_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.source_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.source_button.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.source_button.setToolTip("What is played: a file, a synthetic source, the sample, or a recent one.")
        return self.source_button

    def _fill_menus(self) -> None:
        for title, names in MENUS:
            menu = self.menuBar().addMenu(title)
            self._fill(menu, names)
            if "preset_open" in names:
                self.preset_button.setMenu(menu)
            if "open_file" in names:
                self.source_button.setMenu(menu)
        for dock in self.docks.values():
            self.menus["docks"].addAction(dock.toggleViewAction())
        self.menus["docks"].addSeparator()
        for toggle_id, toggle in self.graphs.toggles.items():
            action = QAction(f"Graph: {toggle.text()}", self, checkable=True, checked=True)
            action.triggered.connect(lambda shown, name=toggle_id: self.graphs.set_graph_visible(name, shown))
            toggle.toggled.connect(action.setChecked)
            self.menus["docks"].addAction(action)

    def _fill(self, menu: QMenu, names: Sequence[str]) -> None:
        for name in names:
            if name == SEPARATOR:
                menu.addSeparator()
            elif name in self.menus:
                menu.addMenu(self.menus[name])
            else:
                menu.addAction(self.actions_by_name[name])

    def _ink(self) -> None:
        ink_actions(self.actions_by_name, self)
        self.ink_run(paused=self._run_icon == "run")
        for name in ("undo", "redo"):
            self.actions_by_name[name].setIcon(icon(name, self.palette()))
            self.actions_by_name[name].setIconText(name.capitalize())
        self.preset_button.setIcon(icon("preset", self.palette()))
        self.source_button.setIcon(icon("source", self.palette()))
        self.setWindowIcon(icon("veotuner", self.palette()))


_SUBMENUS: Final = {
    "recent_sources": "&Recent",
    "recent_presets": "Re&cent",
    "shipped_presets": "S&hipped presets",
    "theme": "&Theme",
    "docks": "&Panels and graphs",
}

UNDO_KEYS: Final = (
    ("Undo", "Ctrl+Z", "Undo the last edit or preset load."),
    ("Redo", "Ctrl+Y", "Redo the last edit or preset load."),
)
"""Text, key and tip of the two actions that the undo stack makes."""

SHORTCUT_LIST: Final = (
    *((spec.text.replace("&", ""), spec.shortcut, spec.tip) for spec in ACTIONS if spec.shortcut),
    *UNDO_KEYS,
)
"""Text, key and tip of every command that has a key."""


def _belongs(focused: QWidget, event: QKeyEvent) -> bool:
    """Tell whether a plain key is for the focused control: Space presses a button, letters search in a list."""
    if event.modifiers() not in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.ShiftModifier):
        return False
    if isinstance(focused, QAbstractButton):
        return event.key() == Qt.Key.Key_Space
    if isinstance(focused, (QComboBox, QAbstractItemView)):
        return event.key() == Qt.Key.Key_Space or bool(event.text().strip())
    return False
