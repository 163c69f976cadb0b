"""The line at the bottom: what is measured on, and what measuring costs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QLabel, QStatusBar

from app.gui.encoder_status import EncoderFacts, encoder_item
from app.gui.status_item import StatusItem
from app.gui.stream_text import StreamFacts, stream_item
from app.ipc.messages import EngineStatus, SinkInfo, SourceInfo
from app.telemetry.sampler import SamplerCost
from widgets.theme import warning_colour


@dataclass(frozen=True, slots=True)
class StatusFacts:
    """What the line is made of; None or NaN where there is nothing yet.

    Attributes:
        screen_refresh_hz: nominal refresh rate of the preview's screen as Qt reports it, in Hz.
        sources: what is played, in order; empty when nothing runs.
        encoder: the encode branch; None without one. stream: the preview stream; None when it is not served.
    """

    sink: SinkInfo | None = None
    screen_refresh_hz: float = math.nan
    is_paused: bool = False
    status: EngineStatus | None = None
    gui_cpu_ratio: float = math.nan
    redraw_interval_s: float = math.nan
    sampler: SamplerCost | None = None
    recorded_s: float | None = None
    gpu_is_simulated: bool = False
    lapped: int = 0
    sources: tuple[SourceInfo, ...] = ()
    encoder: EncoderFacts | None = None
    stream: StreamFacts | None = None


def status_items(facts: StatusFacts) -> list[StatusItem]:
    """Return the entries, in order."""
    paused = [StatusItem("paused", "❚❚ paused: Space goes on", "The segment has ended; going on begins another.", True)]
    return [
        *(paused if facts.is_paused else []),
        *_sink_items(facts),
        *_source_items(facts.sources),
        *([encoder_item(facts.encoder)] if facts.encoder else []),
        *([stream_item(facts.stream)] if facts.stream else []),
        *_cost_items(facts),
        *_flag_items(facts),
    ]


def _sink_items(facts: StatusFacts) -> list[StatusItem]:
    sink = facts.sink
    if sink is None:
        return [StatusItem("sink", "no engine", "Nothing runs; a source starts the engine.")]
    size = f"{sink.width}×{sink.height}"
    return [
        _refresh_item(sink, facts.screen_refresh_hz),
        StatusItem(
            "sink",
            f"{sink.kind.upper()} {size}",
            f"Sink and size of its images in pixels. {sink.device}",
            short=sink.kind.upper(),
        ),
        _display_time_item(sink, facts.status),
        StatusItem("images", f"{sink.image_count} images", "Images that the swapchain really has."),
    ]


def _display_time_item(sink: SinkInfo, status: EngineStatus | None) -> StatusItem:
    quality = sink.display_time_quality
    means = f" ({quality}: {_QUALITIES[quality]})" if quality else ""
    short = f"{sink.display_time_source} ({quality})" if quality else sink.display_time_source
    tip = "Where display times come from; exact and display see the display itself, the rest are lower bounds."
    text = f"display time: {sink.display_time_source}{means}"
    return StatusItem("display_time", text, f"{tip}{_clock_text(status)}", short=short)


def _clock_text(status: EngineStatus | None) -> str:
    """Return how well GPU stamps are fitted to the CPU's clock, "" without a calibration."""
    if status is None or status.gpu_clock_residual_ns is None or status.gpu_clock_drift_ppm is None:
        return ""
    return (
        f"\nGPU clock against CLOCK_MONOTONIC: drift {status.gpu_clock_drift_ppm:+.2f} ppm, residual "
        f"{status.gpu_clock_residual_ns / 1e3:.1f} µs (median distance of the pairs from the fitted line)."
    )


def _source_items(sources: tuple[SourceInfo, ...]) -> list[StatusItem]:
    if not sources:
        return []
    rates = " · ".join(rate_text(source) for source in sources)
    count = f"{len(sources)} sources" if len(sources) > 1 else "source"
    lines = "\n".join(f"{index}: {source.description}" for index, source in enumerate(sources, 1))
    return [StatusItem("sources", f"{count}: {rates} fps", f"Nominal frame rates.\n{lines}", short=f"{rates} fps")]


def rate_text(source: SourceInfo) -> str:
    """Return the nominal rate of a source as a number, or that it has none."""
    if source.free_running:
        return "free"
    return f"{source.rate_hz:.5g}" if source.rate_hz else "unknown"


