"""The preview stream: switched on and off, its address, and whom it serves."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from app.gui.stream_text import StreamFacts, stream_rows

_INTRO = (
    "Other programs on this machine can watch small pictures of the first source over a WebSocket. Each needs the "
    "token, which is made anew for every run; it is copied to the clipboard and shown nowhere."
)
_OFF = "not served: switch it on"
_NO_RUN = "not served: nothing runs"
_STARTING = "the server is starting…"


class StreamDialog(QDialog):
    """Stays open beside the window; `show_facts` writes what holds now.

    Signals:
        toggled(on): the person switched the stream on or off.
    """

    toggled = Signal(bool)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle("Preview stream")
        self.switch = QCheckBox("&Serve the preview stream (enable_preview)")
        self.address = QLineEdit()
        self.copy_address = QPushButton("&Copy address")
        self.copy_source = QPushButton("Copy address with &token")
        self.counts = {name: QLabel("—") for name, _ in stream_rows(StreamFacts(""))}
        self._source_text = ""
        self._lay_out()
        self.switch.toggled.connect(self.toggled)
        self.copy_address.clicked.connect(lambda: _copy(self.address.text()))
        self.copy_source.clicked.connect(lambda: _copy(self._source_text))

    def show_facts(self, facts: StreamFacts | None, source_text: str, *, wanted: bool) -> None:
        """Show what holds now.

        Args:
            facts: None while nothing runs. source_text: address and token as another VeoTuner takes them.
            wanted: the configuration asks for the stream.
        """
        self.switch.blockSignals(True)
        self.switch.setChecked(wanted)
        self.switch.blockSignals(False)
        url = facts.url if facts is not None and wanted else ""
        missing = _OFF if not wanted else (_NO_RUN if facts is None else _STARTING)
        self._source_text = source_text if url else ""
        if self.address.text() != (url or missing):
            self.address.setText(url or missing)
        self.address.setEnabled(bool(url))
        self.copy_address.setEnabled(bool(url))
        self.copy_source.setEnabled(bool(self._source_text))
        for name, text in stream_rows(facts if facts is not None and url else StreamFacts("")):
            self.counts[name].setText(text)

    def _lay_out(self) -> None:
        intro = QLabel(_INTRO)
        intro.setWordWrap(True)
        self.address.setReadOnly(True)
        self.address.setAccessibleName("Address of the preview stream")
        self.copy_source.setToolTip(
            "Copies the source text (preview+ws://…#token=…) that Source ▸ Open address… and veotuner run take."
        )
        copies = QHBoxLayout()
        for button in (self.copy_address, self.copy_source):
            button.setAutoDefault(False)
            copies.addWidget(button)
        copies.addStretch(1)
        form = QFormLayout()
        form.addRow("Address", self.address)
        form.addRow("", copies)
        for name, label in self.counts.items():
            label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            form.addRow(name, label)
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        layout = QVBoxLayout(self)
        layout.addWidget(intro)
        layout.addWidget(self.switch)
        layout.addLayout(form)
        layout.addStretch(1)
        layout.addWidget(close)
        self.resize(560, 340)


def _copy(text: str) -> None:
    QGuiApplication.clipboard().setText(text)
