"""Serves the session's commands between two pictures, and runs the present loop until the run ends."""

from __future__ import annotations

import time
from pathlib import Path

from app.config.veoconfig import VeoConfig, config_from_object
from app.core.errors import InvalidInputError, SinkError
from app.engine.configuring import Pipeline, apply_change, changes_for_message
from app.engine.inbox import Inbox
from app.engine.outbox import Outbox
from app.engine.present_loop import PresentLoop
from app.engine.sinks.sink import Capture, Sink
from app.ipc.messages import (
    CaptureFrame,
    ConfigApplied,
    FrameCaptured,
    GovernorReadings,
    Resize,
    SetConfig,
    SetOccluded,
    SetPaused,
    SetScreen,
    StopRun,
    ToEngine,
)


class Control:
    """What the present thread does besides presenting. Make it, `run` it once."""

    def __init__(
        self,
        loop: PresentLoop,
        pipeline: Pipeline,
        inbox: Inbox,
        outbox: Outbox,
        config: VeoConfig,
        config_serial: int,
    ) -> None:
        self._loop = loop
        self._pipeline = pipeline
        self._sink: Sink = pipeline.sink
        self._inbox = inbox
        self._outbox = outbox
        self._config = config
        self._captures: list[Capture] = []
        self._paused = False
        self._occluded = False
        pipeline.configure(config)
        loop.use(config, config_serial)

    def run(self) -> str:
        """Present until told to stop or the sources end, and return the reason.

        Raises:
            SinkError: the device or the surface is lost.
        """
        loop = self._loop
        while not loop.stop_reason:
            while (command := self._inbox.take()) is not None:
                self._serve(command)
            if self._captures:
                self._report_captures()
            loop.turn()
        loop.end_segments(loop.stop_reason, loop.stop_reason)
        return loop.stop_reason

    def _serve(self, command: ToEngine) -> None:
        match command:
            case StopRun():
                self._loop.stop_reason = "stopped"
            case SetConfig():
                self._set_config(command)
            case SetPaused(paused=paused):
                self._set_halted(paused, self._occluded)
            case SetOccluded(occluded=occluded):
                self._set_halted(self._paused, occluded)
            case SetScreen(name=name, nominal_hz=nominal_hz):
                self._loop.end_segments(f"moved to screen {name}", f"on screen {name}")
                self._sink.follow_screen(nominal_hz)
                self._loop.report_sink_if_new("another screen")
            case Resize(width=width, height=height):
                self._sink.resize(width, height)
                self._loop.report_sink_if_new("window resized")
            case CaptureFrame(path=path):
                self._start_capture(Path(path))
            case GovernorReadings():
                self._pipeline.note_readings(command)
            case _:
                self._loop.report("warning", "control", f"unexpected command {type(command).__name__}")

    def _set_halted(self, paused: bool, occluded: bool) -> None:
        self._paused, self._occluded = paused, occluded
        self._loop.set_halted(paused or occluded, "paused" if paused else "window hidden")

    def _set_config(self, command: SetConfig) -> None:
        try:
            config = config_from_object(command.config)
        except InvalidInputError as error:
            self._loop.report("error", "config", str(error))
            return
        changes = changes_for_message(self._config, config)
        effects = apply_change(self._config, config, self._pipeline)
        self._config = config
        self._loop.use(config, command.config_serial)
        self._loop.report_sink_if_new("configuration")
        self._outbox.post(ConfigApplied(command.config_serial, time.monotonic_ns(), changes, effects))

    def _start_capture(self, path: Path) -> None:
        try:
            self._captures.append(self._sink.start_capture(path))
        except SinkError as error:
            self._loop.report("error", "capture", str(error))

    def _report_captures(self) -> None:
        for capture in [each for each in self._captures if each.done]:
            self._captures.remove(capture)
            try:
                capture.finish()
            except SinkError as error:
                self._loop.report("error", "capture", str(error))
            else:
                self._outbox.post(FrameCaptured(str(capture.path), capture.frame_id, capture.width, capture.height))
