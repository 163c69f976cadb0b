"""Light and dark: two palettes of our own, so that the window looks the same on every platform."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QGuiApplication, QPalette


class ThemeChoice(StrEnum):
    """What the user chose."""

    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


# Colours of each role, light then dark.
_ROLES: Final = {
    QPalette.ColorRole.Window: ("#f3f4f6", "#23262b"),
    QPalette.ColorRole.WindowText: ("#1b1e23", "#e4e6ea"),
    QPalette.ColorRole.Base: ("#ffffff", "#191b1f"),
    QPalette.ColorRole.AlternateBase: ("#f3f4f6", "#202328"),
    QPalette.ColorRole.Text: ("#1b1e23", "#e4e6ea"),
    QPalette.ColorRole.Button: ("#e9ebee", "#2d3138"),
    QPalette.ColorRole.ButtonText: ("#1b1e23", "#e4e6ea"),
    QPalette.ColorRole.BrightText: ("#ffffff", "#ffffff"),
    QPalette.ColorRole.Highlight: ("#0b64a0", "#2874a6"),
    QPalette.ColorRole.HighlightedText: ("#ffffff", "#ffffff"),
    QPalette.ColorRole.ToolTipBase: ("#ffffff", "#2d3138"),
    QPalette.ColorRole.ToolTipText: ("#1b1e23", "#e4e6ea"),
    QPalette.ColorRole.PlaceholderText: ("#6b7280", "#9aa0aa"),
    QPalette.ColorRole.Link: ("#0b64a0", "#6cb6e6"),
    QPalette.ColorRole.Light: ("#ffffff", "#3a3f47"),
    QPalette.ColorRole.Midlight: ("#eceef1", "#343940"),
    QPalette.ColorRole.Mid: ("#c3c8cf", "#4a5059"),
    QPalette.ColorRole.Dark: ("#a3a9b2", "#15171a"),
    QPalette.ColorRole.Shadow: ("#70757d", "#000000"),
}
_DISABLED_TEXT: Final = ("#8a9099", "#747b86")
_TEXT_ROLES: Final = (QPalette.ColorRole.WindowText, QPalette.ColorRole.Text, QPalette.ColorRole.ButtonText)

_CHECK_BOX_DARK: Final = "#5b626d"

WARNING_COLOURS: Final = ("#9a4a00", "#e8a35c")
"""Text of warnings, light and dark; never the only cue."""


def is_dark(choice: ThemeChoice) -> bool:
    """Tell whether a choice means dark now; a system without a preference counts as light."""
    if choice is ThemeChoice.SYSTEM:
        return QGuiApplication.styleHints().colorScheme() is Qt.ColorScheme.Dark
    return choice is ThemeChoice.DARK


def palette_for(dark: bool) -> QPalette:
    """Return the light or the dark palette."""
    palette = QPalette()
    for role, colours in _ROLES.items():
        palette.setColor(role, QColor(colours[dark]))
    for role in _TEXT_ROLES:
        palette.setColor(QPalette.ColorGroup.Disabled, role, QColor(_DISABLED_TEXT[dark]))
    return palette


def check_box_palette(dark: bool) -> QPalette:
    """Return the palette of check boxes: Fusion outlines them darker than the window, which dark hides."""
    palette = palette_for(dark)
    if dark:
        palette.setColor(QPalette.ColorRole.Base, QColor(_CHECK_BOX_DARK))
    return palette


def palette_is_dark(palette: QPalette) -> bool:
    """Tell whether a palette writes light on dark."""
    return palette.color(QPalette.ColorRole.Base).lightness() < 128


def warning_colour(palette: QPalette) -> str:
    """Return the colour of warning text on this palette, `#rrggbb`."""
    return WARNING_COLOURS[palette_is_dark(palette)]


def muted_colour(palette: QPalette) -> str:
    """Return the colour of secondary text on this palette, `#rrggbb`."""
    return palette.color(QPalette.ColorRole.PlaceholderText).name()
