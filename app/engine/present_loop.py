"""The present loop: takes the frames that are ready, presents them when they are due, writes their records.

It runs in the main thread of the engine process. Between two pictures it costs some 60 µs of Python; it waits on a
doorbell, talks to the parent through queues only, and touches no file.

Several sources share one window: each has a lane of its own, and one picture takes with it every frame that is due.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from app.config.veoconfig import VeoConfig
from app.core.clock import NO_STAMP_NS, NS_PER_MS, NS_PER_S
from app.core.records import FLAG_INTERPOLATED, FLAG_LATE_SHOWN
from app.core.vocabulary import PRESENT_MODE_CODES, Fate, PresentMode
from app.engine.doorbell import Doorbell
from app.engine.frame import Frame
from app.engine.lane import Lane, timing_of
from app.engine.ledger import publish
from app.engine.outbox import Outbox
from app.engine.record_writer import RecordWriter
from app.engine.scheduling import GUARD_RATIO, IN_ORDER, Decision, Pacing, Step, is_late
from app.engine.sinks.sink import Sink
from app.ipc.frame_ring import FrameRingWriter
from app.ipc.messages import EngineEvent, SegmentEnded, SegmentStarted, SinkChanged, SinkInfo

_IDLE_WAIT_NS: Final = 20 * NS_PER_MS
"""Longest wait with nothing to do; frames and commands ring the bell before."""

_NEVER_NS: Final = 2**62
_STANDING_NS: Final = NS_PER_MS // 2
"""How long a decision stands: no refresh that matters passes in less."""

_ACQUIRE_TIMEOUT_NS: Final = 100 * NS_PER_MS
_DRAIN_NS: Final = NS_PER_S // 4
_DEFAULT_PERIOD_NS: Final = NS_PER_S / 60

_BARRIER_POLL_NS: Final = 300_000
"""How often `WaitForNextFrame` asks whether the last picture is displayed."""

_GRID_PERIOD_NS: Final = NS_PER_S // 2

_OTHER_SCREEN_RATIO: Final = 0.01
"""Refresh rates that differ by less are one display's: 59.94 and 60 Hz are 0.1 % apart, 60 and 75 Hz 25 %."""

_NOTHING_READY: Final = Decision(Step.WAIT, at_ns=_NEVER_NS)


class Output(NamedTuple):
    """Where the present loop's results go: pictures, messages, records."""

    sink: Sink
    outbox: Outbox
    ring: FrameRingWriter


