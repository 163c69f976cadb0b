"""The engine process: `python -m app.engine --channel HANDLE --ring HANDLE`, started by a session, never by hand."""

from __future__ import annotations

import argparse
import contextlib
import signal
import sys

from app.core.records import FRAME_DTYPE
from app.engine.engine_run import run_engine
from app.ipc.channel import connect_child
from app.ipc.frame_ring import HEADER_BYTES, FrameRingWriter
from app.ipc.messages import StartRun
from app.ipc.shared_block import SharedBlock

_START_TIMEOUT_S = 30.0


def main() -> int:
    """Take the handles from the command line and the job from the channel; return the exit code."""
    parser = argparse.ArgumentParser(prog="veotuner-engine", description=__doc__)
    parser.add_argument("--channel", required=True)
    parser.add_argument("--ring", required=True)
    parser.add_argument("--thumbnails")
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C on a terminal is the session's to handle
    channel = connect_child(arguments.channel)
    with contextlib.ExitStack() as stack:
        block = stack.enter_context(SharedBlock.attach(arguments.ring))
        thumbnails = stack.enter_context(SharedBlock.attach(arguments.thumbnails)) if arguments.thumbnails else None
        ring = FrameRingWriter(block, (len(block.memory) - HEADER_BYTES) // FRAME_DTYPE.itemsize)
        try:
            start = channel.receive(_START_TIMEOUT_S)
            if not isinstance(start, StartRun):
                sys.stderr.write("the engine was started without a job\n")
                return 2
            return run_engine(start, channel, ring, thumbnails)
        finally:
            ring.close()


if __name__ == "__main__":
    sys.exit(main())