def _refresh_item(sink: SinkInfo, screen_hz: float) -> StatusItem:
    if sink.refresh_hz:
        where = f" ({sink.refresh_source})" if sink.refresh_source else ""
        tip, short = "Refresh rate of the display as the sink knows it, in Hz.", f"{sink.refresh_hz:.2f} Hz"
        return StatusItem("refresh", f"{short}{where}", tip, short=short)
    if screen_hz > 0:  # false for NaN
        tip = (
            "The driver does not tell the sink the refresh rate. This is the screen's nominal one as Qt reports it (60 "
            "where the X server names none); nothing is scheduled or measured by it."
        )
        return StatusItem("refresh", f"screen {screen_hz:.1f} Hz (nominal)", tip, short=f"{screen_hz:.1f} Hz nominal")
    return StatusItem("refresh", "refresh unknown", "Neither the sink nor the window system tells a refresh rate.")


def _cost_items(facts: StatusFacts) -> list[StatusItem]:
    engine = facts.status.cpu_ratio if facts.status else math.nan
    telemetry = facts.sampler.cpu_ratio if facts.sampler else math.nan
    interval_ms = facts.redraw_interval_s * 1e3
    redraw = "" if math.isnan(interval_ms) else f" Graphs redraw every {interval_ms:.0f} ms."
    worst = (
        f" {facts.sampler.calls} calls, the slowest {facts.sampler.worst_us:.0f} µs ({facts.sampler.worst_call})."
        if facts.sampler and facts.sampler.calls
        else ""
    )
    return [
        StatusItem("engine", f"engine {_percent(engine)}", "CPU time of the engine ÷ wall time; 100 % is a core."),
        StatusItem(
            "gui",
            f"GUI {_percent(facts.gui_cpu_ratio)}",
            f"CPU time of this window's process ÷ wall time; 100 % = a core.{redraw}",
        ),
        StatusItem("telemetry", f"telemetry {_percent(telemetry)}", f"CPU time of the sampler's thread.{worst}"),
    ]


def _flag_items(facts: StatusFacts) -> list[StatusItem]:
    items = []
    sink = facts.sink
    if sink is not None and sink.device_is_software:
        items.append(
            StatusItem(
                "software",
                "software Vulkan",
                f"{sink.device} runs on the CPU: GPU times are CPU times.",
                True,
                "software",
            )
        )
    if sink is not None and sink.paces_fifo is False:
        text = "FIFO does not pace on this driver"
        tip = "FIFO was granted, but presents were seen to return faster than the display refreshes."
        items.append(StatusItem("pacing", text, tip, True, "FIFO unpaced"))
    if facts.gpu_is_simulated:
        items.append(
            StatusItem("simulated", "GPU telemetry SIMULATED", "Temperature and clocks are made up.", True, "SIMULATED")
        )
    if facts.lapped:
        tip = "Frame records that the graphs missed because the ring was written faster than they read it."
        items.append(StatusItem("lapped", f"{facts.lapped} records missed", tip, True))
    if facts.recorded_s is not None:
        minutes, seconds = divmod(int(facts.recorded_s), 60)
        items.append(StatusItem("rec", f"● REC {minutes:02d}:{seconds:02d}", "The run is recorded; since its start."))
    return items


def _percent(ratio: float) -> str:
    return "—" if math.isnan(ratio) else f"{ratio * 100:.{0 if ratio >= 0.1 else 1}f} %"


_ORDER: Final = (
    "paused", "refresh", "sink", "display_time", "images", "sources", "encoder", "stream", "engine", "gui", "telemetry",
    "software", "pacing", "simulated", "lapped", "rec",
)  # fmt: skip


_QUALITIES: Final = {
    "exact": "the display says when",
    "display": "on the display side",
    "bound": "before the light",
    "none": "no stamp",
}
"""What each quality of a display time means, see `DisplayTimeSource.quality`."""

_BETWEEN: Final = "·  "
_ITEM_GAP_PX: Final = 6
_MARGIN_PX: Final = 12
_LEAST_WIDTH_PX: Final = 24
_MESSAGE_SHARE: Final = 0.6
_WORDS: Final = frozenset({"refresh", "display_time", "sources", "encoder", "software", "pacing", "simulated"})