class PresentLoop:
    """What the present thread does between two commands. `Control` runs it and changes its settings.

    Attributes:
        lanes: one a source, in the order of their tiles.
        config_serial: serial of the configuration in force.
        waits_for_display: `WaitForNextFrame`: at most one picture is between submit and display.
        makes_up: pictures may be made up in the place of others; set it through `prepare_to_make_up`.
        observe_settled: shown each frame whose fate is known, before its record is written.
        stop_reason: why the run ends; "" while it goes on.
        records: writes the frame records, and knows what one costs.
        uploaded_bytes: bytes copied to the device for settled frames.
        cpu_ns: CPU time of the present thread, for the status.
    """

    def __init__(self, lanes: Sequence[Lane], output: Output, doorbell: Doorbell) -> None:
        self.lanes = lanes
        self._sink, self._outbox, self._ring = output
        self._doorbell = doorbell
        self.config_serial = 0
        self.waits_for_display = False
        self.makes_up = False
        self.observe_settled: Callable[[Frame, Fate], None] | None = None
        self.stop_reason = ""
        self.records = RecordWriter(output.ring)
        self.uploaded_bytes = 0
        self.cpu_ns = 0
        self._ledgers = [lane.stages.ledger for lane in lanes]
        self._ready: list[Lane] = []
        self._presented = 0
        self._last_flip_ns = NO_STAMP_NS
        self._halted = False
        self._halted_ns = 0
        self._grid_asked_ns = 0
        self._note_sink()

    def turn(self) -> None:
        """Settle what is settled, then present the next picture, or wait for it no longer than a few ms."""
        self.settle()
        self._follow_refreshes()
        if self._halted:
            self._wait_until(_NEVER_NS)
        elif not self.stop_reason:
            self._present_next()

    def prepare_to_make_up(self, wanted: bool) -> None:
        """Get ready to make pictures up, or not; the time it takes (shaders are compiled) does not become latency."""
        if wanted and not self.makes_up:
            started_ns = time.monotonic_ns()
            for lane in self.lanes:
                if lane.stages.picture_format is not None:
                    self._sink.prepare_interpolation(lane.index)
            for lane in self.lanes:
                self._put_off(lane, time.monotonic_ns() - started_ns)
        self.makes_up = wanted

    def use(self, config: VeoConfig, config_serial: int) -> None:
        """Schedule by this configuration from now on."""
        self.config_serial = config_serial
        self.waits_for_display = config.sync_mode == "WaitForNextFrame"
        timing = timing_of(config)
        for lane in self.lanes:
            lane.timing = timing

    # --- one picture --------------------------------------------------------------------------------------------------

    def _present_next(self) -> None:
        wake_ns = self._look()
        if not self._ready and wake_ns != _NEVER_NS:
            if self._wait_until(wake_ns):
                return  # rung: a frame or a command is there, and the next turn looks at everything
            # Straight on to the present: settling comes after it, when the caches are warm again. A record written
            # first thing after a sleep costs 21 µs here, behind a present 14 µs.
            wake_ns = self._look()
        if self._ready:
            self._present_ready()
        elif wake_ns == _NEVER_NS and not self.stop_reason:
            self._wait_until(_NEVER_NS)

    def _look(self) -> int:
        """Collect the lanes whose frame is to be presented now; return when to look again."""
        self._ready.clear()
        wake_ns = _NEVER_NS
        for lane in self.lanes:
            decision = self._step(lane)
            if decision.step is Step.PRESENT:
                self._ready.append(lane)
            else:
                wake_ns = min(wake_ns, decision.at_ns)
        if len(self.lanes) > 1 and self._ready:
            return self._wait_for_refresh(wake_ns)
        return wake_ns

    def _step(self, lane: Lane) -> Decision:
        """Decide on the frame at the head of a lane, and carry out what is no present: admission, a loss."""
        while (frame := lane.head()) is not None:
            if not lane.is_admitted(frame):
                self._admit(lane, frame)
            decision = lane.decide(frame, time.monotonic_ns(), self._pacing)
            if decision.step is not Step.DROP:
                return decision
            if lane.take(frame):
                lane.release()
                self.finish(frame, decision.fate)
        self._look_behind(lane)
        return _NOTHING_READY

    def _wait_for_refresh(self, wake_ns: int) -> int:
        """Hold a picture of several lanes back while the next refresh is promised to another one.

        A frame that comes a little after the picture it belonged to goes with the next picture. Without this it would
        be queued as a picture of its own, and the FIFO would fill with parts of pictures.
        """
        grid = self._pacing.grid
        if grid is None or self._pacing.mode not in IN_ORDER or self._last_flip_ns == NO_STAMP_NS:
            return wake_ns
        free_ns = self._last_flip_ns + round(GUARD_RATIO * grid.period_ns)
        if time.monotonic_ns() >= free_ns:
            return wake_ns
        self._ready.clear()
        return min(wake_ns, free_ns)

    def _present_ready(self) -> None:
        for lane in list(self._ready):
            if not lane.take_admitted():
                self._ready.remove(lane)
        if not self._ready:
            return
        if self.waits_for_display and self._sink.undisplayed():
            self._wait_until(time.monotonic_ns() + _BARRIER_POLL_NS)
            return
        started_ns = time.monotonic_ns()
        image = self._sink.acquire(started_ns + _ACQUIRE_TIMEOUT_NS)
        self.report_sink_if_new("surface changed")
        if image is not None:  # else they are still held; commands and settled frames first, then again
            self._present(self._frames_of_picture(started_ns), image, started_ns)

    def _frames_of_picture(self, asked_ns: int) -> list[Frame]:
        """Return what goes into the picture now that an image is free, which was asked for at `asked_ns`.

        Acquiring may have taken refreshes. Where it took no time, what was decided right before stands; deciding again
        costs a tenth of the loop.
        """
        waited = time.monotonic_ns() - asked_ns > _STANDING_NS
        frames = [self._reconsider(lane, anew=waited) for lane in self._ready]
        for lane in self.lanes if len(self.lanes) > 1 else ():
            if lane in self._ready or self._step(lane).step is not Step.PRESENT or not lane.take_admitted():
                continue
            assert lane.held is not None
            self._ready.append(lane)
            frames.append(lane.held)
        return frames

    def _present(self, frames: list[Frame], image: int, started_ns: int) -> None:
        acquired_ns = time.monotonic_ns()
        for frame in frames:
            lane = self.lanes[frame.source_index]
            frame.frame_queue_out = len(lane.stages.frame_queue)
            frame.acquire_start_ns = max(started_ns, frame.process_end_ns)  # it may have come meanwhile
            frame.acquire_end_ns = acquired_ns
            frame.image_index = image
            frame.present_mode_requested = self._mode_requested
            frame.present_mode_granted = self._mode_granted
            frame.present_number = self._presented
            lane.release()
        self._presented += 1
        self._sink.present(frames, image)
        for frame in frames:
            lane = self.lanes[frame.source_index]
            lane.note_presented(frame, self._pacing)
            self._last_flip_ns = max(self._last_flip_ns, lane.playout.last_flip_ns)

    def _reconsider(self, lane: Lane, *, anew: bool) -> Frame:
        """Return the frame that a lane presents now that an image is free; not `anew`: it was decided on just now.

        While something newer is ready, a held frame that is late by now is given up, under LOW_LATENCY any held frame.
        A newer one that is not quite due yet is waited for.
        """
        assert lane.held is not None
        frame = lane.held
        if not anew and not lane.shows_newest:
            return frame
        while (newer := lane.newer_than(frame)) is not None and not lane.segments.break_before(newer):
            fate = lane.fate_beside_newer(frame, time.monotonic_ns(), self._pacing)
            if fate is Fate.DISPLAYED or not lane.stages.frame_queue.take(newer):
                break
            self._admit(lane, newer)
            if not lane.has_picture(newer):
                self.finish(newer, Fate.DECIMATED)
                continue
            self.finish(frame, fate)
            lane.held = frame = newer
        decision = lane.decide(frame, time.monotonic_ns(), self._pacing)
        if decision.step is Step.WAIT:
            time.sleep(max(0, decision.at_ns - time.monotonic_ns()) / NS_PER_S)
        return frame

    def _admit(self, lane: Lane, frame: Frame) -> None:
        reason = lane.segments.break_before(frame)
        if reason:
            self._end_segment(lane, reason, reason)
        if lane.admit(frame, time.monotonic_ns()):
            self._note_sink()
            segments = lane.segments
            self._outbox.post(SegmentStarted(segments.segment, segments.t0_ns, segments.begin_reason, lane.index))

    def _look_behind(self, lane: Lane) -> None:
        """See why a lane has no frame: another picture format is waited for, or its source is at its end."""
        stages = lane.stages
        if stages.fault is not None:
            raise stages.fault
        self._answer_handshake(lane)
        if stages.frame_queue.is_exhausted and not lane.end_reason:
            lane.end_reason = stages.source_failure or "end of source"
            self._end_lane(lane)

    def _end_lane(self, lane: Lane) -> None:
        if all(each.end_reason for each in self.lanes):
            self.stop_reason = lane.end_reason
            return
        self._end_segment(lane, lane.end_reason, lane.end_reason)
        severity = "warning" if lane.stages.source_failure else "info"
        self.report(severity, "source", f"source {lane.index + 1} of {len(self.lanes)} has ended: {lane.end_reason}")

    def _wait_until(self, wanted_ns: int) -> bool:
        """Wait for the wanted time or the bell, never so long that settled frames stay unrecorded; tell if it rang."""
        return self._doorbell.wait_until_ns(min(wanted_ns, time.monotonic_ns() + _IDLE_WAIT_NS))

    def _answer_handshake(self, lane: Lane) -> None:
        """Make the sink ready for another picture format, once nothing of the old one is under way."""
        handshake = lane.stages.handshake
        wanted = handshake.wanted
        if wanted is None or len(lane.stages.frame_queue):
            return
        self._drain()
        lane.stages.make_slots(self._sink.info.image_count)
        self._sink.prepare(wanted, lane.stages.slots.count, lane.index)
        if self.makes_up:
            self._sink.prepare_interpolation(lane.index)
        self.report_sink_if_new("picture format changed")
        self._put_off(lane, time.monotonic_ns() - handshake.asked_ns)
        handshake.answer()

    # --- fates --------------------------------------------------------------------------------------------------------

    def settle(self) -> None:
        """Write the records of what the sink has shown and of what the stages gave up; publish the totals."""
        for settled in self._sink.collect():
            self.finish(settled.frame, settled.fate)
        self.report_sink_if_new("display measured")
        for lane in self.lanes:
            while lane.stages.aside:
                frame, fate = lane.stages.aside.popleft()
                if frame.segment == 0:
                    frame.segment = lane.segments.segment
                self.finish(frame, fate)
        publish(self._ledgers, self._ring, self._sink.repeated(), time.monotonic_ns())
        self.cpu_ns = time.thread_time_ns()

    def finish(self, frame: Frame, fate: Fate) -> None:
        """Write a frame's record and let it go."""
        lane = self.lanes[frame.source_index]
        if frame.interpolation is not None or frame.flags & FLAG_INTERPOLATED:
            fate = _settle_made_up(frame)
        elif fate is Fate.DISPLAYED:
            self._note_displayed(lane, frame)
        if self.observe_settled is not None:
            self.observe_settled(frame, fate)
        lane.stages.ledger.settle(fate)
        self.uploaded_bytes += frame.bytes_uploaded
        self.records.write(frame, fate, self.config_serial)
        _give_slots(frame, lane)
        lane.forget(frame)
        lane.stages.pool.give(frame)

    def stranded(self) -> dict[str, int]:
        """Return how many frames are left in the scheduler's hand and in the sink."""
        return {
            "scheduler": sum(lane.held is not None for lane in self.lanes),
            "sink": len(self._sink.pending()),
        }

    def _note_displayed(self, lane: Lane, frame: Frame) -> None:
        if _is_late(frame, self._pacing):
            frame.flags |= FLAG_LATE_SHOWN
        grid = self._pacing.grid
        if grid is None or frame.displayed_ns == NO_STAMP_NS:
            return
        flip_ns, queued_behind = frame.displayed_ns - grid.delay_ns, self._presented - frame.present_number - 1
        if len(self.lanes) > 1:
            if self._pacing.mode in IN_ORDER:
                self._last_flip_ns = max(self._last_flip_ns, flip_ns + round(queued_behind * grid.period_ns))
            return
        # Replaced by the next one, whose flip is thereby known; but FIFO_RELAXED may flip between two refreshes.
        if frame.refreshes > 0 and self._pacing.mode is PresentMode.FIFO:
            flip_ns, queued_behind = flip_ns + round(frame.refreshes * grid.period_ns), queued_behind - 1
        lane.note_flip(flip_ns, queued_behind, self._pacing)

    def _drain(self) -> None:
        for settled in self._sink.drain(time.monotonic_ns() + _DRAIN_NS):
            self.finish(settled.frame, settled.fate)

    # --- segments -----------------------------------------------------------------------------------------------------

    def end_segments(self, reason: str, next_reason: str) -> None:
        """End the segment of every lane; the next frame of each begins another, for `next_reason`."""
        for lane in self.lanes:
            self._end_segment(lane, reason, next_reason)

    def set_halted(self, halted: bool, reason: str) -> None:
        """Stop presenting for `reason`, or go on; no time between becomes latency."""
        if halted and not self._halted:
            self._halted_ns = time.monotonic_ns()
            self.end_segments(reason, "resumed")
        elif self._halted and not halted:
            for lane in self.lanes:
                self._put_off(lane, time.monotonic_ns() - self._halted_ns)
                lane.readmit()
        self._halted = halted

    def _end_segment(self, lane: Lane, reason: str, next_reason: str) -> None:
        if lane.segments.is_open:
            ended_ns = time.monotonic_ns()  # what is drained below was presented before
            self._drain()
            self._outbox.post(SegmentEnded(lane.segments.segment, ended_ns, reason, lane.index))
        lane.segments.end(next_reason)
        gc.collect()  # the only place: the collector is off while frames flow

    def _put_off(self, lane: Lane, by_ns: int) -> None:
        """Let a source go on as if this much time, which has just passed, had not."""
        lane.source.put_off(by_ns)
        lane.segments.put_off(by_ns, time.monotonic_ns())

    # --- reports ------------------------------------------------------------------------------------------------------

    def _follow_refreshes(self) -> None:
        """Aim at the refreshes as the sink knows them now: a real display's are measured anew twice a second."""
        now_ns = time.monotonic_ns()
        if now_ns - self._grid_asked_ns < _GRID_PERIOD_NS:
            return
        self._grid_asked_ns = now_ns
        if self._sink.grid() != self._pacing.grid:
            self._note_sink()

    def report(self, severity: str, kind: str, text: str) -> None:
        """Tell the session something that a person should know."""
        self._outbox.post(EngineEvent(severity, kind, text, time.monotonic_ns()))

    def report_sink_if_new(self, reason: str) -> None:
        """Tell the session what the sink grants, if that changed; another refresh by name begins other segments."""
        before = self._sink_info
        if self._sink.info is before:
            return
        self._note_sink()
        if _is_another_screen(before, self._sink_info):
            self.end_segments("the display's refresh changed", "another refresh")
        self._outbox.post(SinkChanged(self._sink_info, reason))

    def _note_sink(self) -> None:
        info = self._sink_info = self._sink.info
        grid = self._sink.grid()
        self._mode_requested = PRESENT_MODE_CODES[PresentMode(info.present_mode_requested)]
        self._mode_granted = PRESENT_MODE_CODES[PresentMode(info.present_mode_granted)]
        if grid is not None:
            period_ns = grid.period_ns
        else:
            rate_hz = info.refresh_hz or self.lanes[0].source.info.rate_hz
            period_ns = NS_PER_S / rate_hz if rate_hz else _DEFAULT_PERIOD_NS
        mode = PresentMode(info.present_mode_granted)
        # Several lanes share the refreshes of a FIFO: none may queue its picture a refresh ahead of the others', which
        # a third image would allow.
        images = info.image_count if len(self.lanes) == 1 else 2
        self._pacing = Pacing(mode, grid, period_ns, info.paces_fifo is True, images)


