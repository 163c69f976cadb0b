"""The moving test picture of the synthetic source and of the sample video: colour bars, a scrolling texture, a sweeping
line and the frame number as a bar code.

Planes are 8-bit 4:2:0 Y′CbCr, BT.709, limited range. Everything is painted once; a frame costs only the bar code, the
scrolled band and the line, so that the instrument does not use up what it measures.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from app.core.bar_code import BarCodePainter

BLACK_LEVEL: Final = 16
WHITE_LEVEL: Final = 235
NEUTRAL_CHROMA: Final = 128

_BARS_RGB: Final = np.array(
    [[1, 1, 1], [1, 1, 0], [0, 1, 1], [0, 1, 0], [1, 0, 1], [1, 0, 0], [0, 0, 1], [0, 0, 0]], np.float64
)
"""White, yellow, cyan, green, magenta, red, blue, black, painted at 75 %."""

_KR_709: Final = 0.2126
_KB_709: Final = 0.0722

_LINE_WIDTH_RATIO: Final = 1 / 40
_LINE_SWEEP_FRAMES: Final = 120
_SCROLL_FRAMES: Final = 240
_TEXTURE_SEED: Final = 709
_TEXTURE_ROWS: Final = 256

Plane8 = npt.NDArray[np.uint8]


class Canvas:
    """A luma plane that a `MovingPattern` painted before, and where its line stands.

    Attributes:
        luma: shape (height, width), uint8, contiguous.
    """

    __slots__ = ("line_x", "luma")

    def __init__(self, luma: Plane8) -> None:
        self.luma = luma
        self.line_x = 0


class MovingPattern:
    """Paints frames of one size.

    Attributes:
        width, height: size in pixels; odd sizes and 1 × 1 are allowed.
        has_bar_code: False when the picture is too small for one.
        chroma: the Cb and Cr planes, the same for every frame and read-only; neutral under the bar code.
    """

    def __init__(self, width: int, height: int) -> None:
        self.width = width
        self.height = height
        self._bar_code = BarCodePainter(width, height, BLACK_LEVEL, WHITE_LEVEL)
        self.has_bar_code = self._bar_code.rows > 0
        self._top = self._bar_code.rows
        self._band_top = self._top + (height - self._top) * 2 // 3
        luma, cb, cr = _colour_bars(width)
        self._background = np.empty((height, width), np.uint8)
        self._background[:] = luma
        self._texture = _texture(height - self._band_top, width)
        self.chroma = (self._chroma_plane(cb), self._chroma_plane(cr))
        self._line_width = max(1, round(width * _LINE_WIDTH_RATIO))
        self._line_travel = max(1, width - self._line_width + 1)

    def new_canvas(self) -> Canvas:
        """Return a freshly allocated canvas for `paint`."""
        return Canvas(self._background.copy())

    def paint(self, canvas: Canvas, number: int) -> None:
        """Turn `canvas`, whatever frame it held, into frame `number`."""
        luma, top, band_top, line_width = canvas.luma, self._top, self._band_top, self._line_width
        old_x, new_x = canvas.line_x, self._line_x(number)
        luma[top:band_top, old_x : old_x + line_width] = self._background[top:band_top, old_x : old_x + line_width]
        scroll = number % _SCROLL_FRAMES * self.width // _SCROLL_FRAMES
        luma[band_top:] = self._texture[:, scroll : scroll + self.width]
        luma[top:, new_x : new_x + line_width] = WHITE_LEVEL
        canvas.line_x = new_x
        self._bar_code.draw(luma, number)

    def _line_x(self, number: int) -> int:
        return number % _LINE_SWEEP_FRAMES * self._line_travel // _LINE_SWEEP_FRAMES

    def _chroma_plane(self, row: Plane8) -> Plane8:
        """Return a chroma plane: bars in the middle, neutral under the bar code and in the textured band."""
        plane = np.empty((-(-self.height // 2), -(-self.width // 2)), np.uint8)
        plane[:] = row[::2]
        plane[: -(-self._top // 2)] = NEUTRAL_CHROMA
        plane[self._band_top // 2 :] = NEUTRAL_CHROMA
        plane.flags.writeable = False
        return plane


def _colour_bars(width: int) -> tuple[Plane8, Plane8, Plane8]:
    """Return one row each of Y′, Cb, Cr of 75 % colour bars (ITU-T H.273 equations 38–40, 8 bits, limited range)."""
    rgb = 0.75 * _BARS_RGB[np.arange(width) * len(_BARS_RGB) // width]
    red, green, blue = rgb.T
    luma = _KR_709 * red + (1 - _KR_709 - _KB_709) * green + _KB_709 * blue
    cb = (blue - luma) / (2 * (1 - _KB_709))
    cr = (red - luma) / (2 * (1 - _KR_709))
    scaled = (16 + 219 * luma, 128 + 224 * cb, 128 + 224 * cr)
    luma_row, cb_row, cr_row = (np.rint(component).astype(np.uint8) for component in scaled)
    return luma_row, cb_row, cr_row


def _texture(height: int, width: int) -> Plane8:
    """Return a grey texture twice as wide as the picture that repeats after `width` columns: detail for an encoder."""
    rows = min(height, _TEXTURE_ROWS)
    noise = np.random.default_rng(_TEXTURE_SEED).standard_normal((rows, width), np.float32)
    smooth = (noise + np.roll(noise, 1, axis=1) + np.roll(noise, 2, axis=1)) / 3
    ramp = 126 + 60 * np.sin(np.arange(width, dtype=np.float32) * (2 * np.pi * 4 / width))
    tile = np.clip(np.rint(ramp + 18 * smooth), BLACK_LEVEL, WHITE_LEVEL).astype(np.uint8)
    repeated = tile[np.arange(height) % max(rows, 1)]
    return np.concatenate([repeated, repeated], axis=1)
