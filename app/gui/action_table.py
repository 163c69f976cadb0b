"""Every command of the window: text, shortcut, icon and what it does. Menus and toolbar are made from this."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from widgets.icons import icon


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """One command.

    Attributes:
        name: stable name. text: with its mnemonic. shortcut: "" for none. icon: file in assets/icons, "" for none.
        tip: what it does, a sentence. checkable: has an on and an off.
    """

    name: str
    text: str
    shortcut: str
    icon: str
    tip: str
    checkable: bool = False


SEPARATOR: Final = "-"

ACTIONS: Final = (
    ActionSpec("open_file", "Open &file…", "Ctrl+L", "source", "Play a video file that FFmpeg can read."),
    ActionSpec("open_synthetic", "S&ynthetic…", "Ctrl+N", "", "Make a test source with the load you choose."),
    ActionSpec("open_address", "Open &address…", "Ctrl+U", "", "Play a stream of the network or a camera."),
    ActionSpec(
        "sources", "So&urces…", "Ctrl+Shift+L", "source", "Show up to nine sources in a grid: add, remove, move them."
    ),
    ActionSpec("next_source", "&Next source", "N", "", "Show the numbers and graphs of the next source of the grid."),
    ActionSpec("open_sample", "&Sample", "Ctrl+E", "", "Play the ten-second sample; it is made at the first time."),
    ActionSpec("run", "&Run", "Space", "run", "Run the source, pause, or go on. A pause ends a segment."),
    ActionSpec("stop", "S&top", "Ctrl+.", "stop", "End the run; its recording is made final."),
    ActionSpec("restart", "Restart &engine", "Ctrl+R", "restart", "Start a new engine with the present options."),
    ActionSpec(
        "record", "Re&cord", "R", "record", "Record runs to a folder. A run in progress starts anew.", checkable=True
    ),
    ActionSpec(
        "encode",
        "&Encode to…",
        "Ctrl+Shift+E",
        "",
        "Encode the first source to a file; a run in progress starts anew.",
        checkable=True,
    ),
    ActionSpec(
        "stream", "Preview st&ream…", "Ctrl+T", "", "Serve thumbnails to other programs: address, clients, counts."
    ),
    ActionSpec("open_run", "Open run &folder", "Ctrl+Shift+F", "folder", "Show the folder of the recording."),
    ActionSpec("capture_window", "&Screenshot", "S", "screenshot", "Save a picture of the window, preview included."),
    ActionSpec(
        "capture_frame", "Screenshot of the &frame", "Shift+S", "", "Save the frame on the screen as the engine has it."
    ),
    ActionSpec("report", "Export re&port…", "Ctrl+P", "report", "Write a report of the run so far (HTML, one file)."),
    ActionSpec("preset_open", "&Open…", "Ctrl+O", "open", "Load options from a VeoConfig.json."),
    ActionSpec("preset_save", "&Save", "Ctrl+S", "save", "Save the options to the loaded file; keeps the old as .bak."),
    ActionSpec("preset_save_as", "Save &as…", "Ctrl+Shift+S", "", "Save the options to another file."),
    ActionSpec("preset_revert", "&Revert", "Ctrl+Shift+R", "reset", "Take back every change since load or save."),
    ActionSpec("follow", "&Follow the newest", "End", "follow", "Keep the newest data in view.", checkable=True),
    ActionSpec("step_back", "Earlier", "Ctrl+Left", "", "Move the graphs a quarter of their width to the past."),
    ActionSpec("step_forward", "Later", "Ctrl+Right", "", "Move the graphs a quarter of their width onward."),
    ActionSpec("zoom_in", "Zoom in", "Ctrl++", "", "Show half the time."),
    ActionSpec("zoom_out", "Zoom out", "Ctrl+-", "", "Show twice the time."),
    ActionSpec(
        "pin", "&Pin the newest frame", "P", "", "Pin the frame at the right edge of the graphs; show its record."
    ),
    ActionSpec("fullscreen", "F&ull-screen preview", "F", "fullscreen", "Only the preview; Esc back.", checkable=True),
    ActionSpec("detach", "&Detach preview", "D", "detach", "Preview in a window of its own.", checkable=True),
    ActionSpec("leave", "Back", "Esc", "", "Leave full screen; else end typing; else take the pin away."),
    ActionSpec("search", "Search &options", "Ctrl+F", "", "Go to the search of the options."),
    ActionSpec("help", "&What is this?", "F1", "help", "Explain the control or number that has the focus."),
    ActionSpec("shortcuts", "&Keyboard shortcuts", "Ctrl+F1", "", "List every command with its key."),
    ActionSpec("about", "&About VeoTuner", "", "veotuner", "Version and what it is built on."),
    ActionSpec("quit", "&Quit", "Ctrl+Q", "", "End the run and close the window."),
)

MENUS: Final = (
    ("&Source", ("open_file", "open_synthetic", "open_address", "open_sample", "recent_sources", SEPARATOR, "sources",
         SEPARATOR, "quit")),
    (
        "&Run",
        ("run", "stop", "restart", SEPARATOR, "record", "encode", "stream", "open_run", SEPARATOR, "capture_window",
         "capture_frame", "report"),
    ),
    (
        "&Preset",
        ("preset_open", "preset_save", "preset_save_as", "preset_revert", SEPARATOR, "recent_presets",
         "shipped_presets", SEPARATOR, "undo", "redo"),
    ),
    (
        "&View",
        ("fullscreen", "detach", SEPARATOR, "follow", "step_back", "step_forward", "zoom_in", "zoom_out", "pin",
         "next_source", SEPARATOR, "search", "theme", "docks", SEPARATOR, "leave"),
    ),
    ("&Help", ("help", "shortcuts", "about")),
)  # fmt: skip
"""Menus by title. Names that are no action are submenus or actions that the window makes itself."""

TOOLBAR: Final = ("source_menu", SEPARATOR, "run", "stop", "record", SEPARATOR, "capture_window", "report", SEPARATOR,
                  "undo", "redo", SEPARATOR, "fullscreen", "detach")  # fmt: skip


def make_actions(owner: QWidget) -> dict[str, QAction]:
    """Return an action for each row, working wherever the focus is in the window of `owner`."""
    actions = {spec.name: _make(spec, owner) for spec in ACTIONS}
    owner.addActions(list(actions.values()))
    return actions


def dress(action: QAction, shortcut: str, tip: str) -> None:
    """Give an action its tool tip, with the shortcut in words."""
    keys = QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText)
    action.setToolTip(f"{tip} ({keys})" if keys else tip)
    action.setStatusTip(tip)


def ink_actions(actions: dict[str, QAction], owner: QWidget) -> None:
    """Draw the icons in the colours of the owner's palette."""
    for spec in ACTIONS:
        if spec.icon:
            actions[spec.name].setIcon(icon(spec.icon, owner.palette()))


def _make(spec: ActionSpec, owner: QWidget) -> QAction:
    action = QAction(spec.text, owner)
    action.setShortcut(QKeySequence(spec.shortcut))
    action.setCheckable(spec.checkable)
    action.setObjectName(spec.name)
    dress(action, spec.shortcut, spec.tip)
    return action