class StatusLabel(QLabel):
    """One entry; where the window is narrow, words end in an ellipsis instead of keeping it wide; numbers never do."""

    def __init__(self, *, shrinks: bool) -> None:
        super().__init__()
        self._shrinks = shrinks

    def minimumSizeHint(self) -> QSize:  # noqa: N802 - Qt's name
        """Room for a few letters, or for all."""
        whole = super().minimumSizeHint()
        return QSize(min(_LEAST_WIDTH_PX, whole.width()), whole.height()) if self._shrinks else whole

    def paintEvent(self, _event: QPaintEvent) -> None:  # noqa: N802 - Qt's name
        """Draw what fits."""
        painter = QPainter(self)
        painter.setPen(self.palette().color(self.foregroundRole()))
        text = self.fontMetrics().elidedText(self.text(), Qt.TextElideMode.ElideRight, self.width())
        painter.drawText(self.rect(), int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter), text)


class StatusLine(QStatusBar):
    """Shows the entries as permanent labels; short messages appear to their left and go away."""

    def __init__(self) -> None:
        super().__init__()
        self.setSizeGripEnabled(False)
        self.setContentsMargins(0, 0, 6, 0)
        self.labels = {name: StatusLabel(shrinks=name in _WORDS) for name in _ORDER}
        self._items: list[StatusItem] = []
        for label in self.labels.values():
            label.hide()
            self.addPermanentWidget(label)
        self.messageChanged.connect(lambda _text: self.show_items(self._items))

    def showMessage(self, text: str, /, timeout: int | None = None) -> None:  # noqa: N802 - Qt's name
        """Show a message for a time in ms, None until the next one; the end of a long one is cut, and in its event."""
        room_px = self._message_room_px - _MARGIN_PX
        super().showMessage(self.fontMetrics().elidedText(text, Qt.TextElideMode.ElideRight, room_px), timeout or 0)

    def show_items(self, items: list[StatusItem]) -> None:
        """Show these entries and no others; beside a message only those for which there is room."""
        self._items = list(items)
        width_of = self.fontMetrics().horizontalAdvance
        message_px = min(width_of(self.currentMessage()), self._message_room_px)
        room_px = self.width() - _MARGIN_PX - message_px
        if message_px:
            items = fitting_items(items, room_px - _MARGIN_PX, width_of)
        texts = fitting_texts(items, room_px, width_of)
        by_name = {item.name: (item, text) for item, text in zip(items, texts, strict=True)}
        for name, label in self.labels.items():
            label.setVisible(name in by_name)
            if name in by_name:
                item, text = by_name[name]
                self._write(label, item, text if item is items[0] else f"{_BETWEEN}{text}")

    def resizeEvent(self, event: QResizeEvent) -> None:  # noqa: N802 - Qt's name
        """Choose the texts that fit now."""
        super().resizeEvent(event)
        self.show_items(self._items)

    @property
    def _message_room_px(self) -> int:
        return int(self.width() * _MESSAGE_SHARE)

    def _write(self, label: StatusLabel, item: StatusItem, text: str) -> None:
        tip = f"{item.text}\n{item.tip}"
        if (label.text(), label.toolTip()) != (text, tip):
            label.setText(text)
            label.setToolTip(tip)
            label.setStyleSheet(f"color: {warning_colour(self.palette())}" if item.is_warning else "")


def fitting_items(items: Sequence[StatusItem], room_px: float, width_of: Callable[[str], float]) -> list[StatusItem]:
    """Return the entries whose short texts fit: the last ones go first, warnings after all others."""

    def width_px(item: StatusItem) -> float:
        return width_of(f"{_BETWEEN}{item.short or item.text}") + _ITEM_GAP_PX

    kept = list(items)
    droppable = sorted(enumerate(items), key=lambda place: (place[1].is_warning, -place[0]))
    for _, item in droppable:
        if sum(map(width_px, kept)) <= room_px:
            break
        kept.remove(item)
    return kept


def fitting_texts(items: Sequence[StatusItem], room_px: float, width_of: Callable[[str], float]) -> list[str]:
    """Return the text of each entry: the short ones, from the longest on, as far as the room asks for it."""
    texts = [item.text for item in items]
    spared_px = [width_of(item.text) - width_of(item.short) if item.short else 0.0 for item in items]
    over_px = sum(width_of(f"{_BETWEEN}{text}") + _ITEM_GAP_PX for text in texts) - room_px
    while over_px > 0 and max(spared_px, default=0.0) > 0:
        index = spared_px.index(max(spared_px))
        texts[index] = items[index].short
        over_px -= spared_px[index]
        spared_px[index] = 0.0
    return texts
