"""What the window shows of a run as it happens: preview state, graphs' data, events, notes on the controls."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Final

from PySide6.QtCore import QObject, Signal

from app.config.advice import config_advice
from app.config.editing import changed_options
from app.config.options import option
from app.core.clock import NO_STAMP_NS
from app.gui.config_log import ConfigLog
from app.gui.config_model import ConfigModel
from app.gui.encode_numbers import EncodeSeries
from app.gui.event_text import EventRow, change_label, decision_label, event_rows, run_time_text
from app.gui.live_series import READINGS, LiveSeries
from app.gui.main_window import MainWindow
from app.gui.option_notes import DECISION_KEYS, decision_notes, encoder_notes, interpolation_notes, sink_notes
from app.gui.run_controller import RunController
from app.ipc.messages import (
    ConfigApplied,
    EncodeRecords,
    EncoderState,
    EngineEvent,
    EngineReady,
    FromEngine,
    GovernorDecision,
    SegmentEnded,
    SegmentStarted,
    SinkChanged,
    SinkInfo,
)
from app.session.session_state import Phase, SessionState
from app.telemetry.gpus import NO_GPU
from app.telemetry.sampler import Sampler, TelemetryFeed
from widgets.graph_source import TimeEvent
from widgets.preview_host import PreviewState

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
    """Listens to the run and writes into the window; `NumbersPresenter` writes what is read on a timer.

    Signals:
        run_began(): the engine of a new run is ready. phase_shown(phase): the window shows this phase.

    Attributes:
        encodes: what the encode branch gave out. configs: which value an option had when.
        encoder_told_ns: when the branch last said what it is, CLOCK_MONOTONIC; `NO_STAMP_NS` before.
    """

    run_began = Signal()
    phase_shown = Signal(object)

    def __init__(self, window: MainWindow, runs: RunController, model: ConfigModel, live: LiveSeries) -> None:
        super().__init__(window)
        self._window, self._runs, self._model, self._live = window, runs, model, live
        self._sink: SinkInfo | None = None
        self._feed: TelemetryFeed | None = None
        self._sampler: Sampler | None = None
        self._origin_ns = 0
        self.encodes = EncodeSeries()
        self.configs = ConfigLog()
        self.encoder_told_ns = NO_STAMP_NS
        runs.began.connect(self._let_go)
        runs.message.connect(self._take)
        runs.state_changed.connect(self._show_state)
        model.changed.connect(self._show_advice)

    @property
    def sink(self) -> SinkInfo | None:
        """What the present or last run's sink granted."""
        return self._sink

    @property
    def sampler(self) -> Sampler | None:
        """The telemetry of the present run; None when none runs."""
        return self._sampler

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
                self._mark(message.t0_ns, TimeEvent(0, message.reason, "segment"), message.source_index)
            case SegmentEnded():
                self._mark(message.ended_ns, TimeEvent(0, message.reason, "segment"), message.source_index)
            case GovernorDecision():
                self._window.panel.show_actual(decision_notes(message))
                self._mark(message.at_ns, TimeEvent(0, decision_label(message), "governor", message.reason))
            case _:
                self._take_readings(message)

    def _take_readings(self, message: FromEngine) -> None:
        match message:
            case EncoderState():
                self._window.panel.show_actual(encoder_notes(message))
                self.encoder_told_ns = time.monotonic_ns()
            case EncodeRecords():
                self.encodes.take(message)
            case EngineEvent(kind="gpu_telemetry"):
                self._live.set_missing(_gpu_reasons(message.text))

    def _begin(self, ready: EngineReady) -> None:
        state = self._runs.state
        self._origin_ns = (state and state.ready_ns) or time.monotonic_ns()
        self._live.begin(self._origin_ns, 1 + len(ready.more_sources))
        self.encodes.clear()
        self.configs.clear()
        self.encoder_told_ns = NO_STAMP_NS
        self._window.panel.show_actual(dict.fromkeys((*DECISION_KEYS.values(), "encoder.enabled"), ""))
        self._offer_restart()
        self._window.source_box.show_sources((ready.source, *ready.more_sources))
        self._sampler = self._runs.sampler
        self._feed = self._sampler.subscribe() if self._sampler is not None else None
        self._live.follow(self._runs.open_reader(), self._feed)
        if self._runs.gpu == NO_GPU:
            self._live.set_missing(_gpu_reasons("GPU readings are switched off (--gpu none)"))
        for event in state.events if state else ():
            if event.kind == "gpu_telemetry":
                self._live.set_missing(_gpu_reasons(event.text))
        self._window.graphs.restart()
        self._show_sink(ready.sink)
        self.run_began.emit()

    def _let_go(self) -> None:
        self._live.end()
        if self._sampler is not None and self._feed is not None:
            self._sampler.unsubscribe(self._feed)
        self._sampler = self._feed = None

    def _show_applied(self, applied: ConfigApplied) -> None:
        self._window.panel.show_effects(applied.effects)
        self.configs.add(applied)
        if applied.changes:
            self._mark(applied.applied_ns, TimeEvent(0, change_label(applied), "config"))
        self._offer_restart()

    def _offer_restart(self) -> None:
        """Offer to restart beside options that act with the next engine: a device is never changed under one."""
        began = self._runs.config
        changed = {} if began is None else changed_options(began, self._model.config)
        self._window.panel.offer_restart(key for key in changed if option(key).section == "device")

    def _mark(self, at_ns: int, event: TimeEvent, source_index: int | None = None) -> None:
        self._live.add_event(replace(event, time_s=self._live.time_s(at_ns)), source_index)

    # --- sink ---

    def _show_sink(self, sink: SinkInfo) -> None:
        self._sink = sink
        self._window.panel.show_actual(sink_notes(sink))
        self._show_advice()

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
        self._window.panel.show_actual(interpolation_notes(self._model.config, state.source if state else None))

    # --- state ---

    def _show_state(self, state: SessionState) -> None:
        wanted = _preview_state(state)
        if wanted is not self._window.host.state or state.phase is Phase.FAILED:
            omit = () if state.recording_dir else ("folder",)
            self._window.host.show_state(wanted, _state_text(state), omit=omit)
        if state.phase in {Phase.FINISHED, Phase.FAILED}:
            self._live.pull()
        if state.phase is Phase.FAILED:
            self._tell_once(EventRow(state.ended_ns, "error", "failed", state.failure))
        if state.recording_failure:
            self._tell_once(EventRow(None, "error", "recording", state.recording_failure))
        self.phase_shown.emit(state.phase)

    def _tell_once(self, row: EventRow) -> None:
        if not any(text == row.text for _, _, text in self._window.events.rows[-20:]):
            self.add_event(row)


def _gpu_reasons(text: str) -> dict[str, str]:
    return {name: text for name in READINGS if not name.startswith("host_")}


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
