"""The present loop: takes the oldest ready frame, presents it when it is due, writes its record when its fate is known.

It runs in the main thread of the engine process. Between two frames it costs some 60 µs of Python; it waits on a
doorbell, talks to the parent through queues only, and touches no file.
"""

from __future__ import annotations

import gc
import time
from pathlib import Path
from typing import Final, NamedTuple

from app.config.veoconfig import VeoConfig, config_from_object
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.errors import InvalidInputError, SinkError
from app.core.records import FLAG_LATE_SHOWN
from app.core.vocabulary import PRESENT_MODE_CODES, Fate, LatencyMode, PresentMode
from app.engine import configuring
from app.engine.doorbell import Doorbell
from app.engine.frame import Frame
from app.engine.inbox import Inbox
from app.engine.outbox import Outbox
from app.engine.record_writer import RecordWriter
from app.engine.scheduling import (
    PRESENT,
    Decision,
    Pacing,
    Playout,
    Step,
    class_of_miss,
    is_late,
    note_presented,
    note_replaced,
    plan_low_jitter,
)
from app.engine.segments import SegmentTracker
from app.engine.sinks.sink import Capture, Sink
from app.engine.sources.source import Source
from app.engine.stages import Stages
from app.ipc.frame_ring import FrameRingWriter
from app.ipc.messages import (
    CaptureFrame,
    ConfigApplied,
    EngineEvent,
    FrameCaptured,
    Resize,
    SegmentEnded,
    SegmentStarted,
    SetConfig,
    SetOccluded,
    SetPaused,
    SinkChanged,
    StopRun,
    ToEngine,
)

_IDLE_WAIT_NS: Final = 20 * NS_PER_MS
"""Longest wait with nothing to do; frames and commands ring the bell before."""

_NEVER_NS: Final = 2**62
_ACQUIRE_TIMEOUT_NS: Final = 100 * NS_PER_MS
_DRAIN_NS: Final = NS_PER_S // 4
_DEFAULT_PERIOD_NS: Final = NS_PER_S / 60


class ParentLink(NamedTuple):
    """The engine's three lines to the session: commands in, messages out, records."""

    inbox: Inbox
    outbox: Outbox
    ring: FrameRingWriter


