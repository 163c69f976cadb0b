"""One run of the engine process: opens source and sink, runs the present loop, settles the balance."""

from __future__ import annotations

import contextlib
import gc
import itertools
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import Final

from app.config.sections import Realtime
from app.config.source_text import parse_source
from app.config.veoconfig import VeoConfig, config_from_object
from app.core.errors import VeoTunerError
from app.engine.branches import Branches, wanted_thumbnail
from app.engine.configuring import Pipeline, sink_request
from app.engine.control import Control
from app.engine.doorbell import Doorbell
from app.engine.inbox import Inbox
from app.engine.lane import Lane, timing_of
from app.engine.outbox import Outbox
from app.engine.present_loop import Output, PresentLoop
from app.engine.sinks.opening import open_sink
from app.engine.sinks.sink import Sink
from app.engine.sources.opening import open_source
from app.engine.sources.source import Source
from app.engine.stages import Stages
from app.engine.status import StatusReporter
from app.engine.thumbnails import ThumbnailFeed
from app.ipc.channel import Channel
from app.ipc.frame_ring import FrameRingWriter
from app.ipc.messages import EngineEvent, EngineReady, RunFailed, RunFinished, StartRun
from app.ipc.shared_block import SharedBlock

SWITCH_INTERVAL_S: Final = 0.0005
"""How soon a thread that wants the interpreter gets it from another that computes. At CPython's 5 ms a wake-up of the
present thread beside a decode thread was seen to come 4 ms late at the 99th percentile."""


def run_engine(start: StartRun, channel: Channel, ring: FrameRingWriter, thumbnails: SharedBlock | None) -> int:
    """Run until the source ends, the session says stop, or something fails; return the process's exit code.

    Args:
        thumbnails: block of the preview stream; None where none can be served.

    Every failure is told as `RunFailed` with a sentence for the user; nothing is raised.
    """
    outbox = Outbox(channel)
    try:
        _run(start, channel, ring, thumbnails, outbox)
    except VeoTunerError as error:
        outbox.post(RunFailed(type(error).__name__, str(error)))
        return 1
    except Exception as error:  # process boundary: the session shows the sentence, stderr keeps the trace
        outbox.post(RunFailed("crash", f"the engine met an error of its own ({type(error).__name__}: {error})"))
        raise
    finally:
        outbox.close(timeout_s=2.0)
    return 0


def _run(
    start: StartRun, channel: Channel, ring: FrameRingWriter, thumbnails: SharedBlock | None, outbox: Outbox
) -> None:
    config = config_from_object(start.config)
    with contextlib.ExitStack() as stack:
        sources = [_open_source(text, config.nvdec_queue_depth, stack) for text in start.sources]
        request = sink_request(config)
        sink, notice = open_sink(
            start.sink, request, validation=start.validation, device=start.device, tiles=len(sources)
        )
        stack.callback(sink.close)
        doorbell = Doorbell()
        inbox = Inbox(channel, doorbell)
        lanes = _make_lanes(sources, sink, doorbell, config)
        loop = PresentLoop(lanes, Output(sink, outbox, ring), doorbell)
        feed = ThumbnailFeed(thumbnails, wanted_thumbnail(config)) if thumbnails is not None else None
        branches = Branches(lanes[0].stages, start.encode_to, feed, outbox)
        stack.callback(branches.close)
        branches.open(config)
        pipeline = Pipeline(sink, loop, branches, config)
        standing = pipeline.schedule(config.realtime)
        control = Control(loop, pipeline, inbox, outbox, config, start.config_serial)
        outbox.post(EngineReady(sources[0].info, sink.info, [source.info for source in sources[1:]]))
        if config.realtime != Realtime():
            outbox.post(EngineEvent("info", "scheduling", standing, time.monotonic_ns()))
        for text in filter(None, (notice, pipeline.notice())):
            outbox.post(EngineEvent("warning", "engine", text, time.monotonic_ns()))
        _present(StatusReporter(pipeline, loop, outbox), loop, control, pipeline, outbox)


def _open_source(text: str, decode_depth: int, stack: contextlib.ExitStack) -> Source:
    source = open_source(parse_source(text), decode_depth)
    stack.callback(source.close)
    return source


def _make_lanes(sources: Sequence[Source], sink: Sink, doorbell: Doorbell, config: VeoConfig) -> list[Lane]:
    serials = itertools.count(1)
    lanes = []
    for index, source in enumerate(sources):
        stages = Stages(index, source, sink, doorbell, config.nvdec_queue_depth)
        lanes.append(Lane(index, source, stages, timing_of(config), serials))
    return lanes


def _present(status: StatusReporter, loop: PresentLoop, control: Control, pipeline: Pipeline, outbox: Outbox) -> None:
    _quieten_interpreter()
    for lane in loop.lanes:
        lane.stages.start()
    status.start()
    try:
        reason = control.run()
    finally:
        left: Counter[str] = Counter()
        for lane in loop.lanes:
            left.update(lane.stages.stop())
        pipeline.branches.close()
        status.stop()
    loop.settle()
    outbox.post(RunFinished(reason, {**left, **loop.stranded()}))


def _quieten_interpreter() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
    gc.disable()
