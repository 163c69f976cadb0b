"""What the window shows of a run: preview state, tiles, graphs' data, events, notes on the controls, status line."""

from __future__ import annotations

import math
import os
import time
from typing import Final

from PySide6.QtCore import QObject, QTimer, Signal

from app.analysis.frame_intervals import nominal_interval_ms
from app.config.advice import config_advice
from app.core.clock import NS_PER_S
from app.core.vocabulary import Fate, PresentMode
from app.gui.config_model import ConfigModel
from app.gui.event_text import EventRow, change_label, event_rows, loss_text, run_time_text
from app.gui.live_numbers import WINDOW_S, live_tiles
from app.gui.live_series import READINGS, LiveSeries
from app.gui.main_window import MainWindow
from app.gui.run_controller import RunController
from app.gui.status_line import StatusFacts, status_items
from app.ipc.messages import (
    ConfigApplied,
    EngineEvent,
    EngineReady,
    FromEngine,
    SegmentEnded,
    SegmentStarted,
    SinkChanged,
    SinkInfo,
)
from app.session.session_state import Phase, SessionState
from app.telemetry.gpus import NO_GPU
from app.telemetry.process_cost import ProcessMeter
from app.telemetry.sampler import Sampler, TelemetryFeed
from widgets.graph_source import TimeEvent
from widgets.option_controls import FieldsControl
from widgets.preview_host import PreviewState

TEXT_INTERVAL_MS: Final = 500
MOST_EVENTS: Final = 2000
_SEVERITY_SIGN: Final = {"warning": "⚠ ", "error": "✖ "}
_PREVIEW_OF: Final = {
    Phase.IDLE: PreviewState.EMPTY,
    Phase.STARTING: PreviewState.STARTING,
    Phase.RUNNING: PreviewState.LIVE,
    Phase.PAUSED: PreviewState.PAUSED,
    Phase.STOPPING: PreviewState.LIVE,
    Phase.FINISHED: PreviewState.FINISHED,
    Phase.FAILED: PreviewState.FAILED,
}


