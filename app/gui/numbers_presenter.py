"""What the window says in numbers, twice a second: tiles, status line, losses, preview stream."""

from __future__ import annotations

import math
import os
import time
from typing import Final

from PySide6.QtCore import QObject, QTimer

from app.analysis.frame_intervals import nominal_interval_ms
from app.core.clock import NO_STAMP_NS, NS_PER_S
from app.core.vocabulary import Fate, PresentMode
from app.gui.config_model import ConfigModel
from app.gui.encode_numbers import ENCODE_TITLES, encode_tiles
from app.gui.encoder_status import EncoderFacts
from app.gui.event_text import EventRow, loss_text
from app.gui.live_numbers import WINDOW_S, live_tiles, lost_of_run, lost_of_source
from app.gui.live_series import LiveSeries
from app.gui.main_window import MainWindow
from app.gui.option_notes import stream_notes
from app.gui.run_controller import RunController
from app.gui.run_presenter import RunPresenter
from app.gui.status_line import StatusFacts, status_items
from app.gui.stream_text import StreamFacts
from app.session.session_state import Phase, SessionState
from app.telemetry.process_cost import ProcessMeter
from widgets.option_controls import FieldsControl

TEXT_INTERVAL_MS: Final = 500


class NumbersPresenter(QObject):
    """Reads the run on a timer and writes into the window; curves pull by themselves."""

    def __init__(
        self, window: MainWindow, runs: RunController, model: ConfigModel, live: LiveSeries, presenter: RunPresenter
    ) -> None:
        super().__init__(window)
        self._window, self._runs, self._model, self._live = window, runs, model, live
        self._presenter = presenter
        self._lost: dict[Fate, int] = {}
        self._meter = ProcessMeter(os.getpid(), time.monotonic_ns())
        presenter.run_began.connect(self._begin)
        presenter.phase_shown.connect(lambda _phase: self.refresh())
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.refresh)
        self._timer.start(TEXT_INTERVAL_MS)

    def _begin(self) -> None:
        self._lost = {}

    def refresh(self) -> None:
        """Write everything anew."""
        self._tell_losses()
        self._show_nominal()  # known only once frames have told the source's interval
        self._show_tiles()
        self._window.status.show_items(status_items(self._facts()))
        self._show_stream()
        self._show_memory_clock()

    def _tell_losses(self) -> None:
        counters = self._runs.counters()
        if counters is None:
            return
        # What is left out on purpose was told when a rate was lowered; it is in the tile and marked on the graphs.
        lost = {**counters.lost, Fate.DECIMATED: 0}
        if text := loss_text(self._lost, lost):
            where = " (all sources)" if self._live.source_count > 1 else ""
            self._presenter.add_event(EventRow(None, "info", "lost", f"{text}{where}"))
        self._lost = lost

    def _show_nominal(self) -> None:
        sink = self._presenter.sink
        if sink is not None:
            self._live.nominal_ms = nominal_interval_ms(
                self._live.recent_records(WINDOW_S),
                refresh_hz=sink.refresh_hz,
                present_mode=PresentMode(sink.present_mode_granted),
                preview_fps=self._model.config.preview_fps,
            )

    def _show_tiles(self) -> None:
        live, tiles = self._live, self._window.tiles
        source = live.note("interval").source
        lost = lost_of_source(live.shown_source) if live.source_count > 1 else lost_of_run(self._runs.counters())
        frames = live.recent_records(WINDOW_S)
        for name, text in live_tiles(frames, live.interval_metric(), live.nominal_ms, lost, source).items():
            tiles[name].show_text(text)
        encodes = self._encodes()
        for name in ENCODE_TITLES:
            tiles[name].setVisible(encodes)
        if encodes:
            for name, text in encode_tiles(self._presenter.encodes.recent(time.monotonic_ns())).items():
                tiles[name].show_text(text)

    def _encodes(self) -> bool:
        state = self._runs.state
        return state is not None and state.encoder is not None and bool(state.encoder.codec)

    def _facts(self) -> StatusFacts:
        state = self._runs.state
        running = state is not None and state.phase.is_live
        sampler = self._presenter.sampler
        return StatusFacts(
            sink=self._presenter.sink if running else None,
            screen_refresh_hz=self._window.host.screen().refreshRate(),
            is_paused=state is not None and state.phase is Phase.PAUSED,
            status=state.status if state and running else None,
            gui_cpu_ratio=self._meter.read(time.monotonic_ns()).cpu_ratio,
            redraw_interval_s=self._window.graphs.redraw_interval_s,
            sampler=sampler.cost() if sampler is not None else None,
            recorded_s=_recorded_s(state) if state else None,
            gpu_is_simulated=bool(self._live.note("temperature").simulated),
            lapped=self._live.lapped,
            sources=(state.source, *state.more_sources) if state and running and state.source else (),
            encoder=self._encoder_facts(state) if state and running else None,
            stream=self._stream_facts() if running and self._model.config.enable_preview else None,
        )

    def _encoder_facts(self, state: SessionState) -> EncoderFacts | None:
        if state.encoder is None or not (state.encoder.codec or state.encoder.notice):
            return None
        newest_ns = max(self._presenter.encodes.newest_out_ns, self._presenter.encoder_told_ns)
        silent = state.phase is Phase.RUNNING and newest_ns != NO_STAMP_NS
        return EncoderFacts(state.encoder, (time.monotonic_ns() - newest_ns) / NS_PER_S if silent else 0.0)

    def _stream_facts(self) -> StreamFacts | None:
        stream = self._runs.stream
        return None if stream is None else StreamFacts(stream.server.url, stream.status)

    def _show_stream(self) -> None:
        served = self._runs.phase.is_live and self._model.config.enable_preview
        self._window.panel.show_actual(stream_notes(self._stream_facts() if served else None))
        dialog = self._window.stream_dialog
        if dialog.isVisible():
            stream = self._runs.stream if self._runs.phase.is_live else None
            facts = None if stream is None else self._stream_facts()
            token_text = "" if stream is None else stream.server.source_text
            dialog.show_facts(facts, token_text, wanted=self._model.config.enable_preview)

    def _show_memory_clock(self) -> None:
        control = self._window.panel.rows["memory_timings"].control
        clock_mhz = self._live.newest_reading("memory_clock_mhz")
        if isinstance(control, FieldsControl):
            control.show_clock(None if math.isnan(clock_mhz) else clock_mhz)


def _recorded_s(state: SessionState) -> float | None:
    if state.recording_dir is None or state.started_ns is None or not state.phase.is_live or state.recording_failure:
        return None
    return (time.monotonic_ns() - state.started_ns) / NS_PER_S
