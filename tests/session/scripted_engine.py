"""A stand-in for the engine that speaks the real channel and writes the real ring, and does one thing on purpose.

Run as a program: `scripted_engine.py SCRIPT --channel HANDLE --ring HANDLE`. It makes frames that are exact, so a test
can name every number that must come out at the other end of session and recorder.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import dataclass, field

from app.core.records import FRAME_DTYPE, empty_frames
from app.core.vocabulary import LOSS_CLASSES, DisplayTimeSource, Fate, PresentMode
from app.ipc.channel import Channel, ChannelClosedError, connect_child
from app.ipc.frame_ring import FrameRingWriter
from app.ipc.messages import (
    ConfigApplied,
    EngineReady,
    EngineStatus,
    RunFailed,
    RunFinished,
    SegmentEnded,
    SegmentStarted,
    SetConfig,
    SetPaused,
    SinkInfo,
    SourceInfo,
    StartRun,
    StopRun,
)
from app.ipc.shared_block import SharedBlock
from tests.support.frame_records import record_of

INTERVAL_NS = 2_000_000
LOST_EVERY = 10
"""Every tenth frame is superseded."""

SOURCE = SourceInfo("scripted", 64, 36, 500.0, False, True, "yuv420p", "bt709", "limited", 0, "software", None)
SINK = SinkInfo(
    "virtual", 500.0, "FIFO", "FIFO", "", [str(mode) for mode in PresentMode], 3, "virtual_display", True, "", False,
    "", "", 64, 36,
)  # fmt: skip


@dataclass
class Totals:
    produced: int = 0
    displayed: int = 0
    lost: dict[Fate, int] = field(default_factory=lambda: dict.fromkeys(LOSS_CLASSES, 0))

    def publish(self, ring: FrameRingWriter, in_flight: int = 0) -> None:
        lost = [self.lost[fate] for fate in LOSS_CLASSES]
        ring.write_counters(self.produced + in_flight, self.displayed, lost, 0, in_flight, time.monotonic_ns())


def frame_values(frame_id: int, arrive_ns: int) -> list[int]:
    """Return one record; every tenth frame is superseded and has no display time."""
    frame = empty_frames(1)
    lost = frame_id % LOST_EVERY == LOST_EVERY - 1
    frame["frame_id"] = frame_id
    frame["segment"], frame["config_serial"] = 1, 1
    frame["fate"] = Fate.SUPERSEDED if lost else Fate.DISPLAYED
    frame["arrive_ns"] = arrive_ns
    frame["pts_ns"] = frame_id * INTERVAL_NS
    if not lost:
        frame["displayed_ns"] = arrive_ns + 1_000_000
        frame["display_time_source"] = DisplayTimeSource.VIRTUAL_DISPLAY
        frame["image_index"] = frame_id % 3
    return [int(frame[name][0]) for name in FRAME_DTYPE.names or ()]


class ScriptedEngine:
    def __init__(self, channel: Channel, ring: FrameRingWriter) -> None:
        self.channel, self.ring, self.totals = channel, ring, Totals()
        self.started_ns = time.monotonic_ns()

    def write_frame(self) -> None:
        frame_id = self.totals.produced
        values = frame_values(frame_id, self.started_ns + frame_id * INTERVAL_NS)
        self.ring.write(record_of(values))
        self.totals.produced += 1
        if Fate(values[3]) is Fate.DISPLAYED:
            self.totals.displayed += 1
        else:
            self.totals.lost[Fate(values[3])] += 1
        self.totals.publish(self.ring)

    def burst(self, count: int) -> None:
        """Write so many records in one go, faster than any reader."""
        record = record_of(frame_values(0, self.started_ns))
        for frame_id in range(count):
            self.ring.write(frame_id.to_bytes(8, "little") + record[8:])
        self.totals.produced = self.totals.displayed = count
        self.totals.publish(self.ring)

    def run_until_stopped(self, *, frames: int | None = None) -> None:
        """Write a frame every 2 ms and answer what is asked."""
        while frames is None or self.totals.produced < frames:
            self.write_frame()
            message = self.channel.receive(INTERVAL_NS / 1e9)
            if isinstance(message, StopRun):
                return self.finish("stopped")
            if isinstance(message, SetConfig):
                self.channel.send(ConfigApplied(message.config_serial, time.monotonic_ns(), {}, {}))
            if isinstance(message, SetPaused):
                self.channel.send(SegmentEnded(1, time.monotonic_ns(), f"paused {message.paused}"))
            if self.totals.produced % 100 == 0:
                self.channel.send(EngineStatus(time.monotonic_ns(), 0.1, 0.05, 1, 0, 0, 0, 10.0))
        return self.finish("end of source")

    def finish(self, reason: str) -> None:
        self.channel.send(SegmentEnded(1, time.monotonic_ns(), reason))
        self.channel.send(RunFinished(reason, {}))

    def ready(self) -> None:
        self.channel.send(EngineReady(SOURCE, SINK))
        self.channel.send(SegmentStarted(1, self.started_ns, "start"))


def refuse(engine: ScriptedEngine) -> int:
    engine.channel.send(RunFailed("SourceError", "missing.mp4 cannot be opened; give a file that exists"))
    return 1


def crash_at_start(engine: ScriptedEngine) -> int:
    sys.stderr.write("no libvulkan.so.1\n")
    return 3


def never_ready(engine: ScriptedEngine) -> int:
    time.sleep(60)
    return 0


def run(engine: ScriptedEngine) -> int:
    engine.ready()
    engine.run_until_stopped()
    return 0


def short(engine: ScriptedEngine) -> int:
    engine.ready()
    engine.run_until_stopped(frames=200)
    return 0


def burst(engine: ScriptedEngine) -> int:
    """Overtake any reader: 400 000 records at half a million a second, where a reader that comes three times a second
    finds room for 65 536."""
    engine.ready()
    engine.burst(400_000)
    engine.run_until_stopped()
    return 0


def deaf(engine: ScriptedEngine) -> int:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    engine.ready()
    time.sleep(60)
    return 0


def babble(engine: ScriptedEngine) -> int:
    engine.ready()
    engine.channel._connection.send_bytes(b'{"type": "NoSuchMessage"}')
    time.sleep(60)
    return 0


def break_off(engine: ScriptedEngine) -> int:
    engine.ready()
    engine.write_frame()
    engine.channel.send(RunFailed("SourceError", "clip.mp4 breaks off at 0.02 s; the file is truncated"))
    return 1


SCRIPTS = {
    script.__name__.replace("_", "-"): script
    for script in (refuse, crash_at_start, never_ready, run, short, burst, deaf, babble, break_off)
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("script")
    parser.add_argument("--channel")
    parser.add_argument("--ring")
    arguments = parser.parse_args()
    channel = connect_child(arguments.channel)
    with SharedBlock.attach(arguments.ring) as block:
        ring = FrameRingWriter(block)
        try:
            assert isinstance(channel.receive(5), StartRun)
            return SCRIPTS[arguments.script](ScriptedEngine(channel, ring))
        except ChannelClosedError:
            return 4
        finally:
            ring.close()


if __name__ == "__main__":
    sys.exit(main())