def _is_another_screen(before: SinkInfo, after: SinkInfo) -> bool:
    """Tell whether a sink that follows its screen by itself is on another one: its refresh by name has jumped."""
    if before.refresh_hz is None or after.refresh_hz is None or after.refresh_source != "nominal":
        return False
    return abs(after.refresh_hz - before.refresh_hz) > _OTHER_SCREEN_RATIO * before.refresh_hz


def _is_late(frame: Frame, pacing: Pacing) -> bool:
    if NO_STAMP_NS in (frame.due_ns, frame.displayed_ns):
        return False
    return is_late(frame.displayed_ns, frame.due_ns, pacing)


def _settle_made_up(frame: Frame) -> Fate:
    """Let the neighbour of a decimated frame go; the frame is marked only if a picture was shown in its place.

    The sink takes the mark away where it could not make a picture up: the one before was shown again then.
    """
    if frame.interpolation is not None and frame.interpolation.next_frame.pinned_by is frame:
        frame.interpolation.next_frame.pinned_by = None
    if not frame.flags & FLAG_INTERPOLATED or frame.displayed_ns == NO_STAMP_NS:
        frame.flags &= ~FLAG_INTERPOLATED
        frame.displayed_ns = NO_STAMP_NS
    return Fate.DECIMATED


def _give_slots(frame: Frame, lane: Lane) -> None:
    """Give the staging slots back, unless the GPU may still read one to make up the picture before this frame's."""
    if frame.extra_slot >= 0:
        lane.stages.slots.give(frame.extra_slot)
    if frame.slot < 0:
        return
    reader = frame.pinned_by
    if reader is None:
        lane.stages.slots.give(frame.slot)
    elif reader.present_number < 0:  # it only meant to be made up from this frame, which will be another one soon
        reader.interpolation = None
        lane.stages.slots.give(frame.slot)
    else:
        reader.extra_slot = frame.slot