class RunPresenter(QObject):
    """Listens to the run and writes into the window. Reads numbers twice a second; curves pull by themselves.

    Signals:
        phase_shown(phase): the window shows this phase.
    """

    phase_shown = Signal(object)

    def __init__(self, window: MainWindow, runs: RunController, model: ConfigModel, live: LiveSeries) -> None:
        super().__init__(window)
        self._window, self._runs, self._model, self._live = window, runs, model, live
        self._sink: SinkInfo | None = None
        self._feed: TelemetryFeed | None = None
        self._sampler: Sampler | None = None
        self._lost: dict[Fate, int] = {}
        self._origin_ns = 0
        self._meter = ProcessMeter(os.getpid(), time.monotonic_ns())
        runs.began.connect(self._let_go)
        runs.message.connect(self._take)
        runs.state_changed.connect(self._show_state)
        model.changed.connect(self._show_advice)
        self._texts = QTimer(self)
        self._texts.timeout.connect(self.refresh_texts)
        self._texts.start(TEXT_INTERVAL_MS)

    @property
    def sink(self) -> SinkInfo | None:
        """What the present or last run's sink granted."""
        return self._sink

    @property
    def origin_ns(self) -> int:
        """When the run began, CLOCK_MONOTONIC ns; 0 before the first."""
        return self._origin_ns

    def add_event(self, row: EventRow) -> None:
        """Add an entry to the event list."""
        at_ns = time.monotonic_ns() if row.at_ns is None else row.at_ns
        when = run_time_text(at_ns, self._origin_ns) if self._origin_ns else "—"
        sign = _SEVERITY_SIGN.get(row.severity, "")
        self._window.events.append_row((when, f"{sign}{row.kind}", row.text), MOST_EVENTS)

    def refresh_texts(self) -> None:
        """Write tiles, loss summary and status line."""
        counters = self._runs.counters()
        if counters is not None:
            if lost := loss_text(self._lost, counters.lost):
                self.add_event(EventRow(None, "info", "lost", lost))
            self._lost = counters.lost
        self._show_nominal()  # known only once frames have told the source's interval
        live = self._live
        source = live.note("interval").source
        frames = live.recent_records(WINDOW_S)
        for name, text in live_tiles(frames, live.interval_metric(), live.nominal_ms, counters, source).items():
            self._window.tiles[name].show_text(text)
        self._window.status.show_items(status_items(self._facts()))
        self._show_memory_clock()

    # --- messages ---

    def _take(self, message: FromEngine) -> None:
        if isinstance(message, EngineReady):
            self._begin(message)
        for row in event_rows(message):
            self.add_event(row)
        match message:
            case SinkChanged():
                self._show_sink(message.sink)
            case ConfigApplied():
                self._show_applied(message)
            case SegmentStarted():
                self._mark(message.t0_ns, message.reason, "segment")
            case SegmentEnded():
                self._mark(message.ended_ns, message.reason, "segment")
            case EngineEvent(kind="gpu_telemetry"):
                self._live.set_missing(_gpu_reasons(message.text))

    def _begin(self, ready: EngineReady) -> None:
        state = self._runs.state
        self._origin_ns = (state and state.ready_ns) or time.monotonic_ns()
        self._live.begin(self._origin_ns)
        self._sampler = self._runs.sampler
        self._feed = self._sampler.subscribe() if self._sampler is not None else None
        self._live.follow(self._runs.open_reader(), self._feed)
        self._lost = {}
        if self._runs.gpu == NO_GPU:
            self._live.set_missing(_gpu_reasons("GPU readings are switched off (--gpu none)"))
        for event in state.events if state else ():
            if event.kind == "gpu_telemetry":
                self._live.set_missing(_gpu_reasons(event.text))
        self._window.graphs.restart()
        self._show_sink(ready.sink)

    def _let_go(self) -> None:
        self._live.end()
        if self._sampler is not None and self._feed is not None:
            self._sampler.unsubscribe(self._feed)
        self._sampler = self._feed = None

    def _show_applied(self, applied: ConfigApplied) -> None:
        self._window.panel.show_effects(applied.effects)
        if applied.changes:
            self._mark(applied.applied_ns, change_label(applied), "config")
        self._show_nominal()

    def _mark(self, at_ns: int, text: str, kind: str) -> None:
        self._live.add_event(TimeEvent(self._live.time_s(at_ns), text, kind))

    # --- sink ---

    def _show_sink(self, sink: SinkInfo) -> None:
        self._sink = sink
        rows = self._window.panel.rows
        reason = f" ({sink.grant_reason})" if sink.grant_reason else ""
        rows["present_mode"].show_actual(
            f"requested: {sink.present_mode_requested} · granted: {sink.present_mode_granted}{reason}"
        )
        rows["min_image_count"].show_actual(f"the swapchain has {sink.image_count} images")
        self._show_nominal()
        self._show_advice()

    def _show_nominal(self) -> None:
        if self._sink is not None:
            self._live.nominal_ms = nominal_interval_ms(
                self._live.recent_records(WINDOW_S),
                refresh_hz=self._sink.refresh_hz,
                present_mode=PresentMode(self._sink.present_mode_granted),
                preview_fps=self._model.config.preview_fps,
            )

    def _show_advice(self) -> None:
        state, sink = self._runs.state, self._sink
        advice = config_advice(
            self._model.config,
            source_rate_hz=state.source.rate_hz if state and state.source else None,
            refresh_hz=sink.refresh_hz if sink else None,
            available_modes=sink.available_modes if sink else None,
            image_count=sink.image_count if sink else None,
        )
        self._window.panel.show_advice({item.key: item.text for item in advice})

    # --- state ---

    def _show_state(self, state: SessionState) -> None:
        wanted = _preview_state(state)
        if wanted is not self._window.host.state or state.phase is Phase.FAILED:
            self._window.host.show_state(wanted, _state_text(state))
        if state.phase in {Phase.FINISHED, Phase.FAILED}:
            self._live.pull()
        if state.phase is Phase.FAILED:
            self._tell_once(EventRow(state.ended_ns, "error", "failed", state.failure))
        if state.recording_failure:
            self._tell_once(EventRow(None, "error", "recording", state.recording_failure))
        self.phase_shown.emit(state.phase)
        self.refresh_texts()

    def _tell_once(self, row: EventRow) -> None:
        if not any(text == row.text for _, _, text in self._window.events.rows[-20:]):
            self.add_event(row)

    def _facts(self) -> StatusFacts:
        state = self._runs.state
        running = state is not None and state.phase.is_live
        return StatusFacts(
            sink=self._sink if running else None,
            screen_refresh_hz=self._window.host.screen().refreshRate(),
            is_paused=state is not None and state.phase is Phase.PAUSED,
            status=state.status if state and running else None,
            gui_cpu_ratio=self._meter.read(time.monotonic_ns()).cpu_ratio,
            redraw_interval_s=self._window.graphs.redraw_interval_s,
            sampler=self._sampler.cost() if self._sampler is not None else None,
            recorded_s=_recorded_s(state) if state else None,
            gpu_is_simulated=bool(self._live.note("temperature").simulated),
            lapped=self._live.lapped,
        )

    def _show_memory_clock(self) -> None:
        control = self._window.panel.rows["memory_timings"].control
        clock_mhz = self._live.newest_reading("memory_clock_mhz")
        if isinstance(control, FieldsControl):
            control.show_clock(None if math.isnan(clock_mhz) else clock_mhz)


def _gpu_reasons(text: str) -> dict[str, str]:
    return {name: text for name in READINGS if not name.startswith("host_")}


def _recorded_s(state: SessionState) -> float | None:
    if state.recording_dir is None or state.started_ns is None or not state.phase.is_live or state.recording_failure:
        return None
    return (time.monotonic_ns() - state.started_ns) / NS_PER_S


def _preview_state(state: SessionState) -> PreviewState:
    if state.phase is Phase.FAILED and state.ready_ns is None:
        return PreviewState.REFUSED  # a source or surface that cannot be used: no engine stopped in the middle
    return _PREVIEW_OF[state.phase]


def _state_text(state: SessionState) -> str:
    where = f"\n\nRecorded to {state.recording_dir}" if state.recording_dir else ""
    if state.phase is Phase.FAILED:
        return f"{state.failure}{where}"
    if state.phase is Phase.FINISHED:
        return f"Graphs and numbers are those of the last run.{where}"
    return ""