class PresentLoop:
    """Everything the present thread does. Make it, `run` it once.

    Attributes:
        records: writes the frame records, and knows what one costs.
        uploaded_bytes: bytes copied to the device for settled frames.
        cpu_ns: CPU time of the present thread, for the status.
    """

    def __init__(
        self,
        source: Source,
        sink: Sink,
        stages: Stages,
        link: ParentLink,
        doorbell: Doorbell,
        config: VeoConfig,
        config_serial: int,
    ) -> None:
        self._source = source
        self._sink = sink
        self._stages = stages
        self._inbox, self._outbox, self._ring = link
        self._doorbell = doorbell
        self._config = config
        self._config_serial = config_serial
        self._latency_ns = round(config.render_latency_ms * NS_PER_MS)
        self.records = RecordWriter(link.ring)
        self.uploaded_bytes = 0
        self.cpu_ns = 0
        self._segments = SegmentTracker()
        self._playout = Playout()
        self._presented = 0
        self._captures: list[Capture] = []
        self._held: Frame | None = None
        self._admitted: Frame | None = None
        self._paused = False
        self._occluded = False
        self._halted_ns = 0
        self._stop_reason = ""
        self._sink_info = sink.info
        self._mode_requested = PRESENT_MODE_CODES[config.present_mode]
        self._pacing = Pacing(config.present_mode, None, _DEFAULT_PERIOD_NS)
        self._note_sink()
        configuring.configure_stages(config, stages)

    def run(self) -> str:
        """Present until told to stop or the source ends, and return the reason.

        Raises:
            SinkError: the device or the surface is lost.
        """
        while not self._stop_reason:
            self._serve_commands()
            self._settle()
            if self._paused or self._occluded:
                self._wait_until(_NEVER_NS)
            elif not self._stop_reason:
                self._present_next()
        self._end_segment(self._stop_reason, self._stop_reason)
        return self._stop_reason

    def stranded(self) -> dict[str, int]:
        """Return how many frames are left in the scheduler's hand and in the sink."""
        return {"scheduler": int(self._held is not None), "sink": len(self._sink.pending())}

    def settle_at_end(self) -> None:
        """Write the records of what the stages gave up while they were stopped, and the last totals."""
        self._settle()

    # --- one turn -----------------------------------------------------------------------------------------------------

    def _present_next(self) -> None:
        frame = self._held if self._held is not None else self._stages.frame_queue.look()
        if frame is None:
            self._wait_for_frame()
            return
        if frame is not self._admitted:
            self._admit(frame)
        decision = self._decide(frame)
        if decision.step is Step.WAIT:
            self._wait_until(decision.at_ns)
            # Straight on to the present: settling comes after it, when the caches are warm again. A record written
            # first thing after a sleep costs 21 µs here, behind a present 14 µs.
            decision = self._decide(frame)
        if decision.step is Step.WAIT or not self._take(frame):
            return
        if decision.step is Step.DROP:
            self._held = None
            self._finish(frame, decision.fate)
        else:
            self._held = frame
            self._present_held()

    def _decide(self, frame: Frame) -> Decision:
        now_ns = time.monotonic_ns()
        if frame.process_end_ns > now_ns:  # decoded during a pause, before its time
            return Decision(Step.WAIT, at_ns=frame.process_end_ns)
        if self._source.info.free_running:
            return PRESENT
        frame.due_ns = frame.playout_ns + self._latency_ns
        if self._config.latency_mode is LatencyMode.LOW_LATENCY:
            return PRESENT
        decision = plan_low_jitter(frame.due_ns, now_ns, self._newer_due_ns(frame), self._pacing, self._playout)
        if decision.fate is Fate.DEADLINE_MISSED:
            return decision._replace(fate=class_of_miss(frame.arrive_ns, frame.due_ns, self._pacing))
        return decision

    def _newer_due_ns(self, frame: Frame) -> int | None:
        newer = self._stages.frame_queue.look(0 if frame is self._held else 1)
        playout_ns = None if newer is None else self._segments.playout_of(newer)
        return None if playout_ns is None else playout_ns + self._latency_ns

    def _take(self, frame: Frame) -> bool:
        """Make the frame ours; False when the queue's policy dropped it while we looked."""
        return frame is self._held or self._stages.frame_queue.take(frame)

    def _present_held(self) -> None:
        started_ns = time.monotonic_ns()
        image = self._sink.acquire(started_ns + _ACQUIRE_TIMEOUT_NS)
        if self._sink.info is not self._sink_info:
            self._report_sink("surface changed")
        if image is None:
            return  # still held; commands and settled frames first, then again
        frame = self._reconsider()
        self._held = self._admitted = None
        frame.frame_queue_out = len(self._stages.frame_queue)
        frame.acquire_start_ns = max(started_ns, frame.process_end_ns)  # a newer frame came while an image was awaited
        frame.acquire_end_ns = time.monotonic_ns()
        frame.image_index = image
        frame.present_mode_requested = self._mode_requested
        frame.present_mode_granted = self._mode_granted
        frame.present_number = self._presented
        self._presented += 1
        self._sink.present([frame], image)
        if frame.due_ns != NO_STAMP_NS:
            self._playout = note_presented(frame.due_ns, frame.present_call_ns, self._pacing, self._playout)

    def _reconsider(self) -> Frame:
        """Return the frame to present now that an image is free: acquiring may have taken refreshes.

        While something newer is ready, a held frame that is late by now is given up, under LOW_LATENCY any held frame.
        A newer one that is not quite due yet is waited for.
        """
        assert self._held is not None
        frame = self._held
        while (newer := self._stages.frame_queue.look()) is not None and not self._segments.break_before(newer):
            fate = self._fate_beside_newer(frame)
            if fate is Fate.DISPLAYED or not self._stages.frame_queue.take(newer):
                break
            self._finish(frame, fate)
            self._segments.admit(newer)
            frame = self._held = newer
        decision = self._decide(frame)
        if decision.step is Step.WAIT:
            time.sleep(max(0, decision.at_ns - time.monotonic_ns()) / NS_PER_S)
        return frame

    def _fate_beside_newer(self, frame: Frame) -> Fate:
        """Return the class under which a held frame is given up for a newer one, or DISPLAYED to keep it."""
        if self._source.info.free_running:
            return Fate.DISPLAYED
        if self._config.latency_mode is LatencyMode.LOW_LATENCY:
            return Fate.SUPERSEDED
        return self._decide(frame).fate

    def _admit(self, frame: Frame) -> None:
        reason = self._segments.break_before(frame)
        if reason:
            self._end_segment(reason, reason)
        if self._segments.admit(frame):
            self._playout = Playout()
            self._note_sink()
            self._outbox.post(SegmentStarted(self._segments.segment, self._segments.t0_ns, self._segments.begin_reason))
        self._admitted = frame

    def _wait_for_frame(self) -> None:
        self._answer_handshake()
        if self._stages.fault is not None:
            raise self._stages.fault
        if self._stages.frame_queue.is_exhausted:
            self._stop_reason = self._stages.source_failure or "end of source"
            return
        self._wait_until(_NEVER_NS)

    def _wait_until(self, wanted_ns: int) -> None:
        """Wait for the wanted time or the bell, but never so long that settled frames stay unrecorded."""
        self._doorbell.wait_until_ns(min(wanted_ns, time.monotonic_ns() + _IDLE_WAIT_NS))

    def _answer_handshake(self) -> None:
        """Make the sink ready for another picture format, once nothing of the old one is under way."""
        wanted = self._stages.handshake.wanted
        if wanted is None or len(self._stages.frame_queue):
            return
        for settled in self._sink.drain(time.monotonic_ns() + _DRAIN_NS):
            self._finish(settled.frame, settled.fate)
        self._make_slots()
        self._sink.prepare(wanted, self._stages.slots.count)
        self._report_sink_if_new("picture format changed")
        self._put_off(time.monotonic_ns() - self._stages.handshake.asked_ns)
        self._stages.handshake.answer()

    # --- fates --------------------------------------------------------------------------------------------------------

    def _settle(self) -> None:
        for settled in self._sink.collect():
            self._finish(settled.frame, settled.fate)
        while self._stages.aside:
            frame, fate = self._stages.aside.popleft()
            if frame.segment == 0:
                frame.segment = self._segments.segment
            self._finish(frame, fate)
        if self._captures:
            self._report_captures()
        self._stages.ledger.publish(self._ring, self._sink.repeated(), time.monotonic_ns())
        self.cpu_ns = time.thread_time_ns()

    def _finish(self, frame: Frame, fate: Fate) -> None:
        if fate is Fate.DISPLAYED:
            self._note_displayed(frame)
        self._stages.ledger.settle(fate)
        self.uploaded_bytes += frame.bytes_uploaded
        self.records.write(frame, fate, self._config_serial)
        if frame.slot >= 0:
            self._stages.slots.give(frame.slot)
        if frame is self._admitted:
            self._admitted = None
        self._stages.pool.give(frame)

    def _note_displayed(self, frame: Frame) -> None:
        if self._is_late(frame):
            frame.flags |= FLAG_LATE_SHOWN
        grid = self._pacing.grid
        if grid is not None and frame.refreshes > 0:  # it was replaced by the next one, whose flip is thereby known
            flip_ns = frame.displayed_ns - grid.delay_ns + round(frame.refreshes * grid.period_ns)
            queued_behind = self._presented - frame.present_number - 2
            self._playout = note_replaced(flip_ns, queued_behind, self._pacing, self._playout)

    def _is_late(self, frame: Frame) -> bool:
        if NO_STAMP_NS in (frame.due_ns, frame.displayed_ns):
            return False
        return is_late(frame.displayed_ns, frame.due_ns, self._pacing)

    # --- segments -----------------------------------------------------------------------------------------------------

    def _end_segment(self, reason: str, next_reason: str) -> None:
        if self._segments.is_open:
            ended_ns = time.monotonic_ns()  # what is drained below was presented before
            for settled in self._sink.drain(ended_ns + _DRAIN_NS):
                self._finish(settled.frame, settled.fate)
            self._outbox.post(SegmentEnded(self._segments.segment, ended_ns, reason))
        self._segments.end(next_reason)
        gc.collect()  # the only place: the collector is off while frames flow

    def _set_halted(self, paused: bool, occluded: bool) -> None:
        was_halted = self._paused or self._occluded
        self._paused, self._occluded = paused, occluded
        halted = paused or occluded
        if halted and not was_halted:
            self._halted_ns = time.monotonic_ns()
            self._end_segment("paused" if paused else "window hidden", "resumed")
        elif was_halted and not halted:
            self._put_off(time.monotonic_ns() - self._halted_ns)
            self._admitted = None

    def _put_off(self, by_ns: int) -> None:
        """Let the run go on as if this much time, which has just passed, had not."""
        self._source.put_off(by_ns)
        self._segments.put_off(by_ns, time.monotonic_ns())

    # --- commands -----------------------------------------------------------------------------------------------------

    def _serve_commands(self) -> None:
        while (command := self._inbox.take()) is not None:
            self._serve(command)

    def _serve(self, command: ToEngine) -> None:
        match command:
            case StopRun():
                self._stop_reason = "stopped"
            case SetConfig():
                self._set_config(command)
            case SetPaused(paused=paused):
                self._set_halted(paused, self._occluded)
            case SetOccluded(occluded=occluded):
                self._set_halted(self._paused, occluded)
            case Resize(width=width, height=height):
                self._sink.resize(width, height)
                self._report_sink_if_new("window resized")
            case CaptureFrame(path=path):
                self._start_capture(Path(path))
            case _:
                self._report("warning", "control", f"unexpected command {type(command).__name__}")

    def _set_config(self, command: SetConfig) -> None:
        try:
            config = config_from_object(command.config)
        except InvalidInputError as error:
            self._report("error", "config", str(error))
            return
        changes = configuring.changes_for_message(self._config, config)
        effects = configuring.apply_change(self._config, config, self._sink, self._stages)
        self._config = config
        self._config_serial = command.config_serial
        self._latency_ns = round(config.render_latency_ms * NS_PER_MS)
        self._make_slots_if_grown()
        self._report_sink_if_new("configuration")
        self._outbox.post(ConfigApplied(command.config_serial, time.monotonic_ns(), changes, effects))
        notice = configuring.unbuilt_notice(config)
        if notice:
            self._report("warning", "config", notice)

    def _make_slots(self) -> None:
        self._stages.slots.grow(configuring.slots_needed(self._config, self._sink.info.image_count))

    def _make_slots_if_grown(self) -> None:
        needed = configuring.slots_needed(self._config, self._sink.info.image_count)
        picture_format = self._stages.picture_format
        if picture_format is not None and needed > self._stages.slots.count:
            self._sink.prepare(picture_format, needed)
            self._stages.slots.grow(needed)

    def _start_capture(self, path: Path) -> None:
        try:
            self._captures.append(self._sink.start_capture(path))
        except SinkError as error:
            self._report("error", "capture", str(error))

    def _report_captures(self) -> None:
        for capture in [each for each in self._captures if each.done]:
            self._captures.remove(capture)
            try:
                capture.finish()
            except SinkError as error:
                self._report("error", "capture", str(error))
            else:
                self._outbox.post(FrameCaptured(str(capture.path), capture.frame_id, capture.width, capture.height))

    # --- reports ------------------------------------------------------------------------------------------------------

    def _report(self, severity: str, kind: str, text: str) -> None:
        self._outbox.post(EngineEvent(severity, kind, text, time.monotonic_ns()))

    def _report_sink_if_new(self, reason: str) -> None:
        if self._sink.info is not self._sink_info:
            self._report_sink(reason)

    def _report_sink(self, reason: str) -> None:
        self._note_sink()
        self._outbox.post(SinkChanged(self._sink_info, reason))

    def _note_sink(self) -> None:
        info = self._sink_info = self._sink.info
        grid = self._sink.grid()
        self._mode_requested = PRESENT_MODE_CODES[PresentMode(info.present_mode_requested)]
        self._mode_granted = PRESENT_MODE_CODES[PresentMode(info.present_mode_granted)]
        if grid is not None:
            period_ns = grid.period_ns
        else:
            rate_hz = info.refresh_hz or self._source.info.rate_hz
            period_ns = NS_PER_S / rate_hz if rate_hz else _DEFAULT_PERIOD_NS
        mode = PresentMode(info.present_mode_granted)
        self._pacing = Pacing(mode, grid, period_ns, info.paces_fifo is True, info.image_count)
