"""The stream server process: `python -m app.stream --channel HANDLE --thumbnails HANDLE`, started by a session."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import os
import signal
import sys
import threading
import time
from typing import Final

from app.ipc.channel import ChannelClosedError, child_connection
from app.ipc.shared_block import SharedBlock
from app.ipc.stream_messages import FromStream, StartStream, StopStream, StreamChannel
from app.ipc.thumbnail_block import ThumbnailReader
from app.stream.server import StreamServer

_START_TIMEOUT_S: Final = 30.0
_NICENESS: Final = 10
"""Beside the present loop, for which a late picture is the measured fault; here a late one is only a late thumbnail."""

_END_GRACE_S: Final = 3.0
"""How long closing the clients may take; then the process ends at once."""

_OVERDUE_EXIT_CODE: Final = 75


def main() -> int:
    """Take the handles from the command line and the job from the channel; return the exit code."""
    parser = argparse.ArgumentParser(prog="veotuner-stream", description=__doc__)
    parser.add_argument("--channel", required=True)
    parser.add_argument("--thumbnails", required=True)
    arguments = parser.parse_args()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl+C on a terminal is the session's to handle
    if sys.platform != "win32":
        os.nice(_NICENESS)
    channel = StreamChannel(child_connection(arguments.channel))
    with SharedBlock.attach(arguments.thumbnails) as block, contextlib.closing(ThumbnailReader(block)) as reader:
        start = None
        with contextlib.suppress(ChannelClosedError):
            start = channel.receive(_START_TIMEOUT_S)
        if not isinstance(start, StartStream):
            sys.stderr.write("the stream server was started without a job\n")
            return 2
        return 0 if asyncio.run(_serve(start, reader, channel)) else 1


async def _serve(start: StartStream, reader: ThumbnailReader, channel: StreamChannel) -> bool:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    # A thread, because an event loop of Windows cannot watch a pipe. It is blocked in C all the time.
    thread = threading.Thread(target=_await_end, args=(channel, loop, stop), name="channel", daemon=True)
    thread.start()

    def report(message: FromStream) -> None:
        with contextlib.suppress(ChannelClosedError):  # the thread above ends the process then
            channel.send(message)

    return await StreamServer(start, reader, report).run(stop)


def _await_end(channel: StreamChannel, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Set `stop` when the session says so or is gone, and see to it that the process ends."""
    with contextlib.suppress(ChannelClosedError, ValueError):
        while not isinstance(channel.receive(), StopStream):
            pass
    with contextlib.suppress(RuntimeError):  # the loop has ended by itself
        loop.call_soon_threadsafe(stop.set)
    time.sleep(_END_GRACE_S)
    os._exit(_OVERDUE_EXIT_CODE)


if __name__ == "__main__":
    sys.exit(main())
