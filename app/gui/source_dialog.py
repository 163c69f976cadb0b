"""Asks for a synthetic source and writes it as the source text of the command line."""

from __future__ import annotations

from typing import Final

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QDoubleSpinBox, QFormLayout, QLabel, QSpinBox, QWidget

from app.config.source_text import SyntheticSpec, parse_source, source_text
from app.core.errors import InvalidInputError

_START: Final = SyntheticSpec(1280, 720, 60.0, seed=1)
"""What the form shows at first."""


class SyntheticDialog(QDialog):
    """A form whose result is a source text; the text is shown as it grows, to be used on the command line too."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Synthetic source")
        self.width_box = _whole(16, 8192, _START.width, "px")
        self.height_box = _whole(16, 8192, _START.height, "px")
        self.rate_box = _number(0, 1000, _START.rate_hz, "fps")
        self.rate_box.setSpecialValueText("free running")
        self.decode_mean_box = _number(0, 1000, 0, "ms")
        self.decode_sd_box = _number(0, 1000, 0, "ms")
        self.arrival_box = _number(0, 1000, 0, "ms")
        self.stall_share_box = _number(0, 100, 0, "% of frames")
        self.stall_box = _number(0, 10000, 0, "ms")
        self.seed_box = _whole(0, 2**31 - 1, _START.seed, "")
        self.text_label = QLabel()
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel)
        self._lay_out()
        for box in self.findChildren(QSpinBox) + self.findChildren(QDoubleSpinBox):
            box.valueChanged.connect(self._show_text)
        self.buttons.accepted.connect(self.accept)
        self.buttons.rejected.connect(self.reject)
        self._show_text()

    def source_text(self) -> str:
        """Return the source text of the fields; what equals its default is left out."""
        return source_text(self._spec())

    def _spec(self) -> SyntheticSpec:
        stalls = self.stall_share_box.value() > 0 and self.stall_box.value() > 0
        return SyntheticSpec(
            width=self.width_box.value(),
            height=self.height_box.value(),
            rate_hz=self.rate_box.value(),
            decode_mean_ms=self.decode_mean_box.value(),
            decode_sd_ms=self.decode_sd_box.value(),
            arrival_jitter_ms=self.arrival_box.value(),
            # The share has two decimals of a percent: what division adds behind them is no part of it.
            stall_probability=round(self.stall_share_box.value() / 100, 4) if stalls else 0.0,
            stall_ms=self.stall_box.value() if stalls else 0.0,
            seed=self.seed_box.value(),
        )

    def _show_text(self) -> None:
        text = self.source_text()
        ok = self.buttons.button(QDialogButtonBox.StandardButton.Ok)
        try:
            parse_source(text)
        except InvalidInputError as error:
            self.text_label.setText(str(error))
            ok.setEnabled(False)
            return
        self.text_label.setText(text)
        ok.setEnabled(True)

    def _lay_out(self) -> None:
        form = QFormLayout(self)
        rows = (
            ("&Width", self.width_box, "Picture width."),
            ("&Height", self.height_box, "Picture height."),
            ("&Rate", self.rate_box, "Frames a second; 0 runs as fast as the sink accepts frames."),
            ("&Decode time, mean", self.decode_mean_box, "Simulated time to decode a frame."),
            ("Decode time, s&d", self.decode_sd_box, "Its standard deviation."),
            ("&Arrival jitter, sd", self.arrival_box, "Standard deviation of the delivery of frames."),
            ("S&talls", self.stall_share_box, "Share of frames whose delivery pauses."),
            ("Stall &length", self.stall_box, "Length of a pause; what fell due meanwhile arrives together."),
            ("S&eed", self.seed_box, "The same seed gives the same run."),
        )
        for label, box, tip in rows:
            box.setToolTip(tip)
            form.addRow(label, box)
        self.text_label.setWordWrap(True)
        form.addRow("Source", self.text_label)
        form.addRow(self.buttons)


def _whole(low: int, high: int, value: int, unit: str) -> QSpinBox:
    box = QSpinBox()
    box.setRange(low, high)
    box.setValue(value)
    box.setSuffix(f" {unit}" if unit else "")
    return box


def _number(low: float, high: float, value: float, unit: str) -> QDoubleSpinBox:
    box = QDoubleSpinBox()
    box.setDecimals(2)
    box.setRange(low, high)
    box.setValue(value)
    box.setSuffix(f" {unit}")
    return box
