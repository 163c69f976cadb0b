"""Icons: our own SVG line drawings, inked with the palette's text colour."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer

from app.config.presets import data_folder

_INK: Final = b"currentColor"
_SIZES_PX: Final = (16, 20, 24, 32, 48)


def icon_folder() -> Path:
    """Return the folder of the SVG files.

    Raises:
        FileNotFoundError: this installation lacks it.
    """
    return data_folder("assets") / "icons"


def icon(name: str, palette: QPalette) -> QIcon:
    """Return an icon in the text colour of a palette, with its disabled look.

    Args:
        name: file name in `assets/icons` without `.svg`.
        palette: whose button text inks it.
    """
    data = (icon_folder() / f"{name}.svg").read_bytes()
    result = QIcon()
    for mode, group in (
        (QIcon.Mode.Normal, QPalette.ColorGroup.Active),
        (QIcon.Mode.Disabled, QPalette.ColorGroup.Disabled),
    ):
        ink = palette.color(group, QPalette.ColorRole.ButtonText).name().encode()
        renderer = QSvgRenderer(QByteArray(data.replace(_INK, ink)))
        for size in _SIZES_PX:
            result.addPixmap(_drawn(renderer, size), mode)
    return result


def _drawn(renderer: QSvgRenderer, size_px: int) -> QPixmap:
    pixmap = QPixmap(size_px, size_px)
    pixmap.fill(Qt.GlobalColor.transparent)
    painter = QPainter(pixmap)
    renderer.render(painter, QRectF(0, 0, size_px, size_px))
    painter.end()
    return pixmap
