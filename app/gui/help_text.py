"""What F1 says: about the control or number that has the focus, and the list of keys."""

from __future__ import annotations

import html
from collections.abc import Sequence

from PySide6 import __version__ as pyside_version
from PySide6.QtWidgets import QMessageBox, QToolTip, QWidget

from app import __version__
from app.config.options import Option
from widgets.option_text import option_tip


def focus_help(option: Option | None, focused: QWidget | None) -> str:
    """Return the help of an option, else the tool tip of the focused widget or of what it lies in, else a hint."""
    if option is not None:
        return option_tip(option)
    widget = focused
    while widget is not None:
        if widget.toolTip():
            return widget.toolTip()
        widget = widget.parentWidget()
    return "Put the focus on a control or number (Tab), then press F1."


def show_focus_help(window: QWidget, text: str) -> None:
    """Show help beside the focused widget; it goes away with the next key."""
    within: QWidget | None = window.focusWidget()
    focused = window if within is None else within
    place = focused.mapToGlobal(focused.rect().bottomLeft())
    QToolTip.showText(place, text, focused)


def shortcut_table(rows: Sequence[tuple[str, str, str]]) -> str:
    """Return the list of keys as a table (rich text)."""
    lines = "".join(
        f"<tr><td><b>{html.escape(key)}</b>&nbsp;&nbsp;</td><td>{html.escape(text)}&nbsp;&nbsp;</td>"
        f"<td>{html.escape(tip)}</td></tr>"
        for text, key, tip in rows
    )
    return f'<table style="white-space: nowrap">{lines}</table>'


def show_shortcuts(window: QWidget, rows: Sequence[tuple[str, str, str]]) -> None:
    """Show every command with its key."""
    box = QMessageBox(window)
    box.setWindowTitle("Keyboard shortcuts")
    box.setText(shortcut_table(rows))
    box.exec()


def show_about(window: QWidget) -> None:
    """Show version and foundations."""
    QMessageBox.about(
        window,
        "About VeoTuner",
        f"<h3>VeoTuner {__version__}</h3><p>A workbench on which an engineer tunes a live GPU preview.</p>"
        f"<p>Built on PySide6 {pyside_version} (Qt, LGPL), pyqtgraph, numpy, PyAV (FFmpeg) and Vulkan. "
        "Apache License 2.0.</p>",
    )
