"""One run of the engine process: opens source and sink, runs the present loop, settles the balance."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
from typing import Final

from app.config.source_text import parse_source
from app.config.veoconfig import config_from_object
from app.core.errors import VeoTunerError
from app.engine.configuring import sink_request, unbuilt_notice
from app.engine.doorbell import Doorbell
from app.engine.inbox import Inbox
from app.engine.outbox import Outbox
from app.engine.present_loop import ParentLink, PresentLoop
from app.engine.sinks.opening import open_sink
from app.engine.sources.opening import open_source
from app.engine.stages import Stages
from app.engine.status import StatusReporter
from app.ipc.channel import Channel
from app.ipc.frame_ring import FrameRingWriter
from app.ipc.messages import EngineEvent, EngineReady, RunFailed, RunFinished, StartRun

SWITCH_INTERVAL_S: Final = 0.0005
"""How soon a thread that wants the interpreter gets it from another that computes. At CPython's 5 ms a wake-up of the
present thread beside a decode thread was seen to come 4 ms late at the 99th percentile."""


def run_engine(start: StartRun, channel: Channel, ring: FrameRingWriter) -> int:
    """Run until the source ends, the session says stop, or something fails; return the process's exit code.

    Every failure is told as `RunFailed` with a sentence for the user; nothing is raised.
    """
    outbox = Outbox(channel)
    try:
        _run(start, channel, ring, outbox)
    except VeoTunerError as error:
        outbox.post(RunFailed(type(error).__name__, str(error)))
        return 1
    except Exception as error:  # process boundary: the session shows the sentence, stderr keeps the trace
        outbox.post(RunFailed("crash", f"the engine met an error of its own ({type(error).__name__}: {error})"))
        raise
    finally:
        outbox.close(timeout_s=2.0)
    return 0


def _run(start: StartRun, channel: Channel, ring: FrameRingWriter, outbox: Outbox) -> None:
    config = config_from_object(start.config)
    with contextlib.ExitStack() as stack:
        source = open_source(parse_source(start.sources[0]))
        stack.callback(source.close)
        sink, notice = open_sink(start.sink, sink_request(config), validation=start.validation, device=start.device)
        stack.callback(sink.close)
        doorbell = Doorbell()
        link = ParentLink(Inbox(channel, doorbell), outbox, ring)
        stages = Stages(source, sink, doorbell, config.nvdec_queue_depth)
        loop = PresentLoop(source, sink, stages, link, doorbell, config, start.config_serial)
        outbox.post(EngineReady(source.info, sink.info))
        for text in filter(None, (notice, unbuilt_notice(config))):
            outbox.post(EngineEvent("warning", "engine", text, time.monotonic_ns()))
        _present(StatusReporter(source, sink, loop, stages, outbox), stages, loop, outbox)


def _present(status: StatusReporter, stages: Stages, loop: PresentLoop, outbox: Outbox) -> None:
    _quieten_interpreter()
    stages.start()
    status.start()
    try:
        reason = loop.run()
    finally:
        left = stages.stop()
        status.stop()
    loop.settle_at_end()
    outbox.post(RunFinished(reason, {**left, **loop.stranded()}))


def _quieten_interpreter() -> None:
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    gc.collect()
    gc.freeze()
    gc.disable()
